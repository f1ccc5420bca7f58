/*
 * A fresh machine's working directory: the user's own, shown by links, without what the job makes.
 * Nothing is copied, and the paths left out are not there, so that the job cannot find yesterday's
 * checkpoints nor write over the user's.
 */
#ifndef LINKED_DIRECTORY_H
#define LINKED_DIRECTORY_H

#include "base/err.h"

#include <stddef.h>

/* "./out//ckpt/" -> "out/ckpt"; the caller frees. NULL where the path is absolute, leads upwards or
 * names the directory itself: then it cannot be left out. */
char *linked_directory_relative(const char *path);

/* The same, and of an absolute path below the absolute directory `from` what follows that: by the
 * texts alone, no link is looked at. */
char *linked_directory_below(const char *path, const char *from);

/*
 * Makes `to`, with a link to every entry of `from` but `scratch` (where the machines lie, absolute)
 * and the `excluded` paths (from linked_directory_relative()); the directories on the way to those
 * are real ones. Both directories are absolute.
 */
int linked_directory_make(const char *from, const char *to, const char *scratch,
			  const char *const *excluded, size_t count, struct err *err);

#endif
