/*
 * PURE. What the manifests say that a process has read, without their entries: enough to list
 * snapshots, to decide which are kept, and to tell which packs are named. A manifest never changes,
 * so a job that saves and forgets for weeks reads each once. Whether a snapshot exists, only the
 * store's listing says.
 */
#ifndef SNAPSHOT_CATALOGUE_H
#define SNAPSHOT_CATALOGUE_H

#include "pack_table.h"
#include "storage/format/format.h"
#include "storage/storage.h"

/* A manifest as an object. */
struct manifest_object {
	uint64_t size;
	int64_t put_ms; /* by the store's clock; 0: unknown */
};

/* Packs in a row of the catalogue's table. */
struct catalogue_run {
	uint32_t first, count;
};

struct catalogue_entry {
	/* What the manifest says; nothing of state, pins or packs. */
	struct snapshot_info info;
	/* What was read: another object under the same name is another snapshot. */
	struct manifest_object object;
	struct catalogue_run *runs;
	size_t run_count;
};

struct snapshot_catalogue {
	struct catalogue_entry **entries; /* ascending */
	size_t count;
	struct pack_table packs;
};

/* What the snapshot's manifest says, if it was this object; else NULL. Borrowed. */
struct catalogue_entry *snapshot_catalogue_find(const struct snapshot_catalogue *catalogue,
						struct snapshot_id id,
						const struct manifest_object *object);
/* The packs that the manifest names; the caller frees the array, the keys are borrowed. */
struct manifest_pack *snapshot_catalogue_packs(const struct snapshot_catalogue *catalogue,
					       const struct catalogue_entry *entry, size_t *count);
/* Replaces what was known of info->id. An object without a date is not kept: it may be replaced
 * unseen. */
void snapshot_catalogue_add(struct snapshot_catalogue *catalogue, const struct snapshot_info *info,
			    const struct manifest_object *object, const struct manifest_pack *packs,
			    size_t pack_count);
void snapshot_catalogue_remove(struct snapshot_catalogue *catalogue, struct snapshot_id id);
/* Drops everything but these snapshots; `ids` are ascending. */
void snapshot_catalogue_keep(struct snapshot_catalogue *catalogue, const struct snapshot_id *ids,
			     size_t count);

void snapshot_catalogue_release(struct snapshot_catalogue *catalogue);
AUTO(struct snapshot_catalogue, snapshot_catalogue_release);

#endif
