#include "own_claim.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "job_records.h"
#include "storage/backend/backend.h"
#include "storage_handle.h"

/* Who looks into a store and then writes takes so many times as long as our own put did, and so
 * long at least and at most, from its look to what it has written. */
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

static json_t *claim_body(struct storage *storage, const struct claim *claim,
			  const struct attempt *attempt)
{
	char created[32], start[SNAPSHOT_ID_TEXT], suspect[SNAPSHOT_ID_TEXT];
	/* What one member of a gang can make of a damaged snapshot, another may not. */
	bool damaged = claim->is_next && attempt->start_is_damaged;

	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:o, s:o*, s:o*, s:o*, s:o}", "attempt",
			 (json_int_t)attempt->number, "nonce", storage->own_claim.nonce, "created",
			 clock_format(clock_wall_ms(), created, sizeof(created)), "host",
			 storage->host, "policy", restore_policy_name(claim->policy), "start",
			 snapshot_id_is_none(attempt->start)
				 ? json_null()
				 : json_string(snapshot_id_format(attempt->start, start)),
			 "suspect",
			 snapshot_id_is_none(attempt->suspect)
				 ? NULL
				 : json_string(snapshot_id_format(attempt->suspect, suspect)),
			 "start_damaged", damaged ? json_string(attempt->damaged[0].text) : NULL,
			 "by_hand", claim->saves ? json_true() : NULL, "about",
			 claim->about ? json_incref(claim->about) : json_object());
}

int own_claim_put(struct storage *storage, const struct claim *claim, const struct attempt *attempt,
		  struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, attempt->number, "");
	auto_json json_t *body = NULL;

	storage->own_claim = (struct own_claim){.number = attempt->number};
	random_hex(storage->own_claim.nonce);
	body = claim_body(storage, claim, attempt);
	fault_point("before_claim_put");
	if (!body)
		return err_set(err, ERR_FAILED, "cannot write the claim as JSON");
	if (job_record_put(storage->transfer.store, key, RECORD_ATTEMPT, body, NULL, cancel, err) <
	    0)
		return -1;
	fault_point("after_claim_put");
	return 0;
}

/* Whoever had looked before has written by the end of this. */
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
	char nonce[33], created[32];
	auto_json json_t *body = NULL, *there = NULL;
	struct err own = {0};

	random_hex(nonce);
	body = json_pack("{s:I, s:s, s:s}", "attempt", (json_int_t)number, "nonce", nonce,
			 "created", clock_format(clock_wall_ms(), created, sizeof(created)));
	if (job_record_put(storage->transfer.store, key, RECORD_CONFIRMED, body, NULL, cancel,
			   &own) == 0)
		return 0;
	/* It may be ours: a put can succeed although its reply is lost. */
	if (own.kind != ERR_EXISTS)
		return err_pass(err, &own);
	if (job_record_get(storage->transfer.store, key, RECORD_CONFIRMED, &there, cancel, err) < 0)
		return -1;
	return text_equal(json_text_or(there, "nonce", ""), nonce) ? 0 : err_pass(err, &own);
}

int own_claim_ask_confirm(struct storage *storage, const void *about, void *answer,
			  struct cancel *cancel, struct err *err)
{
	(void)about, (void)answer;
	if (own_claim_confirm(storage, storage->own_claim.number, cancel, err) < 0)
		return -1;
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
