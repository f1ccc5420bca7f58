#include "claim_room.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "job_records.h"
#include "storage_handle.h"

/* For a dozen small files, whatever the size of a block. */
#define ROOM_SIZE ((size_t)64 << 10)

/* Below attempts/, so that who lists the claims sees it. */
static char *room_key(const char *job)
{
	return text_format("jobs/%s/attempts/room", job);
}

/* A file system that compresses would give no room for zeros. */
static void fill_room(uint64_t seed, uint64_t *room)
{
	seed |= 1;
	for (size_t i = 0; i < ROOM_SIZE / sizeof(*room); i++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		room[i] = seed;
	}
}

void claim_room_keep(struct storage *storage, struct cancel *cancel)
{
	struct store *store = storage->transfer.store;
	auto_free char *key = room_key(storage->transfer.job);
	auto_free uint64_t *room = NULL;

	if (storage->transfer.remote)
		return;
	room = memory_new(ROOM_SIZE);
	fill_room(storage->transfer.seed, room);
	(void)store->ops->put(store, key, room, ROOM_SIZE, STORE_IF_ABSENT, cancel, NULL);
}

bool claim_room_is_listed(const struct storage *storage, const struct job_listing *listing)
{
	auto_free char *key = room_key(storage->transfer.job);

	return store_listing_find(&listing->singles, key) != NULL;
}

bool claim_room_use(struct store *store, const char *job, struct cancel *cancel)
{
	auto_(store_listing_release) struct store_listing found = {0};
	auto_free char *key = room_key(job);

	return store->ops->list(store, key, STORE_ALL, &found, cancel, NULL) == 0 &&
	       store_listing_find(&found, key) && store->ops->remove(store, key, cancel, NULL) == 0;
}
