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

static json_t *claim_body(struct storage *storage, const struct claim *claim,
			  const struct attempt *attempt)
{
	char created[32], start[SNAPSHOT_ID_TEXT], suspect[SNAPSHOT_ID_TEXT];
	/* What one member of a gang can make of a damaged snapshot, another may not. */
	bool damaged = claim->is_next && attempt->start_is_damaged;

	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:o, s:o*, s:o*, s:o}", "attempt",
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
			 "about", claim->about ? json_incref(claim->about) : json_object());
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

/* --- whether another attempt has taken over --- */

/* What the listing of the attempts shows. */
struct claims_listed {
	uint32_t newest; /* 0: there is none */
	bool own;
};

static int find_own(struct storage *storage, uint32_t own, const struct job_listing *listing,
		    struct claims_listed *claims, struct cancel *cancel, struct err *err)
{
	const struct lineage *lineage = &listing->lineage;
	int64_t put_ms = own == storage->own_claim.number ? storage->own_claim.put_ms : 0;

	*claims = (struct claims_listed){0};
	claims->newest = lineage_newest_attempt(lineage);
	for (size_t i = 0; i < lineage->attempt_count; i++) {
		if (lineage->attempts[i].number != own)
			continue;
		claims->own = true;
		if (put_ms > 0 && lineage->attempts[i].claimed_ms != put_ms &&
		    own_claim_check_nonce(storage, own, &claims->own, cancel, err) < 0)
			return -1;
		if (put_ms > 0 && claims->own)
			storage->own_claim.seen_ms = listing->listed_ms;
	}
	return 0;
}

static int is_begun_anew(uint32_t newest, struct err *err)
{
	return err_set(err, ERR_EXISTS, "the store was emptied, and attempt %u has begun in it",
		       newest);
}

static int confirm_again(struct storage *storage, uint32_t number, struct cancel *cancel,
			 struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct err own = {0};

	if (job_records_list_singles(storage, &listing, cancel, err) < 0)
		return -1;
	/* They are listed in order, so one that has begun anew comes first. */
	if (listing.lineage.attempt_count > 1)
		return is_begun_anew(listing.lineage.attempts[0].number, err);
	own_claim_note_time(storage, &listing, number);
	/* One that exists is of an earlier call, whose answer was lost. */
	if (own_claim_confirm(storage, number, cancel, &own) < 0 && own.kind != ERR_EXISTS)
		return err_pass(err, &own);
	storage->own_claim.put_again = false;
	return 0;
}

/* The numbers of a store that was emptied begin at 1 again. Ours, which is higher, must be there
 * before we commit, so that an attempt that has begun meanwhile sees it; and it must not count if
 * one has. */
static int claim_again(struct storage *storage, uint32_t number, struct cancel *cancel,
		       struct err *err)
{
	struct claim claim = {.policy = RESTORE_LATEST};
	struct attempt attempt = {.number = number};
	int status = own_claim_put(storage, &claim, &attempt, cancel, err);

	/* Also if the answer was lost: it may be there. */
	storage->own_claim.put_again = true;
	return status < 0 ? -1 : confirm_again(storage, number, cancel, err);
}

/*
 * Called when our own claim is gone: somebody has emptied the store under a running job. The packs
 * that the next save would rely on are gone too, so it must send everything; the format marker and
 * the claim are put again.
 */
static int refill_emptied_store(struct storage *storage, uint32_t number, struct cancel *cancel,
				struct err *err)
{
	struct err own = {0};

	if (record_put_format(storage->transfer.store, cancel, &own) < 0 &&
	    own.kind != ERR_EXISTS) {
		return err_pass(err, &own);
	}
	if (claim_again(storage, number, cancel, err) < 0)
		return -1;
	storage->emptied = true;
	for (size_t i = 0; i < storage->transfer.index.pack_count; i++)
		chunk_index_pack_lost(&storage->transfer.index, (uint32_t)i);
	return err_set(err, ERR_RETRY,
		       "the store has been emptied: the next save sends everything again");
}

int own_claim_judge(struct storage *storage, uint32_t number, const struct job_listing *listing,
		    uint32_t *newest, struct cancel *cancel, struct err *err)
{
	struct claims_listed claims;

	*newest = number;
	if (find_own(storage, number, listing, &claims, cancel, err) < 0)
		return -1;
	if (claims.newest > number)
		*newest = claims.newest;
	else if (claims.own && number == storage->own_claim.number && storage->own_claim.put_again)
		return confirm_again(storage, number, cancel, err);
	if (number == 0 || claims.own || claims.newest > number || storage->read_only)
		return 0;
	/* The claim is of all members: not each of them may put it again. */
	if (storage_is_member(storage))
		return err_set(err, ERR_EXISTS, "the store was emptied: start the gang again");
	return claims.newest > 0 ? is_begun_anew(claims.newest, err)
				 : refill_emptied_store(storage, number, cancel, err);
}

int storage_superseded(struct storage *storage, uint32_t number, uint32_t *newest,
		       struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};

	*newest = number;
	return job_records_list_singles(storage, &listing, cancel, err) < 0
		       ? -1
		       : own_claim_judge(storage, number, &listing, newest, cancel, err);
}

void attempt_release(struct attempt *attempt)
{
	free(attempt->damaged);
	*attempt = (struct attempt){0};
}
