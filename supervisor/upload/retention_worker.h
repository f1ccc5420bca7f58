/*
 * The --keep-* rules of `run`, applied in the background after a commit: on the snapshots' worker
 * thread, so that the storage is used by one call at a time, and never in the way of a save:
 * whoever has something better to do stops it, and it begins anew at the next commit. Lives on the
 * loop.
 */
#ifndef RETENTION_WORKER_H
#define RETENTION_WORKER_H

#include "base/cancel.h"
#include "base/workers.h"
#include "storage/storage.h"

#include <stdbool.h>

struct retention_worker;

struct retention_worker_options {
	struct workers *workers;
	struct storage *storage;
	struct forget_policy policy; /* what it points to stays the caller's */
	/* On the loop, after each. */
	void (*finished)(void *arg, bool worked, const struct forget_result *result,
			 const struct err *err);
	void *arg;
};

struct retention_worker *retention_worker_new(const struct retention_worker_options *options);
/* Call workers_free() before: it waits for what runs. NULL is fine. */
void retention_worker_free(struct retention_worker *retention_worker);

/* Begins, unless it is at it already. NULL is fine here and below. */
void retention_worker_start(struct retention_worker *retention_worker);
/* Ends what runs within milliseconds; `finished` is still called. What was forgotten is forgotten,
 * and all that is left is whole. */
void retention_worker_stop(struct retention_worker *retention_worker);
/* Ends it after so long at the latest. */
void retention_worker_limit_time(struct retention_worker *retention_worker, int64_t milliseconds);
bool retention_worker_is_busy(const struct retention_worker *retention_worker);

#endif
