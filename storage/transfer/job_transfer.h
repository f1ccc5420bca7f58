/*
 * The state of sending and fetching for one job. A save, an early upload and a restore share one
 * struct transfer, so that what one has sent or measured serves the next.
 */
#ifndef JOB_TRANSFER_H
#define JOB_TRANSFER_H

#include "append_progress.h"
#include "chunk_index.h"
#include "hedge.h"
#include "rate_limit.h"
#include "storage/backend/backend.h"
#include "transfer_plan.h"
#include "weights_policy.h"

#include <stdatomic.h>
#include <stdbool.h>

struct pack_uploader;

struct transfer {
	struct store *store;
	/* The job's name: its packs are below jobs/<job>/packs/. */
	char *job;
	/* The chunks that need not be sent again. */
	struct chunk_index index;
	/* Of the fingerprints in it: by chance. */
	uint64_t seed;
	/* The store is reached over the network. */
	bool remote;
	/* Runs beside a job: low priority, until `urgent`. */
	bool background;
	/* Set by storage_set_urgent(), from any thread. */
	atomic_bool urgent;
	struct transfer_plan plan;
	enum weights_policy weights;
	struct weights_meter meter;
	/* Used by the uploader alone, under its mutex. */
	struct hedge hedge;
	struct rate_limit rate;
	/* Kept from an early upload to the save that follows; else NULL. */
	struct pack_uploader *uploader;
	/* How far early uploads have read growing files. */
	struct append_progress append_progress;
};

/* The store key of a pack whose key in a manifest is `key`, "packs/...". The caller frees. */
char *transfer_pack_key(const struct transfer *transfer, const char *key);
/* Of its copy, where it was found damaged and set aside. */
char *transfer_aside_key(const struct transfer *transfer, const char *key);

#endif
