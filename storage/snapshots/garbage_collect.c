#include "garbage_collect.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/workers.h"
#include "retention.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 16

struct sweeping {
	struct storage *storage;
	const struct survey *survey;
	const bool *gone;
	struct cancel *cancel;
	struct store_listing packs;
	bool *named;   /* per pack */
	size_t *going; /* numbers of packs */
	size_t going_count;
	atomic_size_t next;
	pthread_mutex_t mutex;
	struct sweep_result *result; /* under mutex while packs are removed, like the next two */
	bool failed;
	struct err err;
};

static void sweeping_release(struct sweeping *sweeping)
{
	store_listing_release(&sweeping->packs);
	free(sweeping->named);
	free(sweeping->going);
	pthread_mutex_destroy(&sweeping->mutex);
}
AUTO(struct sweeping, sweeping_release);
AUTO(struct survey_names, survey_names_release);
AUTO(struct store_listing, store_listing_release);

/* --- the store's clock --- */

/* Of the store alone is it known when a pack was put, so its clock says what is old. */
int sweep_ask_time(struct storage *storage, int64_t *now_ms, struct cancel *cancel, struct err *err)
{
	struct store *store = storage->transfer.store;
	auto_(store_listing_release) struct store_listing found = {0};
	auto_free char *key = NULL;
	char nonce[33];

	file_nonce(nonce);
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

/* What doctors and clocks leave behind when they are killed. Best effort. */
static void remove_temporaries(struct storage *storage, int64_t now_ms, struct cancel *cancel)
{
	struct store *store = storage->transfer.store;
	auto_(store_listing_release) struct store_listing found = {0};

	if (now_ms <= 0 || store->ops->list(store, "tmp/", STORE_ALL, &found, cancel, NULL) < 0)
		return;
	for (size_t i = 0; i < found.count; i++)
		if (found.items[i].modified_ms > 0 &&
			found.items[i].modified_ms < now_ms - SWEEP_AGE_MS)
			store->ops->remove(store, found.items[i].key, cancel, NULL);
}

/* --- what is named --- */

/* -1: none. */
static int64_t find_known(const struct survey *survey, struct snapshot_id id)
{
	for (size_t i = 0; i < survey->list.count; i++)
		if (snapshot_id_compare(survey->list.items[i].id, id) == 0)
			return (int64_t)i;
	return -1;
}

/* A manifest that cannot be read may name whatever was written for it. */
static void name_all_of(struct sweeping *sweeping, struct snapshot_id id)
{
	size_t prefix = strlen("jobs//") + strlen(sweeping->storage->transfer.job);

	for (size_t i = 0; i < sweeping->packs.count; i++)
		if (snapshot_id_compare(
			    retention_pack_id(sweeping->packs.items[i].key + prefix), id) == 0)
			sweeping->named[i] = true;
}

static void name_known(struct sweeping *sweeping, const struct survey_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		const char *key = sweeping->survey->listing.packs.items[names->packs[i]].key;
		const struct store_object *pack = store_listing_find(&sweeping->packs, key);

		if (pack)
			sweeping->named[pack - sweeping->packs.items] = true;
	}
}

static int name_packs_of(struct sweeping *sweeping, struct snapshot_id id, struct err *err)
{
	int64_t known = find_known(sweeping->survey, id);
	auto_(survey_names_release) struct survey_names names = {0};

	if (known >= 0 && sweeping->gone[known])
		return 0;
	if (known >= 0 && sweeping->survey->list.items[known].newer)
		return err_set(err, ERR_NEWER, "%s", sweeping->survey->list.items[known].damage);
	if (known >= 0 && !sweeping->survey->names[known].unknown) {
		name_known(sweeping, &sweeping->survey->names[known]);
		return 0;
	}
	if (survey_read_names(
		    sweeping->storage, id, &sweeping->packs, &names, sweeping->cancel, err) < 0)
		return -1;
	if (names.unknown)
		name_all_of(sweeping, id);
	for (size_t i = 0; i < names.count; i++)
		sweeping->named[names.packs[i]] = true;
	return 0;
}

static int find_named(struct sweeping *sweeping, struct err *err)
{
	auto_free struct snapshot_id *ids = NULL;
	size_t count;

	if (record_list_packs(sweeping->storage, &sweeping->packs, sweeping->cancel, err) < 0)
		return -1;
	sweeping->named = memory_new((sweeping->packs.count + 1) * sizeof(*sweeping->named));
	if (record_list_ids(sweeping->storage, "snapshots", &ids, &count, sweeping->cancel, err) <
		0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (name_packs_of(sweeping, ids[i], err) < 0)
			return -1;
	return 0;
}

/* --- what goes --- */

static struct snapshot_id newest_good(const struct survey *survey)
{
	for (size_t i = 0; i < survey->list.count; i++)
		if (survey->list.items[i].newest)
			return survey->list.items[i].id;
	return (struct snapshot_id){0};
}

static void choose(struct sweeping *sweeping, int64_t now_ms, int64_t age_ms)
{
	struct snapshot_id newest = newest_good(sweeping->survey);
	size_t prefix = strlen("jobs//") + strlen(sweeping->storage->transfer.job);

	sweeping->going = memory_new((sweeping->packs.count + 1) * sizeof(*sweeping->going));
	for (size_t i = 0; i < sweeping->packs.count; i++) {
		const struct store_object *object = &sweeping->packs.items[i];
		struct retention_pack pack = {
			.written_for = retention_pack_id(object->key + prefix),
			.named = sweeping->named[i],
			.modified_ms = object->modified_ms,
		};
		enum pack_verdict verdict = retention_judge_pack(&pack, newest, now_ms, age_ms);

		if (verdict == PACK_GOES)
			sweeping->going[sweeping->going_count++] = i;
		if (verdict != PACK_WAITS)
			continue;
		sweeping->result->packs_waiting++;
		sweeping->result->bytes_waiting += object->size;
	}
}

/* A claim made meanwhile may go on from an older snapshot, so that what was not newer than the newest good one now is. */
static int look_again(struct sweeping *sweeping, struct err *err)
{
	uint32_t known = lineage_newest_attempt(&sweeping->survey->listing.lineage), newest;

	if (storage_superseded(sweeping->storage, known, &newest, sweeping->cancel, err) < 0)
		return -1;
	if (newest == known)
		return 0;
	for (size_t i = 0; i < sweeping->going_count; i++)
		sweeping->result->bytes_waiting += sweeping->packs.items[sweeping->going[i]].size;
	sweeping->result->packs_waiting += (uint32_t)sweeping->going_count;
	sweeping->going_count = 0;
	return 0;
}

static int remove_one(struct sweeping *sweeping, const struct store_object *pack, struct err *err)
{
	struct store *store = sweeping->storage->transfer.store;

	fault_point("before_pack_remove");
	if (store->ops->remove(store, pack->key, sweeping->cancel, err) < 0)
		return err_wrap(err, "cannot remove %s", pack->key);
	fault_point("after_pack_remove");
	return 0;
}

static void work(void *arg, size_t index)
{
	struct sweeping *sweeping = arg;
	struct err err = {0};
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&sweeping->next, 1)) < sweeping->going_count) {
		const struct store_object *pack = &sweeping->packs.items[sweeping->going[i]];
		int result = remove_one(sweeping, pack, &err);

		pthread_mutex_lock(&sweeping->mutex);
		if (result == 0) {
			sweeping->result->packs_removed++;
			sweeping->result->bytes_removed += pack->size;
		} else {
			sweeping->failed = true;
			sweeping->err = err;
			atomic_store(&sweeping->next, sweeping->going_count);
		}
		pthread_mutex_unlock(&sweeping->mutex);
	}
}

static int remove_all(struct sweeping *sweeping, struct err *err)
{
	size_t threads = sweeping->going_count;

	if (threads > 0)
		parallel_run(threads < THREADS_MOST ? threads : THREADS_MOST, work, sweeping);
	if (!sweeping->failed)
		return 0;
	if (err)
		*err = sweeping->err;
	return -1;
}

static void count_only(struct sweeping *sweeping)
{
	for (size_t i = 0; i < sweeping->going_count; i++)
		sweeping->result->bytes_removed += sweeping->packs.items[sweeping->going[i]].size;
	sweeping->result->packs_removed = (uint32_t)sweeping->going_count;
}

int sweep_packs(struct storage *storage, const struct survey *survey, const bool *gone,
	int64_t age_ms, bool dry_run, struct sweep_result *result, struct cancel *cancel,
	struct err *err)
{
	auto_(sweeping_release) struct sweeping sweeping = {
		.storage = storage,
		.survey = survey,
		.gone = gone,
		.cancel = cancel,
		.result = result,
	};
	int64_t now_ms = clock_wall_ms();

	*result = (struct sweep_result){0};
	pthread_mutex_init(&sweeping.mutex, NULL);
	if ((!dry_run && sweep_ask_time(storage, &now_ms, cancel, err) < 0) ||
		find_named(&sweeping, err) < 0)
		return -1;
	choose(&sweeping, now_ms, age_ms);
	if (dry_run) {
		count_only(&sweeping);
		return 0;
	}
	remove_temporaries(storage, now_ms, cancel);
	if (sweeping.going_count == 0)
		return 0;
	if (look_again(&sweeping, err) < 0)
		return -1;
	return remove_all(&sweeping, err);
}
