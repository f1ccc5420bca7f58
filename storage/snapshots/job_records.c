#include "job_records.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/workers.h"
#include "damage_marks.h"
#include "entry_list.h"
#include "gang_commit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *job_record_key_attempt(struct storage *storage, uint32_t number)
{
	return text_format("jobs/%s/attempts/%06u.json", storage->transfer.job, number);
}

char *job_record_key_confirmed(struct storage *storage, uint32_t number)
{
	return text_format("jobs/%s/attempts/%06u.confirmed.json", storage->transfer.job, number);
}

char *job_record_key_end(struct storage *storage, uint32_t number)
{
	return text_format("jobs/%s/attempts/%06u.end.json", storage->transfer.job, number);
}

char *job_record_key_summary(struct storage *storage, uint32_t through)
{
	return text_format("jobs/%s/summaries/%06u.json", storage->transfer.job, through);
}

char *job_record_key_archive(struct storage *storage, uint32_t first, uint32_t last)
{
	return text_format("jobs/%s/archives/%06u-%06u.json", storage->transfer.job, first, last);
}

char *job_record_key_catalogue(struct storage *storage, uint32_t number)
{
	return text_format("jobs/%s/catalogues/%06u.json", storage->transfer.job, number);
}

char *job_record_key_snapshot(struct storage *storage, struct snapshot_id id)
{
	return text_format("jobs/%s/snapshots/%06u-%06u.json", storage->transfer.job, id.attempt,
			   id.sequence);
}

char *job_record_key_pin(struct storage *storage, struct snapshot_id id)
{
	return text_format("jobs/%s/pins/%06u-%06u.json", storage->transfer.job, id.attempt,
			   id.sequence);
}

enum {
	PUT_TRIES = 2,
	GET_TRIES = 2,
};

/*
 * Called after a put that failed with `put_err`. Returns 0 if the object in the store is ours after
 * all, else -1. *absent: the store answered "exists" to the put, but the object is not there.
 */
static int settle_failed_put(struct store *store, const char *key, const struct bytes *record,
			     const struct err *put_err, bool *absent, struct cancel *cancel)
{
	auto_(bytes_release) struct bytes there = {.limit = record->size};
	struct err err = {0};

	*absent = false;
	/* The store's "no" may answer a retry whose first try was written. */
	if (put_err->kind == ERR_CANCELLED)
		return -1;
	if (store->ops->get(store, key, 0, STORE_TO_END, &there, cancel, &err) == 0)
		return there.size == record->size &&
				       memcmp(there.data, record->data, there.size) == 0
			       ? 0
			       : -1;
	*absent = put_err->kind == ERR_EXISTS && err.kind == ERR_NOT_FOUND;
	return -1;
}

/* What is too long to be read later is not written. */
static int refuse_length(enum record_kind kind, size_t most, struct err *err)
{
	if (kind == RECORD_SNAPSHOT)
		return err_set(err, ERR_FAILED,
			       "the manifest is longer than %zu MiB: give more --memory",
			       most >> 20);
	return err_set(err, ERR_CORRUPT, "longer than %zu bytes, which no such record is", most);
}

int job_record_put(struct store *store, const char *key, enum record_kind kind, json_t *body,
		   uint64_t *bytes, struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes record = {0};
	struct err put_err = {0};
	bool absent = true;

	record.limit = record_size_most(kind, store->manifest_most);
	if (record_encode(kind, body, &record, err) < 0)
		return record.overflowed ? refuse_length(kind, record.limit, err) : -1;
	if (bytes)
		*bytes = record.size;
	for (int i = 0; absent && i < PUT_TRIES; i++) {
		put_err = (struct err){0};
		if (store->ops->put(store, key, record.data, record.size, STORE_IF_ABSENT, cancel,
				    &put_err) == 0 ||
		    settle_failed_put(store, key, &record, &put_err, &absent, cancel) == 0)
			return 0;
	}
	if (absent)
		return err_set(err, ERR_RETRY,
			       "the store reports that %s exists, but does not find it", key);
	if (err)
		*err = put_err;
	return -1;
}

int job_record_get(struct store *store, const char *key, enum record_kind kind, json_t **body,
		   struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes record = {0};
	struct err own = {0};

	record.limit = record_size_most(kind, store->manifest_most);
	/* Read twice before calling it damaged: a bit can flip on the way. */
	for (int i = 0; i < GET_TRIES; i++) {
		record.size = 0;
		if (store->ops->get(store, key, 0, STORE_TO_END, &record, cancel, err) < 0) {
			if (!record.overflowed)
				return -1;
			refuse_length(kind, record.limit, err);
			return err_wrap(err, "%s", key);
		}
		own = (struct err){0};
		if (record_decode(kind, record.data, record.size, body, &own) == 0)
			return 0;
		if (own.kind != ERR_CORRUPT)
			break;
	}
	if (err)
		*err = own;
	return err_wrap(err, "%s", key);
}

int job_record_get_manifest_head(struct storage *storage, struct snapshot_id id,
				 struct manifest *manifest, struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_snapshot(storage, id);
	auto_json json_t *body = NULL;

	if (job_record_get(storage->transfer.store, key, RECORD_SNAPSHOT, &body, cancel, err) < 0)
		return -1;
	if (manifest_decode(body, storage->transfer.job, id, manifest, err) < 0)
		return err_wrap(err, "%s", key);
	return 0;
}

int job_record_get_manifest(struct storage *storage, struct snapshot_id id,
			    struct manifest *manifest, struct cancel *cancel, struct err *err)
{
	return job_record_get_manifest_head(storage, id, manifest, cancel, err) < 0
		       ? -1
		       : job_record_finish_manifest(storage, manifest, cancel, err);
}

int job_record_finish_manifest(struct storage *storage, struct manifest *manifest,
			       struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_snapshot(storage, manifest->id);

	if (gang_commit_cut(storage, manifest, err) == 0 &&
	    entry_list_load(storage, manifest, cancel, err) == 0 &&
	    ((!storage_is_member(storage) && !storage->gang.looks_at_one) ||
	     gang_manifest_strip(manifest, storage->gang.member, err) == 0))
		return 0;
	manifest_release(manifest);
	return err_wrap(err, "%s", key);
}

int job_records_list_packs(struct storage *storage, struct store_listing *packs,
			   struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/packs/", storage->transfer.job);

	return storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, packs,
						  cancel, err);
}

/* --- some of the packs --- */

struct prefixes_list {
	struct storage *storage;
	char *const *prefixes;
	struct store_listing *found; /* one per prefix */
	struct err *errs;
	size_t count;
	atomic_size_t next;
	struct cancel *cancel;
};

static void list_prefix_worker(void *arg, size_t index)
{
	struct prefixes_list *list = arg;
	struct store *store = list->storage->transfer.store;
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&list->next, 1)) < list->count) {
		auto_free char *prefix =
			transfer_pack_key(&list->storage->transfer, list->prefixes[i]);

		(void)store->ops->list(store, prefix, STORE_ALL, &list->found[i], list->cancel,
				       &list->errs[i]);
	}
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

int job_records_list_prefixes(struct storage *storage, char *const *prefixes, size_t count,
			      struct store_listing *packs, struct cancel *cancel, struct err *err)
{
	auto_free struct store_listing *found = memory_new((count + 1) * sizeof(*found));
	auto_free struct err *errs = memory_new((count + 1) * sizeof(*errs));
	struct prefixes_list list = {
		.storage = storage,
		.prefixes = prefixes,
		.found = found,
		.errs = errs,
		.count = count,
		.cancel = cancel,
	};
	int result = 0;

	if (count > 0)
		parallel_run(count, list_prefix_worker, &list);
	for (size_t i = 0; result == 0 && i < count; i++)
		if (errs[i].kind != 0)
			result = err_set(err, errs[i].kind, "%s", errs[i].text);
	if (result == 0)
		merge_listings(found, count, packs);
	for (size_t i = 0; i < count; i++)
		store_listing_release(&found[i]);
	return result;
}

/* "packs/000001/000002-...": the length of "packs/000001/". */
static size_t attempt_prefix_length(const char *pack)
{
	size_t first = strcspn(pack, "/");

	return pack[first] ? first + 1 + strcspn(pack + first + 1, "/") + 1 : first;
}

/* The same: the length of "packs/000001/000002-". */
static size_t save_prefix_length(const char *pack)
{
	size_t attempt = attempt_prefix_length(pack);
	size_t length = strnlen(pack, attempt);

	length += strcspn(pack + length, "-");
	return pack[length] ? length + 1 : length;
}

/* The same: all but the number of the pack, "packs/000001/000002-<nonce>-". */
static size_t nonce_prefix_length(const char *pack)
{
	const char *last = strrchr(pack, '-');

	return last ? (size_t)(last + 1 - pack) : strlen(pack);
}

/* The different prefixes of what the manifest names; JOB_LISTINGS_MOST + 1: there are more. */
static size_t find_prefixes(const struct manifest *manifest, size_t (*length_of)(const char *pack),
			    char *prefixes[JOB_LISTINGS_MOST])
{
	size_t count = 0;

	for (size_t i = 0; i < manifest->pack_count; i++) {
		const char *key = manifest->packs[i].key;
		size_t length = length_of(key), known = 0;

		while (known < count && (strncmp(prefixes[known], key, length) != 0 ||
					 prefixes[known][length] != '\0'))
			known++;
		if (known < count)
			continue;
		if (count == JOB_LISTINGS_MOST) {
			while (count > 0)
				free(prefixes[--count]);
			return JOB_LISTINGS_MOST + 1;
		}
		prefixes[count++] = text_copy_n(key, length);
	}
	return count;
}

size_t job_records_named_prefixes(const struct storage *storage, const struct manifest *manifest,
				  char *prefixes[JOB_LISTINGS_MOST])
{
	size_t count = JOB_LISTINGS_MOST + 1;

	/* The packs of all members have the number of the round. */
	if (storage_is_member(storage))
		count = find_prefixes(manifest, nonce_prefix_length, prefixes);
	if (count > JOB_LISTINGS_MOST)
		count = find_prefixes(manifest, save_prefix_length, prefixes);
	if (count > JOB_LISTINGS_MOST)
		count = find_prefixes(manifest, attempt_prefix_length, prefixes);
	if (count <= JOB_LISTINGS_MOST)
		return count;
	prefixes[0] = text_copy("packs/");
	return 1;
}

int job_records_list_named_packs(struct storage *storage, const struct manifest *manifest,
				 struct store_listing *packs, struct store_listing *damaged,
				 struct cancel *cancel, struct err *err)
{
	char *prefixes[JOB_LISTINGS_MOST];
	size_t count = job_records_named_prefixes(storage, manifest, prefixes);
	int result = damage_marks_list(storage, damaged, cancel, err);

	if (result == 0)
		result = job_records_list_prefixes(storage, prefixes, count, packs, cancel, err);
	while (count > 0)
		free(prefixes[--count]);
	return result;
}

int job_records_check_packs(struct storage *storage, const struct manifest *manifest,
			    const struct store_listing *packs, const struct store_listing *damaged,
			    struct err *err)
{
	for (size_t i = 0; i < manifest->pack_count; i++) {
		auto_free char *key = transfer_pack_key(&storage->transfer, manifest->packs[i].key);
		const struct store_object *object = store_listing_find(packs, key);

		if (!object)
			return err_set(err, ERR_CORRUPT, "pack %s is missing", key);
		if (object->size != manifest->packs[i].bytes)
			return err_set(err, ERR_CORRUPT, "pack %s has %llu bytes instead of %llu",
				       key, (unsigned long long)object->size,
				       (unsigned long long)manifest->packs[i].bytes);
		if (damage_marks_has(storage, damaged, manifest->packs[i].key))
			return err_set(err, ERR_CORRUPT, "pack %s was found damaged", key);
	}
	return 0;
}

/* --- listing a job --- */

bool job_record_parse_id(const char *name, struct snapshot_id *id)
{
	auto_free char *text = text_copy(name);

	if (!text_ends(text, ".json"))
		return false;
	text[strlen(text) - strlen(".json")] = '\0';
	/* Keys are compared as text, which would misplace numbers of more than six digits; those
	 * are never written. */
	return snapshot_id_parse(text, id);
}

bool job_record_parse_leading_number(const char *name, uint32_t *number, const char **rest)
{
	size_t length = strspn(name, "0123456789");
	char digits[16];
	uint64_t value;

	if (length == 0 || length >= sizeof(digits))
		return false;
	memcpy(digits, name, length);
	digits[length] = '\0';
	if (!text_to_u64(digits, UINT32_MAX, &value) || value == 0)
		return false;
	*number = (uint32_t)value;
	*rest = name + length;
	return true;
}

bool job_record_parse_number(const char *name, uint32_t *number)
{
	const char *rest;

	return job_record_parse_leading_number(name, number, &rest) && text_equal(rest, ".json");
}

bool job_record_parse_attempt(const char *name, uint32_t *number)
{
	const char *rest;

	return job_record_parse_leading_number(name, number, &rest) &&
	       (text_equal(rest, ".json") || text_equal(rest, ".confirmed.json") ||
		text_equal(rest, ".end.json"));
}

int job_records_list_ids(struct storage *storage, const char *kind, struct snapshot_id **ids,
			 size_t *count, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/%s/", storage->transfer.job, kind);
	auto_(store_listing_release) struct store_listing found = {0};

	*ids = NULL;
	*count = 0;
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	*ids = memory_new(found.count * sizeof(**ids));
	for (size_t i = 0; i < found.count; i++) {
		struct snapshot_id id;

		if (job_record_parse_id(found.items[i].key + strlen(prefix), &id))
			(*ids)[(*count)++] = id;
	}
	return 0;
}

bool job_record_decode_claim(json_t *body, struct lineage_attempt *attempt)
{
	json_t *start = json_object_get(body, "start");
	const char *policy = json_text_or(body, "policy", "");

	if (json_number_or(body, "attempt", 0) != attempt->number)
		return false;
	if (!json_is_null(start) &&
	    (!json_is_string(start) ||
	     !snapshot_id_parse(json_string_value(start), &attempt->start) ||
	     attempt->start.attempt >= attempt->number))
		return false;
	(void)snapshot_id_parse(json_text_or(body, "suspect", ""), &attempt->suspect);
	attempt->summaries = json_true_or(body, "summaries", false);
	return restore_policy_parse(policy, &attempt->policy);
}

void job_records_trim_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

int record_put_format(struct store *store, struct cancel *cancel, struct err *err)
{
	char created[32];
	auto_json json_t *body = json_pack("{s:i, s:s}", "version", RECORD_VERSION, "created",
					   clock_format(clock_wall_ms(), created, sizeof(created)));

	return job_record_put(store, FORMAT_KEY, RECORD_FORMAT, body, NULL, cancel, err);
}
