#include "catalogue_cache.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static int list_catalogues(struct storage *storage, struct store_listing *found, uint32_t *newest,
			   struct cancel *cancel)
{
	auto_free char *prefix = text_format("jobs/%s/catalogues/", storage->transfer.job);
	uint32_t number;

	*newest = 0;
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, found,
					       cancel, NULL) < 0)
		return -1;
	for (size_t i = 0; i < found->count; i++)
		if (job_record_parse_number(found->items[i].key + strlen(prefix), &number) &&
		    number > *newest)
			*newest = number;
	return 0;
}

static void read_newest(struct storage *storage, struct cancel *cancel)
{
	auto_(store_listing_release) struct store_listing found = {0};
	auto_json json_t *body = NULL;
	auto_free char *key = NULL;
	struct err err = {0};
	uint32_t newest;

	if (list_catalogues(storage, &found, &newest, cancel) < 0 || newest == 0)
		return;
	key = job_record_key_catalogue(storage, newest);
	if (job_record_get(storage->transfer.store, key, RECORD_CATALOGUE, &body, cancel, &err) ==
	    0)
		(void)snapshot_catalogue_decode(body, &storage->catalogue, &err);
}

void catalogue_cache_load(struct storage *storage, const struct job_listing *listing,
			  struct cancel *cancel)
{
	const struct lineage *lineage = &listing->lineage;
	const struct snapshot_catalogue *catalogue = &storage->catalogue;

	if (!storage->catalogue_loaded && lineage->snapshot_count > CATALOGUE_LEAST) {
		/* What this process knows by itself is in the other one, or is read again. */
		snapshot_catalogue_release(&storage->catalogue);
		read_newest(storage, cancel);
		storage->catalogue_loaded = true;
	}
	/* A job that saves and forgets for weeks must not remember all of it. */
	if (catalogue->count > 2 * (lineage->snapshot_count + CATALOGUE_LEAST))
		snapshot_catalogue_keep(&storage->catalogue, lineage->snapshots,
					lineage->snapshot_count);
}

/* How many of the snapshots the catalogue in the store lacks, and how many it has too many. */
static size_t count_differences(const struct snapshot_catalogue *catalogue,
				const struct snapshot_id *ids, size_t count)
{
	size_t lacking = 0, stored = 0, needed = 0, next = 0;

	for (size_t i = 0; i < catalogue->count; i++) {
		struct snapshot_id id = catalogue->entries[i]->info.id;
		bool there;

		while (next < count && snapshot_id_compare(ids[next], id) < 0)
			next++;
		there = next < count && snapshot_id_compare(ids[next], id) == 0;
		lacking += there && !catalogue->entries[i]->stored;
		stored += catalogue->entries[i]->stored;
		needed += there && catalogue->entries[i]->stored;
	}
	return lacking > stored - needed ? lacking : stored - needed;
}

static json_t *catalogue_body(struct storage *storage)
{
	json_t *body = snapshot_catalogue_encode(&storage->catalogue);
	char nonce[33], created[32];

	if (!body)
		return NULL;
	random_hex(nonce);
	json_object_set_new(body, "nonce", json_string(nonce));
	json_object_set_new(body, "created",
			    json_string(clock_format(clock_wall_ms(), created, sizeof(created))));
	return body;
}

void catalogue_cache_store(struct storage *storage, const struct snapshot_id *ids, size_t count,
			   struct cancel *cancel)
{
	auto_(store_listing_release) struct store_listing older = {0};
	auto_json json_t *body = NULL;
	auto_free char *key = NULL;
	struct store *store = storage->transfer.store;
	uint32_t newest;

	if (storage->read_only || count <= CATALOGUE_LEAST ||
	    count_differences(&storage->catalogue, ids, count) < CATALOGUE_LEAST ||
	    list_catalogues(storage, &older, &newest, cancel) < 0)
		return;
	snapshot_catalogue_keep(&storage->catalogue, ids, count);
	body = catalogue_body(storage);
	key = job_record_key_catalogue(storage, newest + 1);
	fault_point("before_catalogue_put");
	if (!body || job_record_put(store, key, RECORD_CATALOGUE, body, NULL, cancel, NULL) < 0)
		return;
	fault_point("after_catalogue_put");
	for (size_t i = 0; i < storage->catalogue.count; i++)
		storage->catalogue.entries[i]->stored = true;
	for (size_t i = 0; i < older.count; i++)
		store->ops->remove(store, older.items[i].key, cancel, NULL);
}
