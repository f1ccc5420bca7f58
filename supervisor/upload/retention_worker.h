/*
 * Applies the --keep-* rules of `run` in the background, after a commit. It shares the worker
 * thread of the snapshots, so that the storage is used by one call at a time. No save waits for it:
 * the caller stops it, and starts it again after the next commit. Lives on the loop; nothing here
 * blocks.
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
	uint32_t attempt;
	struct forget_policy policy; /* borrows what it points to */
	/* On the loop, after each run. `err` is set unless it `worked`. */
	void (*finished)(void *arg, bool worked, const struct forget_result *result,
			 const struct err *err);
	void *arg;
};

struct retention_worker *retention_worker_new(const struct retention_worker_options *options);
/* Call after workers_free(), which waits for the running one. NULL is fine, here and below. */
void retention_worker_free(struct retention_worker *retention_worker);

/* Starts a run, unless one is running. */
void retention_worker_start(struct retention_worker *retention_worker);
/* Ends the run within milliseconds; `finished` is still called. Some snapshots may have been
 * removed; those that are left are intact. */
void retention_worker_stop(struct retention_worker *retention_worker);
/* Ends the run after this time at the latest. */
void retention_worker_limit_time(struct retention_worker *retention_worker, int64_t milliseconds);
/* PURE. What the policy lets go, and how nothing goes, for a line of the log: "that ...". */
const char *retention_words(const struct forget_policy *policy);
bool retention_worker_is_busy(const struct retention_worker *retention_worker);

#endif
