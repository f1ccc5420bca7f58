/*
 * The working directory of a new machine: links to the entries of the user's own, without the paths
 * that the job writes. Nothing is copied. The job can neither find yesterday's checkpoints nor
 * overwrite the user's.
 */
#ifndef LINKED_DIRECTORY_H
#define LINKED_DIRECTORY_H

#include "base/err.h"

#include <stddef.h>

/* "./out//ckpt/" -> "out/ckpt"; the caller frees. NULL: the path is absolute, leads upwards, or
 * names the directory itself, so it cannot be left out. */
char *linked_directory_relative(const char *path);

/* The same, but also accepts an absolute path below the absolute directory `from`. Compares the
 * strings only; links are not resolved. */
char *linked_directory_below(const char *path, const char *from);

/*
 * Creates `to` with a link to every entry of `from`, except `scratch` (the drill's own directory,
 * absolute) and the `excluded` paths (from linked_directory_relative()). The parent directories of
 * excluded paths are real ones. Both directories are absolute.
 */
int linked_directory_make(const char *from, const char *to, const char *scratch,
			  const char *const *excluded, size_t count, struct err *err);

#endif
