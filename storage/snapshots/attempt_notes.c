/* Keeps events, log and metrics of an attempt for people and reports. No decision depends on
 * them. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "job_records.h"

#include <stdlib.h>

static char *note_key_prefix(const struct storage *storage, uint32_t attempt, const char *kind)
{
	return text_format("jobs/%s/notes/%06u/%s-", storage->transfer.job, attempt, kind);
}

int storage_put_note(struct storage *storage, uint32_t attempt, const char *kind, unsigned part,
		     const void *data, size_t size, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = note_key_prefix(storage, attempt, kind);
	auto_free char *key = text_format("%s%04u", prefix, part);

	return storage->transfer.store->ops->put(storage->transfer.store, key, data, size,
						 STORE_UNIQUE, cancel, err);
}

int storage_get_notes(struct storage *storage, uint32_t attempt, const char *kind,
		      struct bytes *out, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = note_key_prefix(storage, attempt, kind);
	auto_(store_listing_release) struct store_listing listing = {0};

	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &listing,
					       cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < listing.count; i++)
		if (storage->transfer.store->ops->get(storage->transfer.store, listing.items[i].key,
						      0, STORE_TO_END, out, cancel, err) < 0)
			return -1;
	return 0;
}
