/* Who of several processes has come to its end: an object each, since a store has nothing else that several may add to. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "job_records.h"

#include <stdlib.h>
#include <string.h>

AUTO(struct store_listing, store_listing_release);

int storage_sign(struct storage *storage, const char *roll, const char *name, struct cancel *cancel,
	struct err *err)
{
	auto_free char *key = text_format("tmp/roll-%s-%s", roll, name);

	return storage->transfer.store->ops->put(storage->transfer.store, key, "\n", 1, STORE_UNIQUE, cancel, err);
}

int storage_read_roll(struct storage *storage, const char *roll, struct storage_roll *signed_by,
	struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("tmp/roll-%s-", roll);
	auto_(store_listing_release) struct store_listing listing = {0};

	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &listing, cancel, err) < 0)
		return -1;
	signed_by->names = memory_grow(NULL, listing.count + 1, sizeof(*signed_by->names));
	for (size_t i = 0; i < listing.count; i++)
		signed_by->names[signed_by->count++] =
			text_copy(listing.items[i].key + strlen(prefix));
	return 0;
}

void storage_roll_release(struct storage_roll *roll)
{
	for (size_t i = 0; i < roll->count; i++)
		free(roll->names[i]);
	free(roll->names);
	*roll = (struct storage_roll){0};
}
