/*
 * The claims that this process has read. A claim never changes, and a job that was preempted often
 * has thousands: only the new ones are read again. Thread-safe.
 */
#ifndef CLAIM_CACHE_H
#define CLAIM_CACHE_H

#include "base/cleanup.h"

#include "lineage.h"

#include <pthread.h>

struct cached_claim {
	/* When the store says that it was put: in a store that was emptied, another claim has the
	 * number. */
	int64_t put_ms;
	/* `unconfirmed`: it counts only once it is confirmed. */
	struct lineage_attempt claim;
};

struct claim_cache {
	pthread_mutex_t mutex;
	struct cached_claim *items; /* ascending by number */
	size_t count, capacity;
};

void claim_cache_init(struct claim_cache *cache);
void claim_cache_release(struct claim_cache *cache);

/* False: it is not known, or `put_ms` is another one or 0. */
bool claim_cache_find(struct claim_cache *cache, uint32_t number, int64_t put_ms,
		      struct lineage_attempt *claim);
/* Ignores a `put_ms` of 0. */
void claim_cache_add(struct claim_cache *cache, int64_t put_ms,
		     const struct lineage_attempt *claim);

#endif
