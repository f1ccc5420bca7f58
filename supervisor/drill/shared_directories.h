/*
 * The directories of the user's own that machines reach by links, because they are not looked into
 * (tree_look.h): virtual environments, and those of too many entries. Where the kernel lets us, a
 * machine sees them as read-only, in a mount namespace of its own: as root by itself, otherwise in
 * a user namespace, in which the user stays who he is. Docker and Ubuntu 24.04 do not let us: there
 * is a search for what was written in them.
 */
#ifndef SHARED_DIRECTORIES_H
#define SHARED_DIRECTORIES_H

#include "base/cleanup.h"
#include "tree_look.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* So many entries of them are searched: those of a virtual environment, and no million. */
#define SHARED_SEARCHED_MOST 200000

struct shared_directories {
	char **paths; /* absolute, without links */
	size_t count;
	bool read_only;                   /* machines cannot write there */
	int64_t found_ns;                 /* when, as files have their times */
	char user_map[40], group_map[40]; /* for /proc/self/uid_map and gid_map */
};

/* Those that a machine made of `look` at `from` has. What holds one of the `written` paths (ends
 * with NULL; absolute) is left out: the drill itself writes there. Tries in a child whether they
 * can be made read-only, and blocks until that has ended. */
void shared_directories_find(struct shared_directories *shared, const struct tree_look *look,
			     const char *from, const char *const *written);
void shared_directories_release(struct shared_directories *shared);
AUTO(struct shared_directories, shared_directories_release);

/* Makes them read-only for this process and those that it starts. Call it between fork and exec: it
 * only calls what is safe there. The signal of prctl(PR_SET_PDEATHSIG) is lost by it. False: the
 * kernel does not let us, and nothing has changed that the process could write to. */
bool shared_directories_close(const struct shared_directories *shared);

/* The path of a file in them that was made or written since they were found; the caller frees.
 * NULL: none was seen. What Python compiles is left out. Blocks. */
char *shared_directories_find_change(const struct shared_directories *shared);

#endif
