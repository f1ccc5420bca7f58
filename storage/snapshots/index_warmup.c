#include "index_warmup.h"

#include "base/cleanup.h"
#include "orphan_packs.h"

#include <string.h>

AUTO(struct manifest, manifest_release);
AUTO(struct store_listing, store_listing_release);

static int read_parent(
	struct storage *storage, struct snapshot_id parent, struct cancel *cancel, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err own = {0};

	if (snapshot_id_is_none(parent) || !index_is_empty(&storage->transfer.index))
		return 0;
	if (record_get_manifest(storage, parent, &manifest, cancel, &own) == 0)
		index_replace(&storage->transfer.index, &manifest, NULL);
	else if (own.kind == ERR_CANCELLED)
		return err_set(err, own.kind, "%s", own.text);
	return 0;
}

/* Deduplicates only against packs that are there right now, so that one lost object does not spoil every later snapshot. */
int warm_index(struct storage *storage, struct snapshot_id parent, bool look, struct cancel *cancel,
	struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};
	auto_free char *prefix = text_format("jobs/%s/", storage->transfer.job);
	bool cold = !storage->warmed;

	if (cold && read_parent(storage, parent, cancel, err) < 0)
		return -1;
	if (!cold && (!look || index_is_empty(&storage->transfer.index))) {
		index_settle(&storage->transfer.index, prefix, NULL);
		return 0;
	}
	index_expect(&storage->transfer.index);
	if (record_list_packs(storage, &packs, cancel, err) < 0)
		return -1;
	index_settle(&storage->transfer.index, prefix, &packs);
	if (cold && leftovers_find(storage, &packs, parent, cancel, err) < 0)
		return -1;
	storage->warmed = true;
	return 0;
}
