#include "job_records.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/workers.h"
#include "damage_marks.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLAIMS_AT_ONCE 16
/* A manifest that names packs of more attempts costs one listing of all packs instead. */
#define LISTINGS_MOST 4

enum attempt_record {
	ATTEMPT_RECORD_CLAIM,
	ATTEMPT_RECORD_CONFIRMED,
	ATTEMPT_RECORD_END,
	ATTEMPT_RECORDS,
};

/* What follows the number: "000003.json", "000003.end.json". */
static const char *const attempt_suffixes[ATTEMPT_RECORDS] = {
	[ATTEMPT_RECORD_CLAIM] = ".json",
	[ATTEMPT_RECORD_CONFIRMED] = ".confirmed.json",
	[ATTEMPT_RECORD_END] = ".end.json",
};

char *job_record_key_attempt(struct storage *storage, uint32_t number)
{
	return text_format("jobs/%s/attempts/%06u.json", storage->transfer.job, number);
}

char *job_record_key_confirmed(struct storage *storage, uint32_t number)
{
	return text_format("jobs/%s/attempts/%06u%s", storage->transfer.job, number,
			   attempt_suffixes[ATTEMPT_RECORD_CONFIRMED]);
}

char *job_record_key_end(struct storage *storage, uint32_t number)
{
	return text_format("jobs/%s/attempts/%06u.end.json", storage->transfer.job, number);
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
	auto_(bytes_release) struct bytes there = {0};
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

int job_record_put(struct store *store, const char *key, enum record_kind kind, json_t *body,
		   uint64_t *bytes, struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes record = {0};
	struct err put_err = {0};
	bool absent = true;

	if (record_encode(kind, body, &record, err) < 0)
		return -1;
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

	/* Read twice before calling it damaged: a bit can flip on the way. */
	for (int i = 0; i < GET_TRIES; i++) {
		record.size = 0;
		if (store->ops->get(store, key, 0, STORE_TO_END, &record, cancel, err) < 0)
			return -1;
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

int job_record_get_manifest(struct storage *storage, struct snapshot_id id,
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

int job_records_list_packs(struct storage *storage, struct store_listing *packs,
			   struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/packs/", storage->transfer.job);

	return storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, packs,
						  cancel, err);
}

/* "packs/000001/000002-...": the length of "packs/000001/". */
static size_t attempt_prefix_length(const char *pack)
{
	size_t first = strcspn(pack, "/");

	return pack[first] ? first + 1 + strcspn(pack + first + 1, "/") + 1 : first;
}

/* The first pack of each attempt that the manifest names, in `firsts`; more than LISTINGS_MOST: too
 * many. */
static size_t find_named_attempts(const struct manifest *manifest, size_t firsts[LISTINGS_MOST])
{
	size_t count = 0;

	for (size_t i = 0; i < manifest->pack_count; i++) {
		const char *key = manifest->packs[i].key;
		size_t length = attempt_prefix_length(key), known = 0;

		while (known < count &&
		       strncmp(manifest->packs[firsts[known]].key, key, length) != 0)
			known++;
		if (known < count)
			continue;
		if (count == LISTINGS_MOST)
			return LISTINGS_MOST + 1;
		firsts[count++] = i;
	}
	return count;
}

int job_records_list_named_packs(struct storage *storage, const struct manifest *manifest,
				 struct store_listing *packs, struct store_listing *damaged,
				 struct cancel *cancel, struct err *err)
{
	size_t firsts[LISTINGS_MOST];
	size_t count = find_named_attempts(manifest, firsts);

	if (damage_marks_list(storage, damaged, cancel, err) < 0)
		return -1;
	if (count > LISTINGS_MOST)
		return job_records_list_packs(storage, packs, cancel, err);
	for (size_t i = 0; i < count; i++) {
		const char *key = manifest->packs[firsts[i]].key;
		auto_free char *attempt = text_copy_n(key, attempt_prefix_length(key));
		auto_free char *prefix = transfer_pack_key(&storage->transfer, attempt);
		auto_(store_listing_release) struct store_listing some = {0};

		if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL,
						       &some, cancel, err) < 0)
			return -1;
		for (size_t j = 0; j < some.count; j++)
			store_listing_add(packs, some.items[j].key, some.items[j].size);
	}
	store_listing_sort(packs);
	return 0;
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

static const char *const policy_names[] = {
	[RESTORE_LATEST] = "latest",
	[RESTORE_NONE] = "none",
	[RESTORE_SPECIFIC] = "this",
};

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
	for (size_t i = 0; i < sizeof(policy_names) / sizeof(policy_names[0]); i++) {
		if (strcmp(policy, policy_names[i]) != 0)
			continue;
		attempt->policy = (enum restore_policy)i;
		return true;
	}
	return false;
}

/* For a damaged or lost claim: the parent of the attempt's first readable snapshot is what it
 * started from. */
static int recover_claim_from_parent(struct storage *storage, const struct lineage *lineage,
				     struct lineage_attempt *attempt, struct cancel *cancel,
				     struct err *err)
{
	for (size_t i = 0; i < lineage->snapshot_count && !attempt->known; i++) {
		struct manifest manifest = {0};

		if (lineage->snapshots[i].attempt != attempt->number)
			continue;
		if (job_record_get_manifest(storage, lineage->snapshots[i], &manifest, cancel,
					    err) == 0) {
			attempt->start = manifest.parent;
			attempt->known = manifest.parent.attempt < attempt->number;
			manifest_release(&manifest);
			/*
			 * When the attempt's first snapshots have been removed, the parent is one
			 * of its own, which shows nothing: `known` stays false, and the attempt
			 * before it is assumed.
			 */
			return 0;
		}
		if (err->kind != ERR_CORRUPT && err->kind != ERR_NOT_FOUND)
			return -1;
	}
	return 0;
}

/* True: the claim was read before. */
static bool find_known_claim(struct storage *storage, const struct job_listing *listing,
			     struct lineage_attempt *attempt)
{
	const struct attempt_records *records =
		&listing->records[attempt - listing->lineage.attempts];
	struct lineage_attempt known;

	if (!claim_cache_find(&storage->claims, attempt->number, records->claimed_ms, &known))
		return false;
	known.unconfirmed &= attempt->unconfirmed;
	*attempt = known;
	return true;
}

static void remember_claim(struct storage *storage, const struct job_listing *listing,
			   const struct lineage_attempt *attempt, bool confirms)
{
	struct lineage_attempt claim = *attempt;

	claim.unconfirmed = confirms;
	claim_cache_add(&storage->claims,
			listing->records[attempt - listing->lineage.attempts].claimed_ms, &claim);
}

static int read_claim(struct storage *storage, const struct job_listing *listing,
		      struct lineage_attempt *attempt, struct cancel *cancel, struct err *err)
{
	const struct lineage *lineage = &listing->lineage;
	auto_free char *key = job_record_key_attempt(storage, attempt->number);
	auto_json json_t *body = NULL;
	struct err own = {0};
	bool confirms;

	if (find_known_claim(storage, listing, attempt))
		return 0;

	if (job_record_get(storage->transfer.store, key, RECORD_ATTEMPT, &body, cancel, &own) ==
	    0) {
		attempt->known = job_record_decode_claim(body, attempt);
		/* Not of a version that does not confirm its claims. */
		confirms = json_true_or(body, "confirms", false);
		attempt->unconfirmed &= confirms;
		if (attempt->known)
			remember_claim(storage, listing, attempt, confirms);
	} else if (own.kind != ERR_CORRUPT && own.kind != ERR_NOT_FOUND) {
		if (err)
			*err = own;
		return -1;
	}
	if (attempt->known)
		return 0;
	attempt->start = (struct snapshot_id){0};
	attempt->policy = RESTORE_LATEST;
	if (recover_claim_from_parent(storage, lineage, attempt, cancel, &own) == 0)
		return 0;
	if (err)
		*err = own;
	return -1;
}

struct claims_read {
	struct storage *storage;
	const struct job_listing *listing;
	struct cancel *cancel;
	atomic_size_t next;
	pthread_mutex_t mutex;
	bool failed; /* under mutex, like `err` */
	struct err err;
};

static void read_claims_worker(void *arg, size_t index)
{
	struct claims_read *reading = arg;
	struct err err = {0};
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&reading->next, 1)) <
	       reading->listing->lineage.attempt_count) {
		if (read_claim(reading->storage, reading->listing,
			       &reading->listing->lineage.attempts[i], reading->cancel, &err) == 0)
			continue;
		/* The other workers stop as well. */
		atomic_store(&reading->next, reading->listing->lineage.attempt_count);
		pthread_mutex_lock(&reading->mutex);
		if (!reading->failed)
			reading->err = err;
		reading->failed = true;
		pthread_mutex_unlock(&reading->mutex);
		return;
	}
}

/* Reads the claims concurrently: each is one small request, and a job that was preempted often has
 * hundreds. */
static int read_claims(struct storage *storage, const struct job_listing *listing,
		       struct cancel *cancel, struct err *err)
{
	struct claims_read reading = {.storage = storage, .listing = listing, .cancel = cancel};
	size_t threads = listing->lineage.attempt_count;

	if (threads > CLAIMS_AT_ONCE)
		threads = CLAIMS_AT_ONCE;
	pthread_mutex_init(&reading.mutex, NULL);
	if (threads > 0)
		parallel_run(threads, read_claims_worker, &reading);
	pthread_mutex_destroy(&reading.mutex);
	if (!reading.failed)
		return 0;
	if (err)
		*err = reading.err;
	return -1;
}

static bool parse_attempt_name(const char *name, uint64_t *number, enum attempt_record *record)
{
	char digits[16];
	size_t length = strcspn(name, ".");

	if (length == 0 || length >= sizeof(digits))
		return false;
	memcpy(digits, name, length);
	digits[length] = '\0';
	for (*record = 0; *record < ATTEMPT_RECORDS; (*record)++)
		if (text_equal(name + length, attempt_suffixes[*record]))
			return text_to_u64(digits, UINT32_MAX, number) && *number > 0;
	return false;
}

/* Inserts the attempt in order if it is not there. Returns its position. */
static size_t add_attempt(struct job_listing *listing, uint32_t number)
{
	struct lineage *lineage = &listing->lineage;
	size_t i = lineage->attempt_count;

	while (i > 0 && lineage->attempts[i - 1].number > number)
		i--;
	if (i == 0 || lineage->attempts[i - 1].number != number) {
		size_t behind = lineage->attempt_count - i;

		lineage->attempts = memory_grow(lineage->attempts, lineage->attempt_count + 1,
						sizeof(*lineage->attempts));
		listing->records = memory_grow(listing->records, lineage->attempt_count + 1,
					       sizeof(*listing->records));
		memmove(&lineage->attempts[i + 1], &lineage->attempts[i],
			behind * sizeof(*lineage->attempts));
		memmove(&listing->records[i + 1], &listing->records[i],
			behind * sizeof(*listing->records));
		lineage->attempts[i] =
			(struct lineage_attempt){.number = number, .unconfirmed = true};
		listing->records[i] = (struct attempt_records){0};
		lineage->attempt_count++;
		i++;
	}
	return i - 1;
}

int job_records_list_attempts(struct storage *storage, struct job_listing *listing,
			      struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/attempts/", storage->transfer.job);
	auto_(store_listing_release) struct store_listing found = {0};
	struct lineage *lineage = &listing->lineage;

	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		enum attempt_record record;
		uint64_t number;
		size_t at;

		if (!parse_attempt_name(found.items[i].key + strlen(prefix), &number, &record))
			continue;
		at = add_attempt(listing, (uint32_t)number);
		listing->records[at].ended |= record == ATTEMPT_RECORD_END;
		if (record == ATTEMPT_RECORD_CLAIM)
			listing->records[at].claimed_ms = found.items[i].modified_ms;
		lineage->attempts[at].unconfirmed &= record != ATTEMPT_RECORD_CONFIRMED;
	}
	/* An attempt whose record is lost is known by its snapshots. What has a snapshot has been
	 * confirmed. */
	for (size_t i = 0; i < lineage->snapshot_count; i++) {
		/* Before `attempts` is read: adding may move it. */
		size_t at = add_attempt(listing, lineage->snapshots[i].attempt);

		lineage->attempts[at].unconfirmed = false;
	}
	return 0;
}

int job_records_newest_attempt(struct storage *storage, uint32_t *newest, struct cancel *cancel,
			       struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};

	if (job_records_list_attempts(storage, &listing, cancel, err) < 0)
		return -1;
	*newest = lineage_newest_attempt(&listing.lineage);
	return 0;
}

int job_records_list(struct storage *storage, struct job_listing *listing, struct cancel *cancel,
		     struct err *err)
{
	*listing = (struct job_listing){0};
	/* Manifests first, then packs: every pack of a manifest listed here was put before it, so a
	 * pack that is not listed is missing. */
	if (job_records_list_ids(storage, "snapshots", &listing->lineage.snapshots,
				 &listing->lineage.snapshot_count, cancel, err) == 0 &&
	    job_records_list_attempts(storage, listing, cancel, err) == 0 &&
	    read_claims(storage, listing, cancel, err) == 0 &&
	    job_records_list_packs(storage, &listing->packs, cancel, err) == 0 &&
	    damage_marks_list(storage, &listing->damaged, cancel, err) == 0)
		return 0;
	job_listing_release(listing);
	return -1;
}

void job_listing_release(struct job_listing *listing)
{
	free(listing->lineage.attempts);
	free(listing->lineage.snapshots);
	free(listing->records);
	store_listing_release(&listing->packs);
	store_listing_release(&listing->damaged);
	*listing = (struct job_listing){0};
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
