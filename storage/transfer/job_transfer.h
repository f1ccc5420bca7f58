/*
 * PRIVATE to storage/: the content of one job on its way to and from a store. A snapshot's save, an
 * early upload and a restore share one struct transfer, so that what one has sent or measured
 * serves the next.
 */
#ifndef JOB_TRANSFER_H
#define JOB_TRANSFER_H

#include "append_progress.h"
#include "chunk_index.h"
#include "hedge.h"
#include "rate_limit.h"
#include "storage/backend/backend.h"
#include "transfer_plan.h"

#include <stdatomic.h>
#include <stdbool.h>

struct pack_uploader;

struct transfer {
	struct store *store;
	/* The job's name: its packs lie below jobs/<job>/packs/. */
	char *job;
	/* What the newest snapshot of this process consists of. */
	struct chunk_index index;
	/* The store is not a directory of this machine. */
	bool remote;
	/* Beside a job: low priority, until `hurried`. */
	bool background;
	/* Set by storage_set_urgent(), from any thread. */
	atomic_bool urgent;
	struct transfer_plan plan;
	/* These two are the uploader's. */
	struct hedge hedge;
	struct rate_limit rate;
	/* Kept from an early upload to the save that follows; else NULL. */
	struct pack_uploader *uploader;
	/* How far early uploads have read files that still grow. */
	struct append_progress append_progress;
};

/* The key in the store of a pack whose key in a manifest is `key`, "packs/...".
 * The caller frees. */
char *transfer_pack_key(const struct transfer *transfer, const char *key);

#endif
