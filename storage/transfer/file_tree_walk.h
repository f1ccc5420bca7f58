/* PRIVATE to file_tree.c: the walk through a directory, which holds each directory open that it is
 * in. */
#ifndef FILE_TREE_WALK_H
#define FILE_TREE_WALK_H

#include "file_tree.h"

/* Fills tree->items with paths, types and link targets, sorted by path. tree->root must be set.
 * ERR_RETRY: the directory changed meanwhile. */
int file_tree_walk(struct file_tree *tree, const struct file_tree_choice *choice,
		   struct cancel *cancel, struct err *err);

#endif
