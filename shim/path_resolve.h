/*
 * Where a file lies in relation to the checkpoint directory. No allocation, no libc call that may be interposed, errno is
 * not kept: callers do that.
 */
#ifndef PATH_RESOLVE_H
#define PATH_RESOLVE_H

#include "shim.h"

#include <stdbool.h>
#include <sys/types.h>

struct place {
	bool inside;     /* strictly below the directory */
	bool regular;    /* place_of_descriptor: a regular file, or it could not be found out */
	unsigned flags;  /* SHIM_FLAG_TRUNCATED_PATH, _EMPTY, _DELETED */
	uint16_t length; /* of `path`, relative to the directory; 0 when outside */
	uint64_t device, inode;
	char path[SHIM_PATH_MOST];
};

/* By what the kernel says about the descriptor; links on the way do not matter. `path` as the application gave it, for where
 * /proc is not mounted; may be NULL. */
void place_of_descriptor(const struct shim_header *header, int fd, int directory_fd,
	const char *path, struct place *place);

/* By the words of the path alone, because the file may have gone already; a link on the way hides it. */
void place_of_path(
	const struct shim_header *header, int directory_fd, const char *path, struct place *place);

/* Was this absolute path lately found to lie outside? Keeps opening the same file or device again and again cheap. */
bool place_known_outside(const char *path);
void place_remember_outside(const char *path);

#endif
