#include "job_records.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "entry_list.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *job_record_key_attempt(struct storage *storage, uint32_t number, const char *record)
{
	return text_format("jobs/%s/attempts/%06u%s.json", storage->transfer.job, number, record);
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

int job_records_list_keys(struct storage *storage, const char *prefix, struct store_listing *found,
			  struct cancel *cancel, struct err *err)
{
	struct store *store = storage->transfer.store;

	return store->ops->list(store, prefix, STORE_ALL, found, cancel, err);
}

enum {
	PUT_TRIES = 2,
	GET_TRIES = 2,
	/* So long a manifest that was read serves who wants its content. */
	KNOWN_FOR_MS = 30000,
	/* A longer one would take memory for nothing, while the job runs. */
	KNOWN_MOST = 256 << 10,
};

/*
 * Called after a put that failed with `put_err`. Returns 0 if the object in the store is ours after
 * all, else -1. *absent: it clearly is not there.
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
	*absent = err.kind == ERR_NOT_FOUND;
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

/* One put of several. */
struct putting {
	struct store *store;
	const struct put_again *again;
	unsigned tries;
	int64_t begun_ms;
	struct cancel *cancel;
};

/* What was put is not there: whether another put may follow; else `err` says why not. */
static bool goes_on(const struct putting *putting, const struct err *put_err, const char *key,
		    struct err *err)
{
	if (put_err->kind == ERR_EXISTS && putting->tries == PUT_TRIES) {
		err_set(err, ERR_RETRY, "the store reports that %s exists, but does not find it",
			key);
		return false;
	}
	if (put_err->kind != ERR_EXISTS &&
	    (!putting->again || put_err->kind != ERR_RETRY ||
	     !store_pause(putting->tries, putting->begun_ms, putting->cancel))) {
		err_pass(err, put_err);
		return false;
	}
	return !putting->again || putting->again->ask(putting->again->arg, err) == 0;
}

static int put_record(struct putting *putting, const char *key, const struct bytes *record,
		      struct err *err)
{
	enum store_put_mode mode = putting->again ? STORE_IF_ABSENT_ONCE : STORE_IF_ABSENT;
	struct store *store = putting->store;

	for (putting->tries = 1;; putting->tries++) {
		struct err put_err = {0};
		bool absent = false;

		if (store->ops->put(store, key, record->data, record->size, mode, putting->cancel,
				    &put_err) == 0 ||
		    settle_failed_put(store, key, record, &put_err, &absent, putting->cancel) == 0)
			return 0;
		if (absent && goes_on(putting, &put_err, key, err))
			continue;
		return absent ? -1 : err_pass(err, &put_err);
	}
}

int job_record_put_asking(struct store *store, const char *key, enum record_kind kind, json_t *body,
			  uint64_t *bytes, const struct put_again *again, struct cancel *cancel,
			  struct err *err)
{
	auto_(bytes_release) struct bytes record = {0};
	struct putting putting = {
		.store = store,
		.again = again,
		.begun_ms = clock_monotonic_ms(),
		.cancel = cancel,
	};

	record.limit = record_size_most(kind, store->manifest_most);
	if (record_encode(kind, body, &record, err) < 0)
		return record.overflowed ? refuse_length(kind, record.limit, err) : -1;
	if (bytes)
		*bytes = record.size;
	return put_record(&putting, key, &record, err);
}

int job_record_put(struct store *store, const char *key, enum record_kind kind, json_t *body,
		   uint64_t *bytes, struct cancel *cancel, struct err *err)
{
	return job_record_put_asking(store, key, kind, body, bytes, NULL, cancel, err);
}

static int get_record(struct store *store, const char *key, enum record_kind kind,
		      struct bytes *record, json_t **body, struct cancel *cancel, struct err *err)
{
	struct err own = {0};

	record->limit = record_size_most(kind, store->manifest_most);
	/* Read twice before calling it damaged: a bit can flip on the way. */
	for (int i = 0; i < GET_TRIES; i++) {
		record->size = 0;
		if (store->ops->get(store, key, 0, STORE_TO_END, record, cancel, err) < 0) {
			if (!record->overflowed)
				return -1;
			refuse_length(kind, record->limit, err);
			return err_wrap(err, "%s", key);
		}
		own = (struct err){0};
		if (record_decode(kind, record->data, record->size, body, &own) == 0)
			return 0;
		if (own.kind != ERR_CORRUPT)
			break;
	}
	err_pass(err, &own);
	return err_wrap(err, "%s", key);
}

int job_record_get(struct store *store, const char *key, enum record_kind kind, json_t **body,
		   struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes record = {0};

	return get_record(store, key, kind, &record, body, cancel, err);
}

int job_record_exists(struct storage *storage, char *key, struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes first = {0};
	auto_free char *own = key;
	struct store *store = storage->transfer.store;
	struct err why = {0};

	if (store->ops->get(store, own, 0, 1, &first, cancel, &why) == 0)
		return 1;
	return why.kind == ERR_NOT_FOUND ? 0 : err_pass(err, &why);
}

bool job_record_is_forgotten(struct storage *storage, struct snapshot_id id, struct cancel *cancel)
{
	return job_record_exists(storage, job_record_key_snapshot(storage, id), cancel, NULL) == 0;
}

/* Takes the record, if it is short. */
static void know_manifest(struct known_manifest *known, struct snapshot_id id, struct bytes *record)
{
	if (record->size > KNOWN_MOST)
		return;
	pthread_mutex_lock(&known->mutex);
	bytes_release(&known->record);
	known->id = id;
	known->record = *record;
	known->read_ms = clock_monotonic_ms();
	pthread_mutex_unlock(&known->mutex);
	*record = (struct bytes){0};
}

int job_record_get_manifest_head(struct storage *storage, struct snapshot_id id,
				 struct manifest *manifest, struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_snapshot(storage, id);
	auto_(bytes_release) struct bytes record = {0};
	auto_json json_t *body = NULL;

	if (get_record(storage->transfer.store, key, RECORD_SNAPSHOT, &record, &body, cancel, err) <
	    0)
		return -1;
	if (manifest_decode(body, storage->transfer.job, id, manifest, err) < 0)
		return err_wrap(err, "%s", key);
	know_manifest(&storage->known_manifest, id, &record);
	return 0;
}

static bool decode_known(struct storage *storage, struct snapshot_id id, struct manifest *manifest)
{
	struct known_manifest *known = &storage->known_manifest;
	auto_json json_t *body = NULL;
	bool decoded;

	pthread_mutex_lock(&known->mutex);
	decoded = snapshot_id_compare(known->id, id) == 0 &&
		  clock_monotonic_ms() - known->read_ms <= KNOWN_FOR_MS &&
		  record_decode(RECORD_SNAPSHOT, known->record.data, known->record.size, &body,
				NULL) == 0;
	pthread_mutex_unlock(&known->mutex);
	return decoded && manifest_decode(body, storage->transfer.job, id, manifest, NULL) == 0;
}

int job_record_get_known_head(struct storage *storage, struct snapshot_id id,
			      struct manifest *manifest, struct cancel *cancel, struct err *err)
{
	return decode_known(storage, id, manifest)
		       ? 0
		       : job_record_get_manifest_head(storage, id, manifest, cancel, err);
}

int job_record_get_manifest(struct storage *storage, struct snapshot_id id,
			    struct manifest *manifest, struct cancel *cancel, struct err *err)
{
	return job_record_get_known_head(storage, id, manifest, cancel, err) < 0
		       ? -1
		       : job_record_finish_manifest(storage, manifest, cancel, err);
}

/* --- what a member of a gang sees --- */

bool storage_is_member(const struct storage *storage)
{
	return storage->gang.members > 1;
}

static int cut_one(const struct storage *storage, struct manifest *manifest, struct err *err)
{
	uint32_t member = storage->gang.member;

	if (manifest->part_count == 0)
		return err_set(err, ERR_INVALID, "it was taken by one machine, not by a gang");
	if (member >= manifest->part_count)
		return err_set(err, ERR_INVALID,
			       "it is of a gang of %zu members, which are numbered from 0: there "
			       "is no member %u",
			       manifest->part_count, member);
	if (manifest->parts[member].gone)
		return err_set(err, ERR_INVALID,
			       "member %u had left the gang before: it has no part in it", member);
	if (manifest->parts[member].kept)
		member = manifest->parts[member].keeper;
	if (manifest->parts[member].files == 0)
		return err_set(err, ERR_FAILED, "member %u has no files in it", member);
	gang_manifest_cut_part(manifest, member);
	return 0;
}

int member_view_cut(struct storage *storage, struct manifest *manifest, struct err *err)
{
	if (storage->gang.looks_at_one)
		return cut_one(storage, manifest, err);
	return storage->gang.members == 0
		       ? 0
		       : gang_manifest_cut(manifest, storage->gang.members, storage->gang.member,
					   err);
}

int job_record_finish_manifest(struct storage *storage, struct manifest *manifest,
			       struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_snapshot(storage, manifest->id);

	if (member_view_cut(storage, manifest, err) == 0 &&
	    entry_list_load(storage, manifest, cancel, err) == 0 &&
	    ((!storage_is_member(storage) && !storage->gang.looks_at_one) ||
	     gang_manifest_strip(manifest, storage->gang.member, err) == 0))
		return 0;
	manifest_release(manifest);
	return err_wrap(err, "%s", key);
}

/* --- listing a job --- */

bool job_record_parse_id(const char *name, struct snapshot_id *id)
{
	auto_free char *text = text_copy(name);
	char written[SNAPSHOT_ID_TEXT];

	if (!text_ends(text, ".json"))
		return false;
	text[strlen(text) - strlen(".json")] = '\0';
	/* As it is written: a person may leave zeros out, but then the key would be another one.
	 * Keys are compared as text, which would misplace numbers of more than six digits; those
	 * are never written. */
	return snapshot_id_parse(text, id) && text_equal(snapshot_id_format(*id, written), text);
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
		text_equal(rest, ".end.json") || text_equal(rest, ".swept.json"));
}

int job_records_list_ids(struct storage *storage, const char *kind, struct snapshot_id **ids,
			 size_t *count, struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/%s/", storage->transfer.job, kind);
	auto_(store_listing_release) struct store_listing found = {0};

	*ids = NULL;
	*count = 0;
	if (job_records_list_keys(storage, prefix, &found, cancel, err) < 0)
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
	attempt->by_hand = json_true_or(body, "by_hand", false);
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

	auto_(bytes_release) struct bytes record = {0};

	/* The marker may be anybody's, so it is not read back. */
	record.limit = record_size_most(RECORD_FORMAT, store->manifest_most);
	if (record_encode(RECORD_FORMAT, body, &record, err) < 0)
		return -1;
	return store->ops->put(store, FORMAT_KEY, record.data, record.size, STORE_IF_ABSENT, cancel,
			       err);
}
