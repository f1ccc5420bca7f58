/* PRIVATE: reads everything that a job consists of: the snapshots with their states, the pins, and
 * the packs that each manifest names. */
#ifndef INVENTORY_H
#define INVENTORY_H

#include "base/cleanup.h"

#include "storage/records/records.h"

struct inventory {
	struct job_listing listing;
	/* newest first */
	struct snapshot_list list;
};

/* What a manifest said that this process has read: storage->known has one for each snapshot of the
 * newest inventory. */
struct known_snapshot {
	/* Nothing of state, pins or packs. The first member, by which it is found. */
	struct snapshot_info info;
	/* Another object under the same name is another snapshot. A size of 0: it was not read. */
	struct manifest_object object;
	/* Also those that the store lacks. */
	struct manifest_pack *packs;
	size_t pack_count;
	bool unknown; /* it is unreadable: it may name any pack written for its id */
	bool cached;  /* it was read before, and not now */
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

/* The pack that a manifest names so, or NULL; borrowed from the listing. */
const struct store_object *inventory_find_pack(const struct storage *storage,
					       const struct store_listing *packs, const char *name);

#endif
