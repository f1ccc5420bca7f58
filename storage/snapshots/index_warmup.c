#include "snapshots.h"

#include "base/cleanup.h"
#include "storage/records/records.h"

#include <stdlib.h>
#include <string.h>

/* Where orphaned packs are looked for. Those of others are sent again, and collected in time. */
#define ORPHAN_SAVES_MOST 2
#define ORPHAN_ATTEMPTS_MOST 4
/* In larger gangs nobody looks for them: each member would read what all of them have left. */
#define ORPHAN_MEMBERS_MOST 16

static int load_parent(struct storage *storage, struct snapshot_id parent, struct cancel *cancel,
		       struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err own = {0};

	if (snapshot_id_is_none(parent) || storage->transfer.index.pack_count > 0)
		return 0;
	if (job_record_get_manifest(storage, parent, &manifest, cancel, &own) == 0)
		chunk_index_replace(&storage->transfer.index, &manifest);
	else if (own.kind == ERR_CANCELLED)
		return err_pass(err, &own);
	return 0;
}

/* Those that killed attempts may have left: of the saves after the parent, and of the newest
 * attempts after it. What the attempt itself has sent is known, or is of other members. */
static size_t add_orphan_prefixes(const struct storage *storage, struct snapshot_id parent,
				  uint32_t attempt, char **prefixes)
{
	uint32_t last = storage->gang.members > 1 ? attempt - 1 : attempt;
	uint32_t first = attempt > ORPHAN_ATTEMPTS_MOST ? attempt - ORPHAN_ATTEMPTS_MOST + 1 : 1;
	size_t count = 0;

	if (first <= parent.attempt)
		first = parent.attempt + 1;
	for (uint32_t i = 1; !snapshot_id_is_none(parent) && i <= ORPHAN_SAVES_MOST; i++)
		prefixes[count++] =
			text_format("packs/%06u/%06u-", parent.attempt, parent.sequence + i);
	for (uint32_t i = first; i <= last; i++)
		prefixes[count++] = text_format("packs/%06u/", i);
	return count;
}

/* What the index names by now. */
static size_t add_named_prefixes(const struct storage *storage, char **prefixes)
{
	const struct chunk_index *index = &storage->transfer.index;
	auto_free struct manifest_pack *known =
		memory_new((index->pack_count + 1) * sizeof(*known));
	struct manifest named = {.packs = known, .pack_count = index->pack_count};

	for (size_t i = 0; i < index->pack_count; i++)
		known[i] = (struct manifest_pack){index->packs[i].key, index->packs[i].bytes};
	return named.pack_count ? pack_listing_named_prefixes(storage, &named, prefixes) : 0;
}

/* What is set aside counts as lost. */
static int list_packs(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		      struct store_listing *packs, struct cancel *cancel, struct err *err)
{
	struct chunk_index *index = &storage->transfer.index;
	auto_free char *prefix = text_format("jobs/%s/", storage->transfer.job);
	char *prefixes[PACK_LISTINGS_MOST + ORPHAN_SAVES_MOST + ORPHAN_ATTEMPTS_MOST];
	size_t count = add_named_prefixes(storage, prefixes);
	int result;

	if (storage->gang.members <= ORPHAN_MEMBERS_MOST)
		count += add_orphan_prefixes(storage, parent, attempt, prefixes + count);
	chunk_index_begin_listing(index);
	result = pack_listing_get_prefixes(storage, prefixes, count, true, packs, cancel, err);
	while (count > 0)
		free(prefixes[--count]);
	if (result < 0)
		return -1;
	for (size_t i = 0; i < index->pack_count; i++)
		if (pack_aside_has(storage, index->packs[i].key))
			chunk_index_pack_lost(index, (uint32_t)i);
	chunk_index_apply_listing(index, prefix, packs);
	return 0;
}

int index_warmup_look(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		      struct store_listing *packs, struct cancel *cancel, struct err *err)
{
	/* An earlier claim may have named another parent. */
	chunk_index_replace(&storage->transfer.index, &(struct manifest){0});
	storage->warmed = false;
	return load_parent(storage, parent, cancel, err) < 0 ||
			       list_packs(storage, parent, attempt, packs, cancel, err) < 0
		       ? -1
		       : 0;
}

/* Orphans are known before the first byte is sent: what they hold is not sent again. */
int index_warmup_finish(struct storage *storage, struct snapshot_id parent,
			const struct store_listing *packs, struct cancel *cancel, struct err *err)
{
	struct snapshot_id behind = storage->newest_at_claim;

	/* A pack for an older one than the newest may be garbage to a collection under way. */
	if (snapshot_id_compare(parent, behind) > 0)
		behind = parent;
	if (storage->swept_at_claim > 0 && behind.attempt <= storage->swept_at_claim)
		behind = (struct snapshot_id){storage->swept_at_claim, UINT32_MAX};
	if (storage->gang.members <= ORPHAN_MEMBERS_MOST &&
	    orphan_packs_load(storage, packs, behind, cancel, err) < 0)
		return -1;
	storage->warmed = true;
	return 0;
}

/* The index keeps only packs that the store lists. Those that are lost later are found before the
 * commit. */
int index_warmup(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		 struct cancel *cancel, struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};

	/* Within one process the index is current: its own packs were put by this process, or
	 * looked up. */
	if (storage->warmed) {
		chunk_index_apply_listing(&storage->transfer.index, "", NULL);
		return 0;
	}
	/* A new process knows nothing yet: the parent's manifest names the chunks of the newest
	 * checkpoint. */
	return load_parent(storage, parent, cancel, err) < 0 ||
			       list_packs(storage, parent, attempt, &packs, cancel, err) < 0 ||
			       index_warmup_finish(storage, parent, &packs, cancel, err) < 0
		       ? -1
		       : 0;
}
