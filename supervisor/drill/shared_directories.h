/*
 * The directories of the user's own that machines reach by links, because they are not looked into
 * (tree_look.h): virtual environments, and those of too many entries. Where the kernel lets us, a
 * machine sees them as read-only, in a mount namespace of its own: as root by itself, otherwise in
 * a user namespace, in which the user stays who he is. Docker and Ubuntu 24.04 do not let us: there
 * a second look sees what is new in them, and no more.
 */
#ifndef SHARED_DIRECTORIES_H
#define SHARED_DIRECTORIES_H

#include "base/cleanup.h"
#include "tree_look.h"

#include <stdbool.h>
#include <stddef.h>

struct shared_directories {
	char **paths; /* absolute, without links */
	size_t count;
	char user_map[40], group_map[40]; /* for /proc/self/uid_map and gid_map */
};

/* Those that a machine made of `look` at `from` has. What holds one of the `written` paths (ends
 * with NULL; absolute) is left out: the drill itself writes there. */
void shared_directories_find(struct shared_directories *shared, const struct tree_look *look,
			     const char *from, const char *const *written);
void shared_directories_release(struct shared_directories *shared);
AUTO(struct shared_directories, shared_directories_release);

/* Makes them read-only for this process and those that it starts. Call it between fork and exec: it
 * only calls what is safe there. The signal of prctl(PR_SET_PDEATHSIG) is lost by it. False: the
 * kernel does not let us, and nothing has changed that the process could write to. */
bool shared_directories_close(const struct shared_directories *shared);

/* Whether that would succeed. Tries it in a child, and blocks until that has ended. */
bool shared_directories_can_close(const struct shared_directories *shared);

#endif
