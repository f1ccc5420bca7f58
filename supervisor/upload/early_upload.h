/*
 * Uploads large files of a checkpoint that is still being written: closed files, and the parts by
 * which open files grow, for as long as they do. It runs at most once at a time, on the worker that
 * also uploads snapshots, and yields it at once when a snapshot waits. Lives on the loop; nothing
 * here blocks.
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
	void (*finished)(void *arg); /* on the loop, when none runs or waits any more */
	void *arg;
};

int early_upload_new(const struct early_upload_options *options, struct early_upload **early_upload,
		     struct err *err);
/* Call after workers_free(), which waits for the running upload. */
void early_upload_free(struct early_upload *early_upload);

/* `closed`, `open`: relative paths, NULL-terminated; takes ownership. `id` and `parent` are those
 * of the snapshot that will follow. An early upload that runs goes on to these when it is done
 * with what its files have grown by so far. */
void early_upload_start(struct early_upload *early_upload, struct snapshot_id id,
			struct snapshot_id parent, char **closed, char **open);
bool early_upload_is_busy(const struct early_upload *early_upload);
/* Ends the running upload soon: packs that are under way are still sent. `finished` is still
 * called. */
void early_upload_yield(struct early_upload *early_upload);
/* Ends it at once and for good. Call before workers_free(). */
void early_upload_stop(struct early_upload *early_upload);

#endif
