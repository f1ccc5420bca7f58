/*
 * PRIVATE. Shares the replies of Azure's metadata service between supervisors. The service accepts
 * 5 requests per second and VM from all programs together, and one supervisor per rank would send
 * more. So the supervisors of one user on one machine take turns: the one that finds the last reply
 * old enough and the lock free sends a request, and leaves the reply in a file for the others. A
 * holder that is stopped or hangs delays the others only briefly: then each sends its own requests.
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
	int lock;             /* -1: not available */
	struct timespec seen; /* mtime of the file that was read last */
	ino_t seen_inode;
};

/* One reply and its context. Zero-initialise, and release. */
struct azure_shared {
	int64_t asked_ms, arrived_ms, arrived_wall_ms;
	int status;
	/* name of the VM; "": unknown */
	char name[AZURE_NAME_MOST];
	struct bytes body;
	/* the reply is older than this share: what it reports may have been withdrawn since */
	bool is_early;
};

enum {
	/* An older reply is not used, and a supervisor that has waited this long for a new one
	 * sends its own request. */
	AZURE_SHARE_STALE_MS = 3000,
};

/* Opens the share in `directory`, which must belong to this user alone. NULL: nothing is shared,
 * and the functions below do nothing harmful. */
void azure_share_open(struct azure_share *share, const char *directory, const char *endpoint);
void azure_share_close(struct azure_share *share);

/* Reads a reply of the last few seconds that was not read before. False: there is none. */
bool azure_share_read(struct azure_share *share, struct azure_shared *shared);

/* True: the caller sends the request, may write the reply, and then unlocks. */
bool azure_share_try_lock(struct azure_share *share);
/* Best effort: on a full disk the others send their own requests. */
void azure_share_write(struct azure_share *share, const struct azure_shared *shared);
void azure_share_unlock(struct azure_share *share);

#endif
