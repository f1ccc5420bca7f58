#include "index_warmup.h"

#include "base/cleanup.h"
#include "damage_marks.h"
#include "orphan_packs.h"

#include <string.h>

static int load_parent(struct storage *storage, struct snapshot_id parent, struct cancel *cancel,
		       struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err own = {0};

	if (snapshot_id_is_none(parent) || !chunk_index_is_empty(&storage->transfer.index))
		return 0;
	if (job_record_get_manifest(storage, parent, &manifest, cancel, &own) == 0)
		chunk_index_replace(&storage->transfer.index, &manifest, NULL);
	else if (own.kind == ERR_CANCELLED)
		return err_set(err, own.kind, "%s", own.text);
	return 0;
}

/* The index keeps only packs that the store lists and that nobody has found damaged. Those that are
 * lost later are found before the commit. */
int index_warmup(struct storage *storage, struct snapshot_id parent, struct cancel *cancel,
		 struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0}, damaged = {0};
	auto_free char *prefix = text_format("jobs/%s/", storage->transfer.job);
	struct snapshot_id behind = storage->newest_at_claim;

	/* Within one process the index is current: its own packs were put by this process, or
	 * looked up. */
	if (storage->warmed) {
		chunk_index_apply_listing(&storage->transfer.index, prefix, NULL);
		return 0;
	}
	/* A new process knows nothing yet: the parent's manifest names the chunks of the newest
	 * checkpoint. */
	if (load_parent(storage, parent, cancel, err) < 0)
		return -1;
	chunk_index_begin_listing(&storage->transfer.index);
	if (job_records_list_packs(storage, &packs, cancel, err) < 0 ||
	    damage_marks_list(storage, &damaged, cancel, err) < 0)
		return -1;
	damage_marks_drop(storage, &damaged, &packs);
	chunk_index_apply_listing(&storage->transfer.index, prefix, &packs);
	/* A pack for an older one than the newest may be garbage to a collection under way. */
	if (snapshot_id_compare(parent, behind) > 0)
		behind = parent;
	if (orphan_packs_load(storage, &packs, behind, cancel, err) < 0)
		return -1;
	storage->warmed = true;
	return 0;
}
