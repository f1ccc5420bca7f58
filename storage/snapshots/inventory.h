/* PRIVATE: all that a job consists of, read at once: snapshots with their state, pins, and which
 * packs each manifest names. */
#ifndef INVENTORY_H
#define INVENTORY_H

#include "base/cleanup.h"

#include "job_records.h"

/* What one manifest names, as numbers of packs in a listing. Manifests never
 * change, so this may be used again. */
struct inventory_packs {
	uint32_t *packs;
	size_t count;
	bool unknown; /* it could not be read: it may name whatever was written for it */
};

struct inventory {
	struct job_listing listing;
	/* newest first */
	struct snapshot_list list;
	/* one for each in `list`; packs that are missing are left out */
	struct inventory_packs *names;
};

int inventory_read(struct storage *storage, struct inventory *inventory, struct cancel *cancel,
		   struct err *err);
void inventory_release(struct inventory *inventory);
AUTO(struct inventory, inventory_release);

/* The packs that are there and that the manifest names, in a listing of packs. -1
 * only if it could not look. */
int inventory_read_packs(struct storage *storage, struct snapshot_id id,
			 const struct store_listing *packs, struct inventory_packs *names,
			 struct cancel *cancel, struct err *err);
void inventory_packs_release(struct inventory_packs *names);
AUTO(struct inventory_packs, inventory_packs_release);

#endif
