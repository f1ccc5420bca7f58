/*
 * Where a file lies in relation to the checkpoint directory. No allocation, no libc call that may
 * be interposed, errno is not kept: callers do that.
 */
#ifndef PATH_RESOLVE_H
#define PATH_RESOLVE_H

#include "shim.h"

#include <stdbool.h>
#include <sys/types.h>

struct resolved_path {
	bool inside;     /* strictly below the directory */
	bool regular;    /* path_resolve_fd: a regular file, or it could not be found out */
	unsigned flags;  /* SHIM_FLAG_TRUNCATED_PATH, _EMPTY, _DELETED */
	uint16_t length; /* of `path`, relative to the directory; 0 when outside */
	uint64_t device, inode;
	char path[SHIM_PATH_MOST];
};

/* By what the kernel says about the descriptor; links on the way do not matter. `path` as the
 * application gave it, for where /proc is not mounted; may be NULL. */
void path_resolve_fd(const struct shim_header *header, int fd, int directory_fd, const char *path,
		     struct resolved_path *resolved_path);

/* By the words of the path alone, because the file may have gone already; a link
 * on the way hides it. */
void path_resolve_name(const struct shim_header *header, int directory_fd, const char *path,
		       struct resolved_path *resolved_path);

/* Was this absolute path lately found to lie outside? Keeps opening the same file or device again
 * and again cheap. */
bool path_is_known_outside(const char *path);
void path_remember_outside(const char *path);

#endif
