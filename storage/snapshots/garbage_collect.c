#include "forget.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/workers.h"
#include "storage/records/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 16

struct collection {
	struct storage *storage;
	const struct inventory *inventory;
	const bool *gone;
	const struct garbage_rule *rule;
	struct cancel *cancel;
	struct snapshot_id newest_good;
	struct store_listing packs;
	bool *named;       /* per pack */
	size_t *condemned; /* positions in `packs` */
	size_t condemned_count;
	bool leftovers; /* some are newer than the newest good snapshot */
	pthread_mutex_t mutex;
	/* under mutex while packs are removed */
	struct garbage_result *result;
	struct forget_refusals *refused;
};

static void collection_release(struct collection *collection)
{
	store_listing_release(&collection->packs);
	free(collection->named);
	free(collection->condemned);
	pthread_mutex_destroy(&collection->mutex);
}
AUTO(struct collection, collection_release);

/* --- refusals --- */

bool garbage_is_unanswered(const struct err *err)
{
	return err->kind == ERR_RETRY || err->kind == ERR_CANCELLED;
}

int garbage_note_refusal(struct forget_refusals *refused, const char *key, struct err *err)
{
	if (garbage_is_unanswered(err))
		return err_wrap(err, "cannot remove %s", key);
	if (refused->count++ == 0)
		snprintf(refused->first, sizeof(refused->first), "%.180s: %.200s", key, err->text);
	return 0;
}

/* --- which packs are named --- */

/* An unreadable manifest may name every pack that was written for its id. */
static void mark_packs_written_for(struct collection *collection, struct snapshot_id id)
{
	size_t prefix = strlen("jobs//") + strlen(collection->storage->transfer.job);

	for (size_t i = 0; i < collection->packs.count; i++)
		if (snapshot_id_compare(retention_pack_id(collection->packs.items[i].key + prefix),
					id) == 0)
			collection->named[i] = true;
}

static void mark_packs(struct collection *collection, const struct manifest_pack *packs,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct store_object *pack =
			inventory_find_pack(collection->storage, &collection->packs, packs[i].key);

		if (pack)
			collection->named[pack - collection->packs.items] = true;
	}
}

/* For a snapshot that the inventory could not read, or that came after it. */
static int read_named_packs(struct collection *collection, struct snapshot_id id, struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err own = {0};

	if (job_record_get_manifest_head(collection->storage, id, &manifest, collection->cancel,
					 &own) == 0)
		mark_packs(collection, manifest.packs, manifest.pack_count);
	else if (own.kind == ERR_CORRUPT)
		mark_packs_written_for(collection, id);
	else if (own.kind != ERR_NOT_FOUND)
		/* One that was removed since it was listed names nothing. */
		return err_pass(err, &own);
	return 0;
}

static int mark_packs_of_snapshot(struct collection *collection, struct snapshot_id id,
				  struct err *err)
{
	const struct inventory *inventory = collection->inventory;
	const struct snapshot_info *info = inventory_find(inventory, id);
	const struct known_snapshot *known =
		info ? &collection->storage->known[info - inventory->list.items] : NULL;

	if (info && collection->gone[info - inventory->list.items])
		return 0;
	if (info && info->newer)
		return err_set(err, ERR_VERSION, "%s", info->damage);
	if (!known || known->unknown)
		return read_named_packs(collection, id, err);
	mark_packs(collection, known->packs, known->pack_count);
	return 0;
}

static int mark_named_packs(struct collection *collection, struct err *err)
{
	const struct lineage *lineage = &collection->inventory->listing.lineage;
	auto_free struct snapshot_id *ids = NULL;
	size_t count;

	if (pack_listing_get_all(collection->storage, &collection->packs, collection->cancel, err) <
	    0)
		return -1;
	collection->named = memory_new((collection->packs.count + 1) * sizeof(*collection->named));
	if (job_records_list_ids(collection->storage, "snapshots", &ids, &count, collection->cancel,
				 err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (mark_packs_of_snapshot(collection, ids[i], err) < 0)
			return -1;
	/* Where lists may be late, the inventory has what was found by name. */
	for (size_t i = 0; i < lineage->snapshot_count; i++)
		if (job_record_lists_late(collection->storage) &&
		    mark_packs_of_snapshot(collection, lineage->snapshots[i], err) < 0)
			return -1;
	return 0;
}

/* --- which packs are removed --- */

/* As manifests name it: "packs/...". */
static const char *pack_name(const struct collection *collection, const struct store_object *pack)
{
	return pack->key + strlen("jobs//") + strlen(collection->storage->transfer.job);
}

static struct snapshot_id newest_good_snapshot(const struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->list.count; i++)
		if (inventory->list.items[i].newest)
			return inventory->list.items[i].id;
	return (struct snapshot_id){0};
}

/* Nobody saves: the newest attempt is through, and no other may commit. Its claim is old too, so
 * that a job which starts again soon finds what its killed attempts have sent. */
static bool is_settled(const struct inventory *inventory, int64_t now_ms, int64_t age_ms)
{
	const struct job_listing *listing = &inventory->listing;
	size_t count = listing->lineage.attempt_count;
	const struct lineage_attempt *newest = count ? &listing->lineage.attempts[count - 1] : NULL;

	/* A save by hand is confirmed a moment before its snapshot is there. */
	return newest && (newest->ended || (lineage_has_ended(newest) && newest->saved)) &&
	       newest->claimed_ms > 0 && newest->claimed_ms <= now_ms - age_ms;
}

/* Newer than the newest good snapshot: an attempt that is claimed meanwhile might rely on it. */
static bool is_leftover(const struct collection *collection, const char *name)
{
	return snapshot_id_compare(retention_pack_id(name), collection->newest_good) > 0;
}

static void select_packs(struct collection *collection, int64_t now_ms)
{
	const struct garbage_rule *rule = collection->rule;
	int64_t age_ms = rule->attempt > 0 ? RETENTION_ANY_AGE : rule->age_ms;
	struct snapshot_id newest =
		rule->leftovers || is_settled(collection->inventory, now_ms, rule->age_ms)
			? (struct snapshot_id){UINT32_MAX, UINT32_MAX}
			: collection->newest_good;
	size_t prefix = strlen("jobs//") + strlen(collection->storage->transfer.job);

	collection->condemned =
		memory_new((collection->packs.count + 1) * sizeof(*collection->condemned));
	for (size_t i = 0; i < collection->packs.count; i++) {
		const struct store_object *object = &collection->packs.items[i];
		struct retention_pack pack = {
			.written_for = retention_pack_id(object->key + prefix),
			.named = collection->named[i],
			.modified_ms = object->modified_ms,
		};
		enum pack_verdict verdict = retention_judge_pack(&pack, newest, now_ms, age_ms);

		if (verdict == PACK_COLLECT) {
			collection->condemned[collection->condemned_count++] = i;
			collection->leftovers |= is_leftover(collection, object->key + prefix);
		}
		if (verdict != PACK_DEFER)
			continue;
		collection->result->packs_deferred++;
		collection->result->bytes_deferred += object->size;
	}
}

static void defer_packs(struct collection *collection, bool leftovers_alone)
{
	size_t left = 0;

	for (size_t i = 0; i < collection->condemned_count; i++) {
		size_t at = collection->condemned[i];
		const char *name = pack_name(collection, &collection->packs.items[at]);

		if (leftovers_alone && !is_leftover(collection, name)) {
			collection->condemned[left++] = at;
			continue;
		}
		collection->result->packs_deferred++;
		collection->result->bytes_deferred += collection->packs.items[at].size;
	}
	collection->condemned_count = left;
}

/* Whoever claims after the look for new claims that follows sees this record, and does without the
 * leftovers. A full store may have no room for it: then they wait until the others have made some.
 */
static int sweep_leftovers(struct collection *collection, struct err *err)
{
	struct storage *storage = collection->storage;
	uint32_t newest = lineage_newest_attempt(&collection->inventory->listing.lineage);
	auto_free char *key = job_record_key_attempt(storage, newest, ".swept");
	struct err own = {0};

	if (!collection->leftovers)
		return 0;
	if (job_record_put_new(storage, key, RECORD_SWEPT, collection->cancel, &own, "{s:I}",
			       "attempt", (json_int_t)newest) == 0 ||
	    own.kind == ERR_EXISTS)
		return 0;
	if (own.kind != ERR_NO_SPACE)
		return err_pass(err, &own);
	defer_packs(collection, true);
	return 0;
}

/* In a store that was emptied and begun anew, the same number is another's. */
static int check_own_claim(struct collection *collection, bool *own, struct err *err)
{
	uint32_t attempt = collection->rule->attempt;

	*own = true;
	return attempt == 0 ? 0
			    : own_claim_check_nonce(collection->storage, attempt, own,
						    collection->cancel, err);
}

/*
 * An attempt claimed meanwhile, or one that is just being claimed, may continue from an older
 * snapshot and rely on packs after it, which were not newer than the newest good snapshot a moment
 * ago. Then no pack is removed this time.
 */
static int check_no_new_claim(struct collection *collection, struct err *err)
{
	const struct lineage *lineage = &collection->inventory->listing.lineage;
	uint32_t known = lineage_newest_attempt(lineage), newest;
	const struct lineage_attempt *last =
		lineage->attempt_count > 0 ? &lineage->attempts[lineage->attempt_count - 1] : NULL;
	/* A claim that was given up has an end record. */
	bool claiming = last && last->unconfirmed && !last->ended;
	bool own;

	if (job_records_newest_attempt(collection->storage, &newest, collection->cancel, err) < 0 ||
	    check_own_claim(collection, &own, err) < 0)
		return -1;
	if (newest <= known && !claiming && own)
		return 0;
	defer_packs(collection, false);
	return 0;
}

static int remove_pack(void *arg, size_t at, struct err *err)
{
	struct collection *collection = arg;
	const struct store_object *pack = &collection->packs.items[collection->condemned[at]];
	struct store *store = collection->storage->transfer.store;
	int result;

	/* Also if the answer is lost: from here on no save of this process relies on it. */
	chunk_index_key_lost(&collection->storage->transfer.index, pack_name(collection, pack));
	fault_point("before_pack_remove");
	result = store->ops->remove(store, pack->key, collection->cancel, err);
	if (result == 0)
		fault_point("after_pack_remove");
	pthread_mutex_lock(&collection->mutex);
	if (result == 0) {
		collection->result->packs_removed++;
		collection->result->bytes_removed += pack->size;
	} else {
		result = garbage_note_refusal(collection->refused, pack->key, err);
	}
	pthread_mutex_unlock(&collection->mutex);
	return result;
}

static void count_packs(struct collection *collection)
{
	for (size_t i = 0; i < collection->condemned_count; i++)
		collection->result->bytes_removed +=
			collection->packs.items[collection->condemned[i]].size;
	collection->result->packs_removed = (uint32_t)collection->condemned_count;
}

/* A full store takes no object that shows its time. It was no earlier than when the newest pack was
 * put, and whatever seems younger than it is stays. */
static int read_clock(struct collection *collection, int64_t *now_ms, struct err *err)
{
	struct err own = {0};

	if (store_clock_read(collection->storage, now_ms, collection->cancel, &own) == 0)
		return 0;
	if (own.kind != ERR_NO_SPACE)
		return err_pass(err, &own);
	*now_ms = 0;
	for (size_t i = 0; i < collection->inventory->listing.packs.count; i++)
		if (collection->inventory->listing.packs.items[i].modified_ms > *now_ms)
			*now_ms = collection->inventory->listing.packs.items[i].modified_ms;
	return 0;
}

int garbage_collect_packs(struct storage *storage, const struct inventory *inventory,
			  const bool *gone, const struct garbage_rule *rule,
			  struct garbage_result *result, struct forget_refusals *refused,
			  struct cancel *cancel, struct err *err)
{
	auto_(collection_release) struct collection collection = {
		.storage = storage,
		.inventory = inventory,
		.gone = gone,
		.rule = rule,
		.cancel = cancel,
		.newest_good = newest_good_snapshot(inventory),
		.result = result,
		.refused = refused,
	};
	int64_t now_ms = clock_wall_ms();

	*result = (struct garbage_result){0};
	pthread_mutex_init(&collection.mutex, NULL);
	if ((!rule->dry_run && read_clock(&collection, &now_ms, err) < 0) ||
	    mark_named_packs(&collection, err) < 0)
		return -1;
	select_packs(&collection, now_ms);
	if (rule->dry_run) {
		count_packs(&collection);
		return 0;
	}
	store_clock_remove_temporaries(storage, now_ms, cancel);
	if (collection.condemned_count == 0)
		return 0;
	if (sweep_leftovers(&collection, err) < 0 || check_no_new_claim(&collection, err) < 0)
		return -1;
	return parallel_each(collection.condemned_count, THREADS_MOST, remove_pack, &collection,
			     err);
}
