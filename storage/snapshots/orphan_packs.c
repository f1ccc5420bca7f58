#include "snapshots.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/workers.h"
#include "forget.h"
#include "storage/format/format.h"

#include <stdlib.h>
#include <string.h>

#define ORPHANS_MOST 4096
#define TIME_LIMIT_MS 5000
#define THREADS_MOST 16
/* Holds the index of a pack of large chunks; a pack of many small ones needs a second request. */
#define TAIL_SIZE ((uint64_t)8 << 10)

struct search {
	struct storage *storage;
	struct cancel *cancel;
	const struct store_object **chosen;
	size_t count;
	size_t prefix_length; /* length of "jobs/<job>/" */
	int64_t until_ms;
};

/* --- choosing --- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t orphan_packs_select(const struct store_listing *packs, const char *prefix,
			   struct snapshot_id behind, struct chunk_index *index,
			   const struct store_object **chosen, size_t most)
{
	auto_free const char **known = memory_new((index->pack_count + 1) * sizeof(*known));
	size_t count = 0;

	for (size_t i = 0; i < index->pack_count; i++)
		known[i] = index->packs[i].key;
	qsort(known, index->pack_count, sizeof(*known), compare_texts);
	/* The listing is sorted by key, so the newest attempts and sequences are at its end. */
	for (size_t i = packs->count; i > 0 && count < most; i--) {
		const struct store_object *pack = &packs->items[i - 1];
		const char *key = pack->key + strlen(prefix);
		struct snapshot_id id = retention_pack_id(key);

		if (snapshot_id_is_none(id))
			continue;
		if (snapshot_id_compare(id, behind) <= 0)
			break;
		if (pack->size > PACK_MAGIC_SIZE + PACK_FOOTER_SIZE &&
		    pack->size <= PACK_CAPACITY &&
		    !bsearch(&key, known, index->pack_count, sizeof(*known), compare_texts))
			chosen[count++] = pack;
	}
	return count;
}

int64_t orphan_packs_time_limit_ms(int64_t left_ms)
{
	return left_ms == CLOCK_NEVER || left_ms / 10 > TIME_LIMIT_MS
		       ? TIME_LIMIT_MS
		       : left_ms / 10;
}

/* --- reading --- */

static int read_tail(struct search *search, const struct store_object *pack, uint64_t size,
		     struct bytes *tail)
{
	struct store *store = search->storage->transfer.store;

	tail->size = 0;
	return store->ops->get(store, pack->key, pack->size - size, (size_t)size, tail,
			       search->cancel, NULL);
}

static void add_to_index(struct search *search, const struct store_object *pack,
			 const struct pack_record *records, uint32_t count)
{
	struct chunk_index *index = &search->storage->transfer.index;
	uint32_t number =
		chunk_index_add_orphan(index, pack->key + search->prefix_length, pack->size);

	for (uint32_t i = 0; i < count; i++) {
		struct chunk chunk = {
			.pack = number,
			.offset = records[i].offset,
			.stored = records[i].stored,
			.codec = records[i].codec,
		};

		memcpy(chunk.digest, records[i].digest, DIGEST_SIZE);
		chunk_index_add(index, &chunk);
	}
}

/* -1: the time is over. A pack that cannot be read is left out. */
static int load_pack_index(void *arg, size_t at, struct err *err)
{
	struct search *search = arg;
	const struct store_object *pack = search->chosen[at];
	auto_(bytes_release) struct bytes tail = {0};
	auto_free struct pack_record *records = NULL;
	uint64_t size = pack->size < TAIL_SIZE ? pack->size : TAIL_SIZE, needed;
	uint32_t count;

	(void)err;
	if (cancel_raised(search->cancel) || clock_monotonic_ms() >= search->until_ms)
		return -1;
	if (read_tail(search, pack, size, &tail) < 0 ||
	    pack_read_footer(tail.data + size - PACK_FOOTER_SIZE, pack->size, &count, NULL) < 0)
		return 0;
	needed = (uint64_t)count * PACK_RECORD_SIZE + PACK_FOOTER_SIZE;
	if (needed > size && read_tail(search, pack, size = needed, &tail) < 0)
		return 0;
	records = memory_new((count + (size_t)1) * sizeof(*records));
	if (pack_read_index(tail.data + size - needed, count, pack->size, records, NULL) == 0)
		add_to_index(search, pack, records, count);
	return 0;
}

int orphan_packs_load(struct storage *storage, const struct store_listing *packs,
		      struct snapshot_id behind, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/", storage->transfer.job);
	auto_free const struct store_object **chosen = memory_new(ORPHANS_MOST * sizeof(*chosen));
	int64_t left_ms = cancel ? cancel_left_ms(cancel) : CLOCK_NEVER;
	struct search search = {
		.storage = storage,
		.cancel = cancel,
		.chosen = chosen,
		.count = orphan_packs_select(packs, prefix, behind, &storage->transfer.index,
					     chosen, ORPHANS_MOST),
		.prefix_length = strlen(prefix),
		.until_ms = clock_monotonic_ms() + orphan_packs_time_limit_ms(left_ms),
	};

	(void)parallel_each(search.count, THREADS_MOST, load_pack_index, &search, NULL);
	return cancel_check(cancel, err);
}
