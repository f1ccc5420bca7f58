/*
 * Directories that are held open, so that work in them goes by descriptor and not by path: whoever
 * exchanges a directory on the way for a link leads nobody elsewhere. What is done below one is in
 * beneath.h. All functions block.
 */
#ifndef BASE_HELD_DIRECTORY_H
#define BASE_HELD_DIRECTORY_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Opens the directory of that path. Links in the path are followed if root or this user made them,
 * or if who made the link also owns what it leads to: so a link of another user leads into his own
 * directories at most. ERR_DENIED names a link that does not. The caller closes the descriptor.
 */
int held_directory_open(const char *path, struct err *err);

/* The same, and makes what is missing of it (mkdir -p). */
int held_directory_make(const char *path, mode_t mode, struct err *err);

/* Does the path lead to this directory (still)? Follows links. */
bool held_directory_is_at(int directory, const char *path);

/*
 * PURE. Is a folder that was found where ours would be one that nobody else can work in? It belongs
 * to this user, or to the owner of the directory that it is for, who could change the files there
 * as well; and no others may write to it, unless they may write to that directory too, as on file
 * systems without modes.
 */
bool held_directory_is_private(const struct stat *folder, const struct stat *directory, uid_t self);

#endif
