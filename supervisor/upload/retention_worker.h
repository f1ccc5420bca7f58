/*
 * The --keep-* rules of `run`, applied in the background after a commit: on the snapshots' worker thread, so that the storage is used by
 * one call at a time, and never in the way of a save: whoever has something better to do stops it, and it begins anew at the next
 * commit. Lives on the loop.
 */
#ifndef RETENTION_WORKER_H
#define RETENTION_WORKER_H

#include "base/cancel.h"
#include "base/workers.h"
#include "storage/storage.h"

#include <stdbool.h>

struct tending;

struct tending_options {
	struct workers *workers;
	struct storage *storage;
	struct forget_policy policy; /* what it points to stays the caller's */
	/* On the loop, after each. */
	void (*finished)(
		void *arg, bool worked, const struct forget_result *result, const struct err *err);
	void *arg;
};

struct tending *tending_new(const struct tending_options *options);
/* Call workers_free() before: it waits for what runs. NULL is fine. */
void tending_free(struct tending *tending);

/* Begins, unless it is at it already. NULL is fine here and below. */
void tending_start(struct tending *tending);
/* Ends what runs within milliseconds; `finished` is still called. What was forgotten is forgotten, and all that is left is whole. */
void tending_stop(struct tending *tending);
/* Ends it after so long at the latest. */
void tending_hasten(struct tending *tending, int64_t milliseconds);
bool tending_busy(const struct tending *tending);

#endif
