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
 * if they lie in /proc or in /dev itself (in a user namespace root may be nobody's number), or if
 * who made the link also owns what it leads to: so a link of another user leads into his own
 * directories at most. ERR_DENIED names a link that does not. An absolute path needs no right to
 * the working directory. The caller closes the descriptor.
 */
int held_directory_open(const char *path, struct err *err);

/* The same, and makes what is missing of it (mkdir -p). */
int held_directory_make(const char *path, mode_t mode, struct err *err);

/* The absolute path, with links resolved as far as it exists, by the same rule: ERR_DENIED. The
 * caller frees; NULL: error. */
char *held_directory_resolve(const char *path, struct err *err);

/* The directory that the path is in, for work on *name in it (beneath.h). It need not be readable.
 */
int held_directory_open_above(const char *path, const char **name, struct err *err);

/* file_open() of a file that we write for others, with the same rule for the links in its path: one
 * of another user is not followed (ERR_DENIED). So /dev/fd/3 works. */
int held_directory_open_file(const char *path, int flags, mode_t mode, struct err *err);
/* Replaces such a file, all or nothing, without waiting for the disk; also if it is a link. */
int held_directory_replace_file(const char *path, const void *data, size_t size, struct err *err);
/* unlink(2) of such a file. */
void held_directory_remove_file(const char *path);

/* Does the path lead to this directory (still)? Follows links. */
bool held_directory_is_at(int directory, const char *path);

/*
 * Whom a file belongs to that we make in the directory: a server may give what we make to another
 * user than us (root_squash, "map all users"). It makes one for a moment. This process's user where
 * none can be made.
 */
uid_t held_directory_own_number(int directory);

/*
 * PURE. Is a folder that was found where ours would be one that nobody else can work in? It belongs
 * to this user, or to the owner of the directory that it is for, who could change the files there
 * as well; and no others may write to it, unless they may write to that directory too, as on file
 * systems without modes. `self`: this user's number there, which held_directory_own_number() tells.
 */
bool held_directory_is_private(const struct stat *folder, const struct stat *directory, uid_t self);

#endif
