/* Records which of several processes has arrived at the end. Each puts an object of its own,
 * because a store has nothing that several writers could append to. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "storage/records/records.h"

#include <stdlib.h>
#include <string.h>

int storage_barrier_arrive(struct storage *storage, const char *barrier, const char *name,
			   struct cancel *cancel, struct err *err)
{
	auto_free char *key = text_format("tmp/barrier-%s-%s", barrier, name);

	return storage->transfer.store->ops->put(storage->transfer.store, key, "\n", 1,
						 STORE_UNIQUE, cancel, err);
}

int storage_barrier_read(struct storage *storage, const char *barrier,
			 struct storage_barrier_arrivals *arrivals, struct cancel *cancel,
			 struct err *err)
{
	auto_free char *prefix = text_format("tmp/barrier-%s-", barrier);
	auto_(store_listing_release) struct store_listing listing = {0};

	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &listing,
					       cancel, err) < 0)
		return -1;
	arrivals->names = memory_grow(NULL, listing.count + 1, sizeof(*arrivals->names));
	for (size_t i = 0; i < listing.count; i++)
		arrivals->names[arrivals->count++] =
			text_copy(listing.items[i].key + strlen(prefix));
	return 0;
}

void storage_barrier_release(struct storage_barrier_arrivals *barrier)
{
	for (size_t i = 0; i < barrier->count; i++)
		free(barrier->names[i]);
	free(barrier->names);
	*barrier = (struct storage_barrier_arrivals){0};
}
