#include "snapshots.h"

#include "base/cleanup.h"
#include "base/workers.h"
#include "orphan_packs.h"
#include "storage/records/records.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Where orphaned packs are looked for. Those of others are sent again, and collected in time. */
#define ORPHAN_SAVES_MOST 2
#define ORPHAN_ATTEMPTS_MOST 4
/* In larger gangs nobody looks for them: each member would read what all of them have left. */
#define ORPHAN_MEMBERS_MOST 16
#define POLL_EVERY_MS 10

/* The listing of the packs that the parent names, on a thread of its own. */
struct index_listing {
	struct storage *storage;
	pthread_t thread;
	bool threaded; /* else it was done here and now: no thread could be had */
	char *prefixes[PACK_LISTINGS_MOST];
	size_t count;
	struct cancel cancel;
	struct store_listing packs;
	int result;
	struct err err;
	atomic_bool done;
};

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

/* And what is set aside, which counts as lost. */
static int list_orphans(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
			struct store_listing *packs, struct cancel *cancel, struct err *err)
{
	struct chunk_index *index = &storage->transfer.index;
	char *prefixes[ORPHAN_SAVES_MOST + ORPHAN_ATTEMPTS_MOST];
	size_t count = storage->gang.members > ORPHAN_MEMBERS_MOST
			       ? 0
			       : add_orphan_prefixes(storage, parent, attempt, prefixes);
	int result = pack_listing_get_prefixes(storage, prefixes, count, true, packs, cancel, err);

	while (count > 0)
		free(prefixes[--count]);
	if (result < 0)
		return -1;
	for (size_t i = 0; i < index->pack_count; i++)
		if (pack_aside_has(storage, index->packs[i].key))
			chunk_index_pack_lost(index, (uint32_t)i);
	chunk_index_apply_listing(index, "", NULL);
	return 0;
}

/* They are few, and known before the first byte is sent: what they hold is not sent again. */
static int load_orphans(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
			struct cancel *cancel, struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};
	struct snapshot_id behind = storage->newest_at_claim;

	if (list_orphans(storage, parent, attempt, &packs, cancel, err) < 0)
		return -1;
	/* A pack for an older one than the newest may be garbage to a collection under way. */
	if (snapshot_id_compare(parent, behind) > 0)
		behind = parent;
	if (storage->swept_at_claim > 0 && behind.attempt <= storage->swept_at_claim)
		behind = (struct snapshot_id){storage->swept_at_claim, UINT32_MAX};
	return orphan_packs_load(storage, &packs, behind, cancel, err);
}

/* --- listing --- */

static void *list_named_packs(void *arg)
{
	struct index_listing *listing = arg;

	listing->result =
		pack_listing_get_prefixes(listing->storage, listing->prefixes, listing->count,
					  false, &listing->packs, &listing->cancel, &listing->err);
	atomic_store(&listing->done, true);
	return NULL;
}

static void release_listing(struct index_listing *listing)
{
	while (listing->count > 0)
		free(listing->prefixes[--listing->count]);
	store_listing_release(&listing->packs);
	cancel_release(&listing->cancel);
	free(listing);
}

/* A job may have a hundred times as many packs as the index relies on, and these may be many, too:
 * the first byte is sent meanwhile. */
static int begin_listing(struct storage *storage, struct err *err)
{
	const struct chunk_index *index = &storage->transfer.index;
	auto_free struct manifest_pack *known =
		memory_new((index->pack_count + 1) * sizeof(*known));
	struct manifest named = {.packs = known, .pack_count = index->pack_count};
	struct index_listing *listing;

	if (chunk_index_is_empty(index))
		return 0;
	listing = memory_new(sizeof(*listing));
	listing->storage = storage;
	if (cancel_init(&listing->cancel, err) < 0) {
		free(listing);
		return -1;
	}
	for (size_t i = 0; i < index->pack_count; i++)
		known[i] = (struct manifest_pack){index->packs[i].key, index->packs[i].bytes};
	listing->count = pack_listing_named_prefixes(storage, &named, listing->prefixes);
	chunk_index_begin_listing(&storage->transfer.index);
	storage->listing = listing;
	listing->threaded = parallel_start(&listing->thread, list_named_packs, listing) == 0;
	if (!listing->threaded)
		list_named_packs(listing);
	return 0;
}

/* --- the whole --- */

/* The index keeps only packs that the store lists. Those that are lost later are found before the
 * commit. */
int index_warmup(struct storage *storage, struct snapshot_id parent, uint32_t attempt,
		 struct cancel *cancel, struct err *err)
{
	/* Within one process the index is current: its own packs were put by this process, or
	 * looked up. */
	if (storage->warmed) {
		chunk_index_apply_listing(&storage->transfer.index, "", NULL);
		return 0;
	}
	/* A new process knows nothing yet: the parent's manifest names the chunks of the newest
	 * checkpoint. */
	if (load_parent(storage, parent, cancel, err) < 0 || begin_listing(storage, err) < 0)
		return -1;
	if (load_orphans(storage, parent, attempt, cancel, err) < 0) {
		index_warmup_end(storage);
		return -1;
	}
	storage->warmed = true;
	return 0;
}

static void end_thread(struct index_listing *listing)
{
	if (listing->threaded)
		pthread_join(listing->thread, NULL);
}

int index_warmup_join(struct storage *storage, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/", storage->transfer.job);
	struct index_listing *listing = storage->listing;
	int result = 0;

	if (!listing)
		return 0;
	while (result == 0 && !atomic_load(&listing->done))
		result = cancel_sleep(cancel, POLL_EVERY_MS, err);
	if (result < 0)
		cancel_raise(&listing->cancel);
	end_thread(listing);
	if (result == 0 && listing->result < 0) {
		result = -1;
		if (err)
			*err = listing->err;
	}
	if (result == 0)
		chunk_index_apply_listing(&storage->transfer.index, prefix, &listing->packs);
	else
		storage->warmed = false;
	storage->listing = NULL;
	release_listing(listing);
	return result;
}

void index_warmup_end(struct storage *storage)
{
	struct index_listing *listing = storage->listing;

	if (!listing)
		return;
	cancel_raise(&listing->cancel);
	end_thread(listing);
	release_listing(listing);
	storage->listing = NULL;
	storage->warmed = false;
}
