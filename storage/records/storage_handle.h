/* An open store and the job in it. For storage/ only: callers know it as the opaque struct storage
 * of storage.h. */
#ifndef STORAGE_HANDLE_H
#define STORAGE_HANDLE_H

#include "claims.h"
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

/* A manifest as an object. */
struct manifest_object {
	uint64_t size;
	int64_t put_ms; /* by the store's clock; 0: unknown */
};

/* The records of a job by name. `lineage` has the attempts, with what those of their claims say
 * that were read, and the ids of the snapshots. */
struct job_listing {
	struct lineage lineage;
	struct manifest_object *manifests; /* one per snapshot */
	struct store_listing singles;      /* the objects below attempts/ */
	struct store_listing packs;
	/* The newest attempt up to which nobody relies on orphaned packs (FORMAT.md); 0: none. */
	uint32_t swept;
	/* When the attempts were asked for, of CLOCK_MONOTONIC. */
	int64_t listed_ms;
};

/* The answers that were asked for ahead of a claim (first_look.c). */
struct first_look {
	struct store_listing draining;
	int64_t draining_until_ms; /* 0: there is none */
	struct job_listing listing;
	int64_t listing_until_ms;
	bool of_opening;
	/* The newest snapshot, if its manifest was read (job_record_get_known_head()), and the
	 * packs that were put for it. */
	struct snapshot_id newest, read;
	struct store_listing packs;
	int64_t newest_until_ms;
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
	struct first_look first_look;
	/* Of the manifests that the last inventory has read, newest first (inventory.c). */
	struct known_snapshot *known;
	size_t known_count;
	/* Worker threads for reading and hashing. */
	unsigned threads;
	bool read_only;
	/* The save under way has found that somebody has emptied the store. */
	bool emptied;
	/* A save of this process has found the store full. */
	bool found_full;
	/* The room for a claim was used: it is to be kept again once there is some. */
	bool used_claim_room;
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
