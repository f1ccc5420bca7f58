/*
 * PRIVATE. Azure's metadata service takes 5 requests per second and VM, from all programs together,
 * and a supervisor per rank would be more. So those of one user on one machine ask in turn: whoever
 * finds the last answer old enough and the lock free asks, and leaves the answer in a file for the
 * others. A holder that is stopped or hangs delays nobody for long: then each asks by itself.
 */
#ifndef CLOUD_AZURE_SHARE_H
#define CLOUD_AZURE_SHARE_H

#include "azure_reply.h"
#include "reply.h"

#include "base/text.h"

#include <sys/stat.h>

struct azure_share {
	char *path; /* NULL: nothing is shared */
	char boot[40];
	int64_t opened_ms;
	int lock;             /* -1 where it cannot be had */
	struct timespec seen; /* of the file that was read last */
	ino_t seen_inode;
};

/* One answer with what belongs to it. Zero-initialise, and release. */
struct azure_shared {
	int64_t asked_ms, arrived_ms, arrived_wall_ms;
	int status;
	/* of the VM; "" where it is not known */
	char name[AZURE_NAME_MOST];
	struct bytes body;
	/* answered before this share was opened: what it says may have been withdrawn since */
	bool is_early;
};

enum {
	/* An answer that is older is not believed, and who waits for a new one any
	 * longer asks by itself. */
	AZURE_SHARE_STALE_MS = 3000,
};

/* `directory` NULL: nothing is shared, and every function does the harmless thing. It must belong
 * to this user alone. */
void azure_share_open(struct azure_share *share, const char *directory, const char *endpoint);
void azure_share_close(struct azure_share *share);

/* An answer that was not read before, of the last few seconds; false where there is none. */
bool azure_share_read(struct azure_share *share, struct azure_shared *shared);

/* True: ask now, then put the answer there or not, and end. */
bool azure_share_try_lock(struct azure_share *share);
/* Best effort: a full disk only means that the others ask as well. */
void azure_share_write(struct azure_share *share, const struct azure_shared *shared);
void azure_share_unlock(struct azure_share *share);

#endif
