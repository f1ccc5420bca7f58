#include "pack_aside.h"

#include "base/cleanup.h"
#include "job_records.h"
#include "storage/format/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
