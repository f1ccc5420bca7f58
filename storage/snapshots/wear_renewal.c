#include "wear_renewal.h"

#include "base/cleanup.h"

#include <stdlib.h>

#define POLL_EVERY_MS 20

struct renewal {
	struct storage *storage;
	const struct file_reader_request *reading;
	struct pack_wear *packs; /* one for each of the index */
	uint64_t used, dead;
	struct pack_wear_bounds bounds;
	/* For each item of the tree: its chunks as they were, if it is read once more; or NULL. */
	struct chunk **before;
	unsigned chunks_sent, chunks_kept;
};

static void renewal_release(struct renewal *renewal)
{
	for (size_t i = 0; renewal->before && i < renewal->reading->tree->count; i++)
		free(renewal->before[i]);
	free(renewal->before);
	free(renewal->packs);
}
AUTO(struct renewal, renewal_release);

/* --- what the snapshot needs --- */

static int compare_places(const void *a, const void *b)
{
	const struct chunk *first = *(const struct chunk *const *)a;
	const struct chunk *second = *(const struct chunk *const *)b;

	if (first->pack != second->pack)
		return first->pack < second->pack ? -1 : 1;
	return first->offset < second->offset ? -1 : first->offset > second->offset;
}

static void add_needed(const struct chunk **needed, size_t *count, const struct chunk *chunks,
		       size_t chunk_count)
{
	for (size_t i = 0; i < chunk_count; i++)
		if (chunks[i].codec != CHUNK_ZERO)
			needed[(*count)++] = &chunks[i];
}

/* Those of the files; and of the list as it was, most of which stays. */
static size_t list_needed(const struct renewal *renewal, const struct chunk ***result)
{
	const struct file_tree *tree = renewal->reading->tree;
	const struct chunk_index *index = &renewal->storage->transfer.index;
	size_t most = index->piece_count, count = 0;

	for (size_t i = 0; i < tree->count; i++)
		if (tree->items[i].entry.type == ENTRY_FILE)
			most += chunk_count(tree->items[i].entry.size);
	*result = memory_new((most + 1) * sizeof(**result));
	for (size_t i = 0; i < tree->count; i++)
		if (tree->items[i].entry.type == ENTRY_FILE)
			add_needed(*result, &count, tree->items[i].entry.chunks,
				   chunk_count(tree->items[i].entry.size));
	add_needed(*result, &count, index->pieces, index->piece_count);
	qsort(*result, count, sizeof(**result), compare_places);
	return count;
}

/* Of what the list as it was has in a pack that is no base any more, nothing is needed. */
static void add_use(struct renewal *renewal, const struct chunk *chunk)
{
	const struct chunk_index *index = &renewal->storage->transfer.index;

	if (chunk_index_is_base(&index->packs[chunk->pack]))
		pack_wear_add_chunk(&renewal->packs[chunk->pack], chunk->stored);
}

/* A pack that is on its way is needed as it is; of one that nothing is needed of, the manifest
 * does not name. */
static void measure_packs(struct renewal *renewal)
{
	struct chunk_index *index = &renewal->storage->transfer.index;
	auto_free const struct chunk **needed = NULL;
	size_t count = list_needed(renewal, &needed);

	renewal->packs = memory_new((index->pack_count + 1) * sizeof(*renewal->packs));
	/* Packs that are on their way arrive meanwhile. */
	pthread_mutex_lock(&index->mutex);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || compare_places(&needed[i - 1], &needed[i]) != 0)
			add_use(renewal, needed[i]);
	for (size_t i = 0; i < index->pack_count; i++) {
		struct pack_wear *pack = &renewal->packs[i];

		renewal->used += pack->used;
		if (pack->used == 0)
			continue;
		pack->bytes = index->packs[i].state == CHUNK_INDEX_PACK_STORED
				      ? index->packs[i].bytes
				      : pack->used;
		renewal->dead += pack->bytes > pack->used ? pack->bytes - pack->used : 0;
	}
	pthread_mutex_unlock(&index->mutex);
}

/* --- what room the store has --- */

static bool read_free(const struct renewal *renewal, uint64_t *bytes)
{
	struct store *store = renewal->storage->transfer.store;

	return store->ops->read_free && store->ops->read_free(store, bytes);
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* What is known without asking the store. */
static uint64_t stored_bytes(struct chunk_index *index)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&index->mutex);
	for (size_t i = 0; i < index->pack_count; i++)
		if (index->packs[i].state == CHUNK_INDEX_PACK_STORED)
			bytes = add_up(bytes, index->packs[i].bytes);
	pthread_mutex_unlock(&index->mutex);
	return bytes;
}

static int wait_until_sent(const struct renewal *renewal, struct err *err)
{
	const struct packing *packing = renewal->reading->packing;

	while (!pack_uploader_wait(packing->uploader, POLL_EVERY_MS))
		pack_uploader_poll(packing->uploader, packing->cancel);
	return pack_uploader_check(packing->uploader, err);
}

/*
 * What no snapshot needs any more counts as free: a save that finds the store full for it has it
 * removed. So all packs are listed, but only where it is not plain that there is enough.
 */
static int learn_room(struct renewal *renewal, struct err *err)
{
	struct storage *storage = renewal->storage;
	struct pack_wear_bounds *bounds = &renewal->bounds;
	auto_(store_listing_release) struct store_listing packs = {0};
	uint64_t left, room = 0, reserve = pack_wear_reserve(renewal->used);

	if (!read_free(renewal, &left) ||
	    add_up(left, stored_bytes(&storage->transfer.index)) >=
		    pack_wear_room(renewal->used, renewal->dead, bounds->kept))
		return 0;
	if (wait_until_sent(renewal, err) < 0 ||
	    pack_listing_get_all(storage, &packs, renewal->reading->packing->cancel, err) < 0)
		return -1;
	if (!read_free(renewal, &left))
		return 0;
	for (size_t i = 0; i < packs.count; i++)
		room = add_up(room, packs.items[i].size);
	bounds->room = add_up(room, left);
	bounds->left = left > reserve ? left - reserve : 0;
	return 0;
}

/* --- once more --- */

static void set_aside(struct renewal *renewal)
{
	struct file_tree *tree = renewal->reading->tree;
	struct packing *packing = renewal->reading->packing;

	renewal->before = memory_new((tree->count + 1) * sizeof(struct chunk *));
	renewal->chunks_sent = atomic_load(&packing->chunks_sent);
	renewal->chunks_kept = atomic_load(&packing->chunks_kept);
	for (size_t i = 0; i < tree->count; i++) {
		struct file_tree_item *item = &tree->items[i];
		size_t count = chunk_count(item->entry.size);

		if (item->entry.type != ENTRY_FILE || !item->read || count == 0 ||
		    chunk_index_has_all(&renewal->storage->transfer.index, item->entry.chunks,
					count))
			continue;
		for (size_t j = 0; j < count; j++)
			if (item->entry.chunks[j].codec != CHUNK_ZERO)
				atomic_fetch_sub(&packing->chunks_kept, 1);
		renewal->before[i] = steal(&item->entry.chunks);
		item->read = false;
	}
}

/* One is not what it was, or there is a deadline now. */
static bool lacks_one(const struct renewal *renewal)
{
	const struct file_tree *tree = renewal->reading->tree;

	for (size_t i = 0; i < tree->count; i++)
		if (renewal->before[i] && !tree->items[i].read)
			return true;
	return false;
}

/* Each was read to its end before. The next save reads it in any case. */
static void put_back(struct renewal *renewal)
{
	struct file_tree *tree = renewal->reading->tree;
	struct packing *packing = renewal->reading->packing;

	for (size_t i = 0; i < tree->count; i++) {
		struct file_tree_item *item = &tree->items[i];

		if (!renewal->before[i])
			continue;
		free(item->entry.chunks);
		item->entry.chunks = steal(&renewal->before[i]);
		item->read = item->unsettled = true;
		item->lost = false;
	}
	atomic_store(&packing->chunks_sent, renewal->chunks_sent);
	atomic_store(&packing->chunks_kept, renewal->chunks_kept);
	chunk_index_spare_packs(&renewal->storage->transfer.index);
}

static int read_again(struct renewal *renewal, struct err *err)
{
	struct pack_uploader *uploader = renewal->reading->packing->uploader;
	struct err own = {0};

	set_aside(renewal);
	if (file_reader_run(renewal->reading, &own) < 0 &&
	    (own.kind != ERR_RETRY || pack_uploader_check(uploader, NULL) < 0)) {
		if (err)
			*err = own;
		return -1;
	}
	if (lacks_one(renewal))
		put_back(renewal);
	return 0;
}

int wear_renewal_run(struct storage *storage, const struct file_reader_request *reading,
		     uint32_t keep_last, struct err *err)
{
	auto_(renewal_release) struct renewal renewal = {
		.storage = storage,
		.reading = reading,
		/* Pins, and what the attempt has started from, are more. */
		.bounds.kept = keep_last > storage->snapshots ? keep_last : storage->snapshots,
	};
	struct chunk_index *index = &storage->transfer.index;
	uint64_t given_up;

	if (keep_last == 0 || storage->snapshots == 0 || storage_is_member(storage) ||
	    atomic_load(&storage->transfer.urgent))
		return 0;
	measure_packs(&renewal);
	if (learn_room(&renewal, err) < 0)
		return -1;
	given_up = pack_wear_decide(renewal.packs, index->pack_count, &renewal.bounds);
	if (given_up == 0)
		return 0;
	chunk_index_give_up(index, renewal.packs, given_up);
	return read_again(&renewal, err);
}
