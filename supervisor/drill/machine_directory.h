/*
 * The working directory of a new machine: its own copy of the user's, without the paths that the
 * job writes, so that nothing that one machine writes is seen by the next, and the user's own files
 * stay as they are. Its directories are real ones. A file is a copy, up to MACHINE_FILE_MOST bytes
 * and MACHINE_COPIED_MOST in all (or of any size where the file system shares the content of
 * copies). What is greater, and a directory that was not looked into (tree_look.h), is a link to
 * the user's own: what is written there is seen by a second look (sandbox_look_again()).
 */
#ifndef MACHINE_DIRECTORY_H
#define MACHINE_DIRECTORY_H

#include "base/err.h"
#include "tree_look.h"

#include <stddef.h>

/* "./out//ckpt/" -> "out/ckpt"; the caller frees. NULL: the path is absolute, leads upwards, or
 * names the directory itself, so it cannot be left out. */
char *machine_directory_relative(const char *path);

/* The same, but also accepts an absolute path below the absolute directory `from`. Compares the
 * strings only; links are not resolved. */
char *machine_directory_below(const char *path, const char *from);

#define MACHINE_FILE_MOST (4 << 20)
#define MACHINE_COPIED_MOST (128 << 20)

/* Creates `to` with what `look` has of `from`, except the `excluded` paths (from
 * machine_directory_relative()). Both directories are absolute. */
int machine_directory_make(const struct tree_look *look, const char *from, const char *to,
			   const char *const *excluded, size_t count, struct err *err);

#endif
