/* PRIVATE. Remembers the notices of one resource, to withdraw those whose events have
 * disappeared. */
#ifndef CLOUD_ANNOUNCED_H
#define CLOUD_ANNOUNCED_H

#include "watcher.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	ANNOUNCED_MOST = 8
};

/* Zero-initialise. */
struct announced {
	struct notice items[ANNOUNCED_MOST];
	size_t count;
	/* number of well-formed replies in a row that lacked one of them */
	unsigned absent;
};

/* Reports the notices, and remembers them up to ANNOUNCED_MOST. */
void announced_add(struct announced *announced, struct watcher *watcher,
		   const struct notice *notices, size_t count);

/*
 * Withdraws those that are not among `notices`, the complete current list. Only the second such
 * call in a row withdraws, because one reply may come from a server that does not know of an event
 * yet.
 */
void announced_withdraw_missing(struct announced *announced, struct watcher *watcher,
				const struct notice *notices, size_t count, const char *reason);

/* Reports that this notice is over. */
void announced_withdraw(struct watcher *watcher, const struct notice *notice, const char *reason);

#endif
