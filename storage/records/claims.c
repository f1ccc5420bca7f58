#include "claims.h"

#include "ask.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "job_records.h"
#include "storage/backend/backend.h"
#include "storage_handle.h"

#include <pthread.h>
#include <stdarg.h>

/* Apart from job_records.c, so that the model of a store can stand before the put. */
int job_record_put_new(struct storage *storage, const char *key, enum record_kind kind,
		       struct cancel *cancel, struct err *err, const char *format, ...)
{
	auto_json json_t *body = NULL;
	char nonce[33], created[32];
	va_list args;

	va_start(args, format);
	body = json_vpack_ex(NULL, 0, format, args);
	va_end(args);
	random_hex(nonce);
	clock_format(clock_wall_ms(), created, sizeof(created));
	if (!body ||
	    (!json_object_get(body, "nonce") &&
	     json_object_set_new(body, "nonce", json_string(nonce)) < 0) ||
	    json_object_set_new(body, "created", json_string(created)) < 0 ||
	    json_object_set_new(body, "host", json_string(storage->host)) < 0)
		return err_set(err, ERR_FAILED, "cannot write %s as JSON", key);
	return job_record_put(storage->transfer.store, key, kind, body, NULL, cancel, err);
}

/* --- our own --- */

/* A process that looks into a store and then writes needs up to WINDOW_PUTS times our own put, from
 * its look to the end of its write; at least and at most these times. */
#define WINDOW_PUTS 4
#define WINDOW_LEAST_MS 300
#define WINDOW_MOST_MS 5000
/* A server that does both is fast, and most of them do not. */
#define UNPROVEN_MOST_MS 1000

/* Room for the next claim: an object that nobody reads. In a file system that is full to the last
 * byte a start removes it, for its records: a dozen small files, whatever the size of a block. */
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
	fill_room(storage->transfer.boot, room);
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

static json_t *id_or(struct snapshot_id id, json_t *none)
{
	char text[SNAPSHOT_ID_TEXT];

	return snapshot_id_is_none(id) ? none : json_string(snapshot_id_format(id, text));
}

int own_claim_put(struct storage *storage, const struct claim *claim, const struct attempt *attempt,
		  struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, attempt->number, "");
	/* Another member of the gang may not be able to use a damaged snapshot. */
	bool damaged = claim->is_next && attempt->start_is_damaged;

	storage->own_claim = (struct own_claim){.number = attempt->number};
	random_hex(storage->own_claim.nonce);
	fault_point("before_claim_put");
	if (job_record_put_new(storage, key, RECORD_ATTEMPT, cancel, err,
			       "{s:I, s:s, s:s, s:o, s:o*, s:o*, s:o*, s:o}", "attempt",
			       (json_int_t)attempt->number, "nonce", storage->own_claim.nonce,
			       "policy", restore_policy_name(claim->policy), "start",
			       id_or(attempt->start, json_null()), "suspect",
			       id_or(attempt->suspect, NULL), "start_damaged",
			       damaged ? json_string(attempt->damaged[0].text) : NULL, "by_hand",
			       claim->saves ? json_true() : NULL, "about",
			       claim->about ? json_incref(claim->about) : json_object()) < 0)
		return -1;
	fault_point("after_claim_put");
	return 0;
}

/* By the end of this time, every process that had looked before has written. */
int64_t own_claim_window_ms(const struct store_health *health, int64_t put_took_ms)
{
	int64_t window_ms = put_took_ms * WINDOW_PUTS;
	int64_t most_ms = health->if_absent_guessed ? WINDOW_MOST_MS : UNPROVEN_MOST_MS;

	if (!health->if_absent_guessed && !health->if_absent_unproven)
		return 0;
	if (health->if_absent_guessed && window_ms < WINDOW_LEAST_MS)
		return WINDOW_LEAST_MS;
	return window_ms < most_ms ? window_ms : most_ms;
}

int own_claim_confirm(struct storage *storage, uint32_t number, struct cancel *cancel,
		      struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, number, ".confirmed");

	return job_record_put_new(storage, key, RECORD_CONFIRMED, cancel, err, "{s:I}", "attempt",
				  (json_int_t)number);
}

int own_claim_ask_confirm(struct storage *storage, const void *about, void *answer,
			  struct cancel *cancel, struct err *err)
{
	struct err own = {0};

	(void)about, (void)answer;
	/* One that exists is of an earlier call, whose answer was lost. */
	if (own_claim_confirm(storage, storage->own_claim.number, cancel, &own) < 0 &&
	    own.kind != ERR_EXISTS)
		return err_pass(err, &own);
	storage->own_claim.confirm_later = false;
	return 0;
}

int own_claim_check(struct storage *storage, const struct own_claim *claim, bool *own,
		    struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, claim->number, "");
	auto_json json_t *body = NULL;
	struct err why = {0};

	*own = true;
	if (job_record_get(storage->transfer.store, key, RECORD_ATTEMPT, &body, cancel, &why) == 0)
		*own = text_equal(json_text_or(body, "nonce", ""), claim->nonce);
	else if (why.kind == ERR_NOT_FOUND)
		*own = false;
	else if (why.kind != ERR_CORRUPT)
		return err_pass(err, &why);
	return 0;
}

int own_claim_check_nonce(struct storage *storage, uint32_t number, bool *own,
			  struct cancel *cancel, struct err *err)
{
	struct own_claim claim = storage->own_claim;

	claim.number = number;
	return own_claim_check(storage, &claim, own, cancel, err);
}

void own_claim_note_time(struct storage *storage, const struct job_listing *listing,
			 uint32_t number)
{
	storage->own_claim.put_ms = 0;
	for (size_t i = 0; i < listing->lineage.attempt_count; i++)
		if (listing->lineage.attempts[i].number == number)
			storage->own_claim.put_ms = listing->lineage.attempts[i].claimed_ms;
}

int own_claim_check_newer(struct storage *storage, uint32_t attempt,
			  const struct job_listing *listing, struct cancel *cancel, struct err *err)
{
	uint32_t newest;

	if ((listing ? own_claim_judge(storage, attempt, listing, &newest, cancel, err)
		     : storage_superseded(storage, attempt, &newest, cancel, err)) < 0)
		return -1;
	if (newest > attempt)
		return err_set(err, ERR_EXISTS, "attempt %u has taken over", newest);
	return 0;
}

void attempt_release(struct attempt *attempt)
{
	free(attempt->damaged);
	*attempt = (struct attempt){0};
}

/* --- those that are listed --- */

/* For a damaged or lost claim: the parent of the attempt's first readable snapshot is what it
 * started from. */
static int recover_claim_from_parent(struct storage *storage, const struct lineage *lineage,
				     struct lineage_attempt *attempt, struct cancel *cancel,
				     struct err *err)
{
	size_t first = lineage_first_from(lineage, (struct snapshot_id){attempt->number, 0});

	for (size_t i = first;
	     i < lineage->snapshot_count && lineage->snapshots[i].attempt == attempt->number; i++) {
		struct manifest manifest = {0};

		if (job_record_get_manifest_head(storage, lineage->snapshots[i], &manifest, cancel,
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

/* Returns the content of its claim, if this process has read it. */
static bool find_known(struct known_claims *known, struct lineage_attempt *attempt)
{
	bool found = false;

	pthread_mutex_lock(&known->mutex);
	for (size_t i = known->count; attempt->claimed_ms > 0 && !found && i > 0; i--) {
		const struct lineage_attempt *claim = &known->items[i - 1];

		found = claim->number == attempt->number &&
			claim->claimed_ms == attempt->claimed_ms;
		if (!found)
			continue;
		attempt->known = true;
		attempt->start = claim->start;
		attempt->suspect = claim->suspect;
		attempt->policy = claim->policy;
		attempt->by_hand = claim->by_hand;
	}
	pthread_mutex_unlock(&known->mutex);
	return found;
}

void known_claims_add(struct known_claims *known, const struct lineage_attempt *claim)
{
	struct lineage_attempt same = *claim;

	if (claim->claimed_ms <= 0 || find_known(known, &same))
		return;
	pthread_mutex_lock(&known->mutex);
	known->items = memory_grow(known->items, known->count + 1, sizeof(*known->items));
	known->items[known->count++] = *claim;
	pthread_mutex_unlock(&known->mutex);
}

static int read_claim(struct storage *storage, const void *about, void *answer,
		      struct cancel *cancel, struct err *err)
{
	const struct job_listing *listing = about;
	struct lineage_attempt *attempt = answer;
	auto_free char *key = job_record_key_attempt(storage, attempt->number, "");
	struct lineage_attempt claim = *attempt;
	auto_json json_t *body = NULL;
	struct err own = {0};

	if (!attempt->unread)
		return 0;
	attempt->unread = false;
	attempt->policy = RESTORE_LATEST;
	/* Another one is known by other records. */
	if (attempt->claimed && !find_known(&storage->claims, attempt)) {
		if (job_record_get(storage->transfer.store, key, RECORD_ATTEMPT, &body, cancel,
				   &own) == 0)
			claim.known = job_record_decode_claim(body, &claim);
		else if (own.kind != ERR_CORRUPT && own.kind != ERR_NOT_FOUND)
			return err_pass(err, &own);
		if (claim.known) {
			claim.unread = false;
			*attempt = claim;
			known_claims_add(&storage->claims, &claim);
		}
	}
	if (attempt->known ||
	    recover_claim_from_parent(storage, &listing->lineage, attempt, cancel, &own) == 0)
		return 0;
	return err_pass(err, &own);
}

int listed_claims_read_chain(struct storage *storage, const struct job_listing *listing,
			     uint32_t newest, uint32_t until, struct cancel *cancel,
			     struct err *err)
{
	const struct lineage *lineage = &listing->lineage;
	uint32_t number;

	while ((number = lineage_next_unread(lineage, newest, until)) != 0) {
		size_t at = lineage_attempt_from(lineage->attempts, lineage->attempt_count, number);

		if (read_claim(storage, listing, &lineage->attempts[at], cancel, err) < 0)
			return -1;
	}
	return 0;
}

int listed_claims_read(struct storage *storage, const struct job_listing *listing,
		       struct cancel *cancel, struct err *err)
{
	const struct lineage *lineage = &listing->lineage;
	auto_free struct question *claims =
		memory_new((lineage->attempt_count + 1) * sizeof(*claims));

	for (size_t i = 0; i < lineage->attempt_count; i++)
		claims[i] = (struct question){read_claim, listing, &lineage->attempts[i]};
	return ask_at_once(storage, claims, lineage->attempt_count, cancel, err);
}
