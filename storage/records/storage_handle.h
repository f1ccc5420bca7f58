/* An open store and the job in it. For storage/ only: callers know it as the opaque struct storage
 * of storage.h. */
#ifndef STORAGE_HANDLE_H
#define STORAGE_HANDLE_H

#include "listed_claims.h"
#include "own_claim.h"
#include "storage/format/snapshot_id.h"
#include "storage/storage.h"
#include "storage/transfer/transfer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The manifest that was read last, as it was read: it never changes. Whether the snapshot still
 * exists, it does not say. */
struct known_manifest {
	pthread_mutex_t mutex;
	struct snapshot_id id;
	struct bytes record;
	int64_t read_ms; /* monotonic */
};

struct storage {
	/* The store, the job's name, and the state of sending and fetching. */
	struct transfer transfer;
	char *url;
	enum storage_found found;
	/* This machine's name, for the records. */
	char host[65];
	/* That this process has read. */
	struct known_claims claims;
	/* Of the attempt that was claimed last here. */
	struct own_claim own_claim;
	/* What this process had claimed before that. */
	struct own_claim earlier_claim;
	struct known_manifest known_manifest;
	/* Opened to claim an attempt. */
	bool will_claim;
	bool answers_at_once; /* it is on a local disk */
	/* What was asked for ahead of that; or NULL. */
	struct first_look *first_look;
	/* Of the manifests that the last inventory has read, newest first (inventory.h). */
	struct known_snapshot *known;
	size_t known_count;
	/* Worker threads for reading and hashing. */
	unsigned threads;
	bool read_only;
	/* The save under way has found that somebody has emptied the store. */
	bool emptied;
	/* A save of this process has found the store full. */
	bool found_full;
	/* What the store has said then. */
	char full_reason[160];
	/* Of all that were in the store when the claim of the attempt was there; none: nothing
	 * was. */
	struct snapshot_id newest_at_claim;
	/* By the same listing: nobody relies on orphaned packs up to this attempt. */
	uint32_t swept_at_claim;
	/* index_warmup() has run once. */
	bool warmed;
	/* What was set aside when it was listed last (pack_listing.h). */
	struct store_listing aside;
	/* Set by storage_set_gang(): 0 members for who looks at all of a snapshot. */
	struct {
		uint32_t members, member;
		/* storage_gang_look_at(): `member` alone, with 0 members. */
		bool looks_at_one;
		/* The round that it has last put a part in, while it is not known for certain what
		 * became of it; none: it is. */
		struct snapshot_id unsettled;
		/* The round that it has put the mark of who commits in. */
		struct snapshot_id marked;
		/* What is restored of a snapshot. */
		enum gang_parts_choice parts;
		/* Set by storage_gang_share_directory(); owned. */
		bool *sharers;
	} gang;
	/* Set by storage_set_progress(). */
	void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total);
	void *progress_arg;
};

#endif
