#include "store_clock.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "storage/backend/backend.h"

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
