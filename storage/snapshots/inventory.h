/* PRIVATE: reads everything that a job consists of: the snapshots with their states, the pins, and
 * the packs that each manifest names. */
#ifndef INVENTORY_H
#define INVENTORY_H

#include "base/cleanup.h"

#include "storage/records/records.h"

/* The packs that one manifest names, as positions in a listing of packs. A manifest never changes,
 * so the answer stays valid. */
struct inventory_packs {
	uint32_t *packs;
	size_t count;
	bool unknown; /* the manifest is unreadable: it may name any pack written for its id */
	bool cached;  /* it was read before, and not now */
};

struct inventory {
	struct job_listing listing;
	/* newest first */
	struct snapshot_list list;
	/* one for each item of `list`; without the packs that are missing in the store */
	struct inventory_packs *names;
};

/* What a manifest said that this process has read. */
struct known_snapshot {
	/* Nothing of state, pins or packs. The first member, by which it is found. */
	struct snapshot_info info;
	/* Another object under the same name is another snapshot. A size of 0: it was not read. */
	struct manifest_object object;
	struct manifest_pack *packs;
	size_t pack_count;
};

/* Reads all manifests that this process has not read, 16 at a time; that of the
 * newest good snapshot in any case. A damaged snapshot is marked in the list and is no
 * error. The caller frees with inventory_release(). */
int inventory_read(struct storage *storage, struct inventory *inventory, struct cancel *cancel,
		   struct err *err);
void inventory_release(struct inventory *inventory);
AUTO(struct inventory, inventory_release);

/* The item of the list, or NULL; borrowed. */
struct snapshot_info *inventory_find(const struct inventory *inventory, struct snapshot_id id);

/*
 * The packs of the listing `packs` that the manifest of `id` names. A manifest that is damaged sets
 * `unknown`; one that has been removed names nothing. -1: the store could not be read, or
 * ERR_VERSION.
 */
int inventory_read_packs(struct storage *storage, struct snapshot_id id,
			 const struct store_listing *packs, struct inventory_packs *names,
			 struct cancel *cancel, struct err *err);
void inventory_packs_release(struct inventory_packs *names);
AUTO(struct inventory_packs, inventory_packs_release);

#endif
