#include "pack_listing.h"

#include "ask.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "job_records.h"
#include "storage/format/format.h"
#include "storage/storage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The time by the store's own clock. The age of an object is the difference of two times
 * of that clock: our own clock may be wrong.
 */

/* A pack's age is the difference of two times of the store's clock: our own clock may be wrong. */
int store_clock_read(struct storage *storage, int64_t *now_ms, struct cancel *cancel,
		     struct err *err)
{
	struct store *store = storage->transfer.store;
	auto_(store_listing_release) struct store_listing found = {0};
	auto_free char *key = NULL;
	char nonce[33];

	random_hex(nonce);
	key = text_format("tmp/clock-%s", nonce);
	if (store->ops->put(store, key, "now\n", 4, STORE_UNIQUE, cancel, err) < 0)
		return err_wrap(err, "cannot write to the store");
	if (store->ops->list(store, key, STORE_ALL, &found, cancel, err) < 0) {
		store->ops->remove(store, key, NULL, NULL);
		return -1;
	}
	*now_ms = found.count == 1 ? found.items[0].modified_ms : 0;
	return store->ops->remove(store, key, cancel, err);
}

void store_clock_remove_temporaries(struct storage *storage, int64_t now_ms, struct cancel *cancel)
{
	struct store *store = storage->transfer.store;
	auto_(store_listing_release) struct store_listing found = {0};

	if (now_ms <= 0 || store->ops->list(store, "tmp/", STORE_ALL, &found, cancel, NULL) < 0)
		return;
	for (size_t i = 0; i < found.count; i++)
		if (found.items[i].modified_ms > 0 &&
		    found.items[i].modified_ms < now_ms - GARBAGE_AGE_MS)
			store->ops->remove(store, found.items[i].key, cancel, NULL);
}

int pack_listing_get_all(struct storage *storage, struct store_listing *packs,
			 struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/packs/", storage->transfer.job);

	return job_records_list_keys(storage, prefix, packs, cancel, err);
}

static int ask_prefix(struct storage *storage, const void *about, void *answer,
		      struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = transfer_pack_key(&storage->transfer, about);
	struct store *store = storage->transfer.store;

	return store->ops->list(store, prefix, STORE_ALL, answer, cancel, err);
}

static int ask_aside(struct storage *storage, const void *about, void *answer,
		     struct cancel *cancel, struct err *err)
{
	(void)about, (void)answer;
	return pack_aside_list(storage, cancel, err);
}

/* Moves the objects into `packs`, which stays sorted and has each once. */
static void merge_listings(struct store_listing *found, size_t count, struct store_listing *packs)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < found[i].count; j++)
			store_listing_add_dated(packs, found[i].items[j].key,
						found[i].items[j].size,
						found[i].items[j].modified_ms);
	store_listing_sort(packs);
	for (size_t i = 0; i < packs->count; i++) {
		if (kept > 0 && text_equal(packs->items[i].key, packs->items[kept - 1].key))
			free(packs->items[i].key);
		else
			packs->items[kept++] = packs->items[i];
	}
	packs->count = kept;
}

int pack_listing_get_prefixes(struct storage *storage, char *const *prefixes, size_t count,
			      bool aside, struct store_listing *packs, struct cancel *cancel,
			      struct err *err)
{
	auto_free struct store_listing *found = memory_new((count + 1) * sizeof(*found));
	auto_free struct question *questions = memory_new((count + 1) * sizeof(*questions));
	int result;

	for (size_t i = 0; i < count; i++)
		questions[i] = (struct question){ask_prefix, prefixes[i], &found[i]};
	questions[count] = (struct question){ask_aside, NULL, NULL};
	result = ask_at_once(storage, questions, count + aside, cancel, err);
	if (result == 0)
		merge_listings(found, count, packs);
	for (size_t i = 0; i < count; i++)
		store_listing_release(&found[i]);
	return result;
}

/* The length up to so many of the separators in "packs/000001/000002-<nonce>-3": 2 is an attempt's
 * prefix, 3 a save's, 4 all but the number of the pack. */
static size_t prefix_length(const char *pack, int separators)
{
	size_t length = 0;

	while (separators-- > 0 && pack[length]) {
		length += strcspn(pack + length, "/-");
		length += pack[length] != '\0';
	}
	return length;
}

/* The different prefixes of what the manifest names; PACK_LISTINGS_MOST + 1: there are more. */
static size_t find_prefixes(const struct manifest *manifest, int separators,
			    char *prefixes[PACK_LISTINGS_MOST])
{
	size_t count = 0;

	for (size_t i = 0; i < manifest->pack_count; i++) {
		const char *key = manifest->packs[i].key;
		size_t length = prefix_length(key, separators), known = 0;

		while (known < count && (strncmp(prefixes[known], key, length) != 0 ||
					 prefixes[known][length] != '\0'))
			known++;
		if (known < count)
			continue;
		if (count == PACK_LISTINGS_MOST) {
			while (count > 0)
				free(prefixes[--count]);
			return PACK_LISTINGS_MOST + 1;
		}
		prefixes[count++] = text_copy_n(key, length);
	}
	return count;
}

size_t pack_listing_named_prefixes(const struct storage *storage, const struct manifest *manifest,
				   char *prefixes[PACK_LISTINGS_MOST])
{
	size_t count = PACK_LISTINGS_MOST + 1;

	/* The packs of all members have the number of the round. */
	for (int separators = storage_is_member(storage) ? 4 : 3;
	     separators >= 2 && count > PACK_LISTINGS_MOST; separators--)
		count = find_prefixes(manifest, separators, prefixes);
	if (count <= PACK_LISTINGS_MOST)
		return count;
	prefixes[0] = text_copy("packs/");
	return 1;
}

int pack_listing_get_named(struct storage *storage, const struct manifest *manifest,
			   struct store_listing *packs, struct cancel *cancel, struct err *err)
{
	char *prefixes[PACK_LISTINGS_MOST];
	size_t count = pack_listing_named_prefixes(storage, manifest, prefixes);
	int result = pack_listing_get_prefixes(storage, prefixes, count, true, packs, cancel, err);

	while (count > 0)
		free(prefixes[--count]);
	return result;
}

/* 1: it exists by name, with its last byte, and was listed late; 0: it is missing. */
static int is_unlisted(struct storage *storage, const char *key, uint64_t size, struct err *err)
{
	auto_(bytes_release) struct bytes last = {0};
	struct store *store = storage->transfer.store;
	struct err why = {0};

	if (size == 0 || !job_record_lists_late(storage))
		return 0;
	if (store->ops->get(store, key, size - 1, 1, &last, NULL, &why) == 0)
		return 1;
	return why.kind == ERR_NOT_FOUND || why.kind == ERR_CORRUPT ? 0 : err_pass(err, &why);
}

int pack_listing_check(struct storage *storage, const struct manifest *manifest,
		       const struct store_listing *packs, struct err *err)
{
	for (size_t i = 0; i < manifest->pack_count; i++) {
		auto_free char *key = transfer_pack_key(&storage->transfer, manifest->packs[i].key);
		const struct store_object *object = store_listing_find(packs, key);

		int there = object ? 1 : is_unlisted(storage, key, manifest->packs[i].bytes, err);

		if (there < 0)
			return -1;
		if (there == 0)
			return err_set(err, ERR_CORRUPT, "pack %s is missing", key);
		if (object && object->size != manifest->packs[i].bytes)
			return err_set(err, ERR_CORRUPT, "pack %s has %llu bytes instead of %llu",
				       key, (unsigned long long)object->size,
				       (unsigned long long)manifest->packs[i].bytes);
		if (pack_aside_has(storage, manifest->packs[i].key))
			return err_set(err, ERR_CORRUPT, "pack %s was found damaged", key);
	}
	return 0;
}

/* --- packs that are set aside --- */

/* 1: every chunk in it is what its index says; 0: not so; -1: no memory. */
static int is_whole(const char *key, struct bytes *data, struct err *err)
{
	struct whole_pack pack = {.space = malloc(CHUNK_SIZE)};
	int whole = pack.space ? 1 : err_os(err, ENOMEM, "buffer of %zu bytes", CHUNK_SIZE);

	whole_pack_reset(&pack, key);
	pack.data = *data;
	if (whole > 0 && whole_pack_check_index(&pack, NULL) < 0)
		whole = 0;
	if (whole > 0)
		whole_pack_check_chunks(&pack);
	for (uint32_t i = 0; whole > 0 && i < pack.record_count; i++)
		whole = !pack.faults[i][0];
	pack.data = (struct bytes){0};
	whole_pack_release(&pack);
	return whole;
}

int pack_aside_list(struct storage *storage, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/damaged/", storage->transfer.job);

	store_listing_release(&storage->aside);
	return job_records_list_keys(storage, prefix, &storage->aside, cancel, err);
}

bool pack_aside_has(const struct storage *storage, const char *pack)
{
	auto_free char *aside =
		storage->aside.count ? transfer_aside_key(&storage->transfer, pack) : NULL;

	return aside && store_listing_find(&storage->aside, aside);
}

int pack_aside_put(struct storage *storage, const char *pack, struct cancel *cancel,
		   struct err *err)
{
	auto_free char *aside = transfer_aside_key(&storage->transfer, pack);
	struct err own = {0};

	chunk_index_key_lost(&storage->transfer.index, pack);
	if (storage->transfer.store->ops->put(storage->transfer.store, aside, "\n", 1,
					      STORE_IF_ABSENT, cancel, &own) == 0 ||
	    own.kind == ERR_EXISTS)
		return 0;
	err_pass(err, &own);
	return err_wrap(err, "cannot set aside the damaged pack %s", pack);
}

void pack_aside_note(struct storage *storage, const char *pack, struct cancel *cancel)
{
	auto_free char *key = transfer_pack_key(&storage->transfer, pack);
	auto_(bytes_release) struct bytes data = {0};
	struct store *store = storage->transfer.store;

	if (!storage->read_only &&
	    store->ops->get(store, key, 0, STORE_TO_END, &data, cancel, NULL) == 0 &&
	    is_whole(key, &data, NULL) == 0)
		(void)pack_aside_put(storage, pack, cancel, NULL);
}

/* 1: it was put back. */
static int sort_out(struct storage *storage, const char *pack, bool needed, struct cancel *cancel,
		    struct err *err)
{
	auto_free char *key = transfer_pack_key(&storage->transfer, pack);
	auto_free char *aside = transfer_aside_key(&storage->transfer, pack);
	auto_(bytes_release) struct bytes data = {0};
	struct store *store = storage->transfer.store;
	int whole;

	if (!needed)
		return store->ops->remove(store, aside, cancel, err);
	if (store->ops->get(store, key, 0, STORE_TO_END, &data, cancel, err) < 0)
		return err && err->kind == ERR_NOT_FOUND ? 0 : -1;
	whole = is_whole(key, &data, err);
	if (whole <= 0)
		return whole;
	return store->ops->remove(store, aside, cancel, err) < 0 ? -1 : 1;
}

int pack_aside_sort_out(struct storage *storage, bool (*is_needed)(void *arg, const char *pack),
			void *arg, uint32_t *back, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/damaged/", storage->transfer.job);
	auto_(store_listing_release) struct store_listing aside = {0};

	*back = 0;
	if (job_records_list_keys(storage, prefix, &aside, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < aside.count; i++) {
		auto_free char *pack = text_format("packs/%s", aside.items[i].key + strlen(prefix));
		int result = sort_out(storage, pack, is_needed(arg, pack), cancel, err);

		if (result < 0)
			return -1;
		*back += (uint32_t)result;
	}
	return 0;
}
