/*
 * Sends files of a checkpoint that is still being written: those that are closed and large, and what large ones have grown by that
 * are still open. At most one such piece of work at a time, on the worker that also takes snapshots, which it leaves at once when one is wanted. Lives on the loop.
 */
#ifndef EARLY_UPLOAD_H
#define EARLY_UPLOAD_H

#include "base/err.h"
#include "base/workers.h"
#include "storage/storage.h"

#include <stdbool.h>

struct ahead;

struct ahead_options {
	struct workers *workers;
	struct storage *storage;
	const char *directory;       /* borrowed */
	void (*finished)(void *arg); /* on the loop, after each */
	void *arg;
};

int ahead_new(const struct ahead_options *options, struct ahead **ahead, struct err *err);
/* After workers_free(), which waits for what runs. */
void ahead_free(struct ahead *ahead);

/* `closed`, `open`: relative, NULL-terminated, owned from then on. Does nothing while one is under way. `id` and `parent` as for the take that
 * will follow. */
void ahead_send(struct ahead *ahead, struct snapshot_id id, struct snapshot_id parent,
	char **closed, char **open);
bool ahead_busy(const struct ahead *ahead);
/* Have it end soon; what it has handed over goes on, and `finished` is still called. */
void ahead_enough(struct ahead *ahead);
/* For good, at once: before workers_free(). */
void ahead_stop(struct ahead *ahead);

#endif
