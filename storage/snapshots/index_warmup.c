#include "index_warmup.h"

#include "base/cleanup.h"
#include "damage_marks.h"
#include "orphan_packs.h"

#include <stdlib.h>
#include <string.h>

/* Where orphaned packs are looked for. Those of others are sent again, and collected in time. */
#define ORPHAN_SAVES_MOST 2
#define ORPHAN_ATTEMPTS_MOST 4

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

/* Those that killed attempts may have left: of the saves after the parent, and of the newest
 * attempts after it. */
static size_t add_orphan_prefixes(struct snapshot_id parent, uint32_t attempt, char **prefixes)
{
	uint32_t first = attempt > ORPHAN_ATTEMPTS_MOST ? attempt - ORPHAN_ATTEMPTS_MOST + 1 : 1;
	size_t count = 0;

	if (first <= parent.attempt)
		first = parent.attempt + 1;
	for (uint32_t i = 1; !snapshot_id_is_none(parent) && i <= ORPHAN_SAVES_MOST; i++)
		prefixes[count++] =
			text_format("packs/%06u/%06u-", parent.attempt, parent.sequence + i);
	for (uint32_t i = first; i <= attempt; i++)
		prefixes[count++] = text_format("packs/%06u/", i);
	return count;
}

/* What the index relies on, and what it may learn of. A job may have a hundred times as many packs,
 * and this is waited for before the first byte is sent. */
static int list_useful_packs(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
			     struct store_listing *packs, struct cancel *cancel, struct err *err)
{
	const struct chunk_index *index = &storage->transfer.index;
	auto_free struct manifest_pack *known =
		memory_new((index->pack_count + 1) * sizeof(*known));
	struct manifest named = {.packs = known, .pack_count = index->pack_count};
	char *prefixes[JOB_LISTINGS_MOST + ORPHAN_SAVES_MOST + ORPHAN_ATTEMPTS_MOST];
	size_t count;
	int result;

	for (size_t i = 0; i < index->pack_count; i++)
		known[i] = (struct manifest_pack){index->packs[i].key, index->packs[i].bytes};
	count = job_records_named_prefixes(&named, prefixes);
	count += add_orphan_prefixes(parent, attempt, &prefixes[count]);
	result = job_records_list_prefixes(storage, prefixes, count, packs, cancel, err);
	while (count > 0)
		free(prefixes[--count]);
	return result;
}

/* The index keeps only packs that the store lists and that nobody has found damaged. Those that are
 * lost later are found before the commit. */
int index_warmup(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		 struct cancel *cancel, struct err *err)
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
	if (list_useful_packs(storage, parent, attempt, &packs, cancel, err) < 0 ||
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
