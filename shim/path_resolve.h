/*
 * Finds out where a file is in relation to the checkpoint directory. No allocation, and no libc
 * call that may be interposed. May change errno: callers save it.
 */
#ifndef PATH_RESOLVE_H
#define PATH_RESOLVE_H

#include "shim.h"

#include <stdbool.h>
#include <sys/types.h>

struct resolved_path {
	bool inside;     /* strictly below the directory */
	bool regular;    /* path_resolve_fd(): a regular file, or its type is unknown */
	unsigned flags;  /* SHIM_FLAG_TRUNCATED_PATH, _EMPTY, _DELETED */
	uint16_t length; /* of `path`, relative to the directory; 0 when outside */
	uint64_t device, inode;
	char path[SHIM_PATH_MOST];
};

/* Resolves a descriptor by what the kernel knows (/proc/self/fd), so links on the way do not
 * matter. `path`, as the application gave it, is used if /proc is not mounted; may be NULL. */
void path_resolve_fd(const struct shim_header *header, int fd, int directory_fd, const char *path,
		     struct resolved_path *resolved_path);

/* Resolves a path by its text and the directories above it, because the file may no longer exist. A
 * symbolic link within the directory makes it appear under another name. */
void path_resolve_name(const struct shim_header *header, int directory_fd, const char *path,
		       struct resolved_path *resolved_path);

/* The normalised absolute path, terminated, in place of the relative one, and `inside`, so that it
 * is sent. False: it is too long, or cannot be found out. */
bool path_resolve_absolute(int directory_fd, const char *path, struct resolved_path *resolved_path);

/* A small cache of absolute paths that were found to be outside the directory, so that opening the
 * same file or device again is cheap. */
bool path_is_known_outside(const char *path);
void path_remember_outside(const char *path);

#endif
