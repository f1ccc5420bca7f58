/*
 * Sends files of a checkpoint that is still being written: those that are closed and large, and
 * what large ones have grown by that are still open. At most one such piece of work at a time, on
 * the worker that also takes snapshots, which it leaves at once when one is wanted. Lives on the
 * loop.
 */
#ifndef EARLY_UPLOAD_H
#define EARLY_UPLOAD_H

#include "base/err.h"
#include "base/workers.h"
#include "storage/storage.h"

#include <stdbool.h>

struct early_upload;

struct early_upload_options {
	struct workers *workers;
	struct storage *storage;
	const char *directory;       /* borrowed */
	void (*finished)(void *arg); /* on the loop, after each */
	void *arg;
};

int early_upload_new(const struct early_upload_options *options, struct early_upload **early_upload,
		     struct err *err);
/* After workers_free(), which waits for what runs. */
void early_upload_free(struct early_upload *early_upload);

/* `closed`, `open`: relative, NULL-terminated, owned from then on. Does nothing while one is under
 * way. `id` and `parent` as for the take that will follow. */
void early_upload_start(struct early_upload *early_upload, struct snapshot_id id,
			struct snapshot_id parent, char **closed, char **open);
bool early_upload_is_busy(const struct early_upload *early_upload);
/* Have it end soon; what it has handed over goes on, and `finished` is still called. */
void early_upload_yield(struct early_upload *early_upload);
/* For good, at once: before workers_free(). */
void early_upload_stop(struct early_upload *early_upload);

#endif
