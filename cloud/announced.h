/* PRIVATE. What was told of one resource, to take it back when it is there no more. */
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
	/* So many well-formed answers in a row were without one of them. */
	unsigned absent;
};

/* Tells all of them, and remembers as many as there is room for. */
void announced_add(struct announced *announced, struct watcher *watcher,
		   const struct notice *notices, size_t count);

/* Withdraws what is not among `notices`, which are all that there are now: not before the second
 * such call in a row, because one answer may come from a server that has not heard of it yet. */
void announced_withdraw_missing(struct announced *announced, struct watcher *watcher,
				const struct notice *notices, size_t count, const char *reason);

/* Tells that this one is over. */
void announced_withdraw(struct watcher *watcher, const struct notice *notice, const char *reason);

#endif
