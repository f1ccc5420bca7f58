/* PRIVATE: the walk itself; beside snapshot_export.c the one door to libarchive. */
#ifndef FILE_TREE_WALK_H
#define FILE_TREE_WALK_H

#include "file_tree.h"

/* Fills tree->items with paths, types and link targets, sorted; tree->root is set. */
int file_tree_walk(struct file_tree *tree, bool (*exclude)(void *arg, const char *path), void *arg,
		   struct cancel *cancel, struct err *err);

#endif
