/* Claims an attempt, checks whether a newer one has been claimed, and writes the end record. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "job_records.h"

#include <stdlib.h>
#include <string.h>

/* races to lose before giving up */
#define CLAIM_TRIES_MOST 100
/* claims of one call: each repeats because a commit slipped in before the claim */
#define RECHECKS_MOST 4

void attempt_release(struct attempt *attempt)
{
	free(attempt->damaged);
	*attempt = (struct attempt){0};
}

/* 0: sound; 1: damaged, with the reason in err; -1: the store could not be read. */
static int check_soundness(struct storage *storage, const struct job_listing *listing,
			   struct snapshot_id id, struct cancel *cancel, struct err *err)
{
	struct manifest manifest = {0};
	int result = job_record_get_manifest(storage, id, &manifest, cancel, err);

	if (result == 0) {
		result = job_records_check_packs(storage, &manifest, &listing->packs,
						 &listing->damaged, err);
		manifest_release(&manifest);
	}
	if (result < 0 && (err->kind == ERR_CORRUPT || err->kind == ERR_NOT_FOUND))
		return 1;
	return result;
}

static void add_damage(struct attempt *attempt, struct snapshot_id id, const char *text)
{
	struct damaged_snapshot *damage;

	attempt->damaged = memory_grow(attempt->damaged, attempt->damaged_count + 1,
				       sizeof(*attempt->damaged));
	damage = &attempt->damaged[attempt->damaged_count++];
	damage->id = id;
	text_set(damage->text, sizeof(damage->text), text);
}

static bool is_passed_over(const struct claim *claim, struct snapshot_id id)
{
	for (size_t i = 0; i < claim->passed_over_count; i++)
		if (snapshot_id_compare(claim->passed_over[i].id, id) == 0)
			return true;
	return false;
}

/* The start is the first of the candidates, newest first, that is sound; or none. Those before it
 * are named. */
static int find_sound(struct storage *storage, const struct job_listing *listing,
		      const struct claim *claim, const struct snapshot_id *candidates, size_t count,
		      struct attempt *attempt, struct cancel *cancel, struct err *err)
{
	for (size_t i = 0; i < count && snapshot_id_is_none(attempt->start); i++) {
		struct err own = {0};
		int damaged =
			is_passed_over(claim, candidates[i])
				? -2
				: check_soundness(storage, listing, candidates[i], cancel, &own);

		if (damaged == -1) {
			if (err)
				*err = own;
			return -1;
		}
		if (damaged == 0)
			attempt->start = candidates[i];
		else if (damaged > 0)
			add_damage(attempt, candidates[i], own.text);
	}
	return 0;
}

static int choose_specific(struct storage *storage, const struct job_listing *listing,
			   const struct claim *claim, struct attempt *attempt,
			   struct cancel *cancel, struct err *err)
{
	const struct lineage *lineage = &listing->lineage;
	bool there = false;
	char text[SNAPSHOT_ID_TEXT];

	for (size_t i = 0; i < lineage->snapshot_count; i++)
		there |= snapshot_id_compare(lineage->snapshots[i], claim->this_one) == 0;
	snapshot_id_format(claim->this_one, text);
	if (!there)
		return err_set(err, ERR_NOT_FOUND, "job %s has no snapshot %s",
			       storage->transfer.job, text);
	if (find_sound(storage, listing, claim, &claim->this_one, 1, attempt, cancel, err) < 0)
		return -1;
	if (attempt->damaged_count)
		return err_set(err, ERR_CORRUPT, "snapshot %s is damaged: %s", text,
			       attempt->damaged[0].text);
	return 0;
}

static int all_are_damaged(struct storage *storage, struct snapshot_id newest,
			   const struct attempt *attempt, struct err *err)
{
	const char *why = attempt->damaged_count > 0 ? attempt->damaged[0].text : "it was read";
	char text[SNAPSHOT_ID_TEXT];

	return err_set(err, ERR_CORRUPT, "every snapshot of job %s is damaged (%s: %s)",
		       storage->transfer.job, snapshot_id_format(newest, text), why);
}

/* Chooses the snapshot that a new attempt would start from if `newest` were the newest attempt. */
static int choose_start(struct storage *storage, const struct job_listing *listing,
			const struct claim *claim, uint32_t newest, struct attempt *attempt,
			struct cancel *cancel, struct err *err)
{
	auto_free struct snapshot_id *candidates = NULL;
	size_t count;

	attempt_release(attempt);
	switch (claim->policy) {
	case RESTORE_NONE:
		return 0;
	case RESTORE_SPECIFIC:
		return choose_specific(storage, listing, claim, attempt, cancel, err);
	case RESTORE_LATEST:
		break;
	}
	candidates = memory_new(listing->lineage.snapshot_count * sizeof(*candidates));
	count = lineage_chain(&listing->lineage, newest, candidates);
	if (count > 1 && !snapshot_id_is_none(claim->avoid) &&
	    snapshot_id_compare(candidates[0], claim->avoid) == 0) {
		if (find_sound(storage, listing, claim, candidates + 1, count - 1, attempt, cancel,
			       err) < 0)
			return -1;
		attempt->suspect = claim->avoid;
		if (!snapshot_id_is_none(attempt->start))
			return 0;
		/* No sound snapshot behind it: a suspect one is better than none. */
		attempt_release(attempt);
	}
	if (find_sound(storage, listing, claim, candidates, count, attempt, cancel, err) < 0)
		return -1;
	return claim->needs_start && count > 0 && snapshot_id_is_none(attempt->start)
		       ? all_are_damaged(storage, candidates[0], attempt, err)
		       : 0;
}

static json_t *claim_body(struct storage *storage, const struct claim *claim,
			  const struct attempt *attempt)
{
	static const char *const policies[] =
		{[RESTORE_LATEST] = "latest", [RESTORE_NONE] = "none", [RESTORE_SPECIFIC] = "this"};
	char created[32], start[SNAPSHOT_ID_TEXT], suspect[SNAPSHOT_ID_TEXT];

	random_hex(storage->own_claim.nonce);
	storage->own_claim.number = attempt->number;
	storage->own_claim.put_ms = 0;
	return json_pack("{s:I, s:b, s:s, s:s, s:s, s:s, s:o, s:o*, s:o}", "attempt",
			 (json_int_t)attempt->number, "confirms", true, "nonce",
			 storage->own_claim.nonce, "created",
			 clock_format(clock_wall_ms(), created, sizeof(created)), "host",
			 storage->host, "policy", policies[claim->policy], "start",
			 snapshot_id_is_none(attempt->start)
				 ? json_null()
				 : json_string(snapshot_id_format(attempt->start, start)),
			 "suspect",
			 snapshot_id_is_none(attempt->suspect)
				 ? NULL
				 : json_string(snapshot_id_format(attempt->suspect, suspect)),
			 "about", claim->about ? json_incref(claim->about) : json_object());
}

static int put_claim(struct storage *storage, const struct claim *claim,
		     const struct attempt *attempt, struct cancel *cancel, struct err *err)
{
	auto_json json_t *body = claim_body(storage, claim, attempt);
	auto_free char *key = job_record_key_attempt(storage, attempt->number);

	fault_point("before_claim_put");
	if (!body)
		return err_set(err, ERR_FAILED, "cannot write the claim as JSON");
	if (job_record_put(storage->transfer.store, key, RECORD_ATTEMPT, body, NULL, cancel, err) <
	    0)
		return -1;
	fault_point("after_claim_put");
	return 0;
}

/* Whoever collects garbage sees no newer one, as long as it began before this claim. */
static void note_newest_snapshot(struct storage *storage, const struct lineage *lineage)
{
	if (lineage->snapshot_count > 0)
		storage->newest_at_claim = lineage->snapshots[lineage->snapshot_count - 1];
}

static bool was_left_on_purpose(const struct lineage *lineage, struct snapshot_id id)
{
	enum snapshot_state state =
		snapshot_id_is_none(id) ? SNAPSHOT_GOOD : lineage_state(lineage, id);

	return state == SNAPSHOT_SUPERSEDED_BY_RESTORE || state == SNAPSHOT_SUSPECT;
}

/* A claim of our number may be another's, if the store was emptied and begun anew. */
static int check_nonce(struct storage *storage, uint32_t number, bool *own, struct cancel *cancel,
		       struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, number);
	auto_json json_t *body = NULL;
	struct err why = {0};

	*own = true;
	if (job_record_get(storage->transfer.store, key, RECORD_ATTEMPT, &body, cancel, &why) == 0)
		*own = text_equal(json_text_or(body, "nonce", ""), storage->own_claim.nonce);
	else if (why.kind == ERR_NOT_FOUND)
		*own = false;
	else if (why.kind != ERR_CORRUPT)
		return err_set(err, why.kind, "%s", why.text);
	return 0;
}

/*
 * One round: list, choose, claim. `as_of` is the number of our own claim of the round before, or 0;
 * *before is the newest attempt before our own. ERR_EXISTS: another process claimed the number
 * first.
 */
static int claim_once(struct storage *storage, const struct claim *claim, uint32_t as_of,
		      uint32_t *before, struct attempt *attempt, struct cancel *cancel,
		      struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	bool own = false;
	uint32_t newest;

	if (job_records_list(storage, &listing, cancel, err) < 0)
		return -1;
	note_newest_snapshot(storage, &listing.lineage);
	newest = lineage_newest_attempt(&listing.lineage);
	/* Our own claim of the round before must not decide what to continue from; a claim of
	 * somebody else after it must. */
	if (as_of && newest == as_of && check_nonce(storage, as_of, &own, cancel, err) < 0)
		return -1;
	*before = own ? *before : newest;
	if (choose_start(storage, &listing, claim, *before, attempt, cancel, err) < 0)
		return -1;
	attempt->local_left = was_left_on_purpose(&listing.lineage, claim->local);
	if (newest == UINT32_MAX)
		return err_set(err, ERR_FAILED, "the attempt counter of job %s is exhausted",
			       storage->transfer.job);
	attempt->number = newest + 1;
	return put_claim(storage, claim, attempt, cancel, err);
}

static int claim_next_number(struct storage *storage, const struct claim *claim, uint32_t as_of,
			     uint32_t *before, struct attempt *attempt, struct cancel *cancel,
			     struct err *err)
{
	struct err own = {0};

	for (int i = 0; i < CLAIM_TRIES_MOST; i++) {
		if (claim_once(storage, claim, as_of, before, attempt, cancel, &own) == 0)
			return 0;
		if (own.kind != ERR_EXISTS)
			break;
	}
	if (err)
		*err = own;
	return -1;
}

/* When our claim was put, by the listing: from then on it is known by that. */
static void note_own_claim(struct storage *storage, const struct job_listing *listing,
			   uint32_t number)
{
	storage->own_claim.put_ms = 0;
	for (size_t i = 0; i < listing->lineage.attempt_count; i++)
		if (listing->lineage.attempts[i].number == number)
			storage->own_claim.put_ms = listing->records[i].claimed_ms;
}

enum second_look {
	CLAIM_STANDS,
	/* Another snapshot would be chosen now: a commit came between our listing and our claim, an
	 * older claim was confirmed, or damage was found. */
	CLAIM_SLIPPED,
	/* The store was emptied: the claim is not there, or is another's. */
	CLAIM_LOST,
};

static int look_again(struct storage *storage, const struct claim *claim, uint32_t before,
		      const struct attempt *claimed, enum second_look *look, struct cancel *cancel,
		      struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	struct attempt now = {0};
	bool own;

	*look = CLAIM_STANDS;
	if (claim->policy != RESTORE_LATEST)
		return 0;
	/* Also if a newer attempt has taken over already: its claimer may have listed the snapshots
	 * before ours, and our claim, once it counts, would hide from it what came between. */
	if (job_records_list(storage, &listing, cancel, err) < 0 ||
	    check_nonce(storage, claimed->number, &own, cancel, err) < 0 ||
	    choose_start(storage, &listing, claim, before, &now, cancel, err) < 0)
		return -1;
	note_own_claim(storage, &listing, claimed->number);
	if (!own)
		*look = CLAIM_LOST;
	else if (snapshot_id_compare(now.start, claimed->start) != 0)
		*look = CLAIM_SLIPPED;
	attempt_release(&now);
	return 0;
}

/* From now on the claim counts, also if we die before the first snapshot. */
static int confirm_claim(struct storage *storage, uint32_t number, struct cancel *cancel,
			 struct err *err)
{
	auto_free char *key = job_record_key_confirmed(storage, number);
	char nonce[33], created[32];
	auto_json json_t *body = NULL;

	random_hex(nonce);
	body = json_pack("{s:I, s:s, s:s}", "attempt", (json_int_t)number, "nonce", nonce,
			 "created", clock_format(clock_wall_ms(), created, sizeof(created)));
	return job_record_put(storage->transfer.store, key, RECORD_CONFIRMED, body, NULL, cancel,
			      err);
}

/* A claim is confirmed only if its choice stands: else what slipped in would be passed over. */
static int claim_until_stable(struct storage *storage, const struct claim *claim,
			      struct attempt *attempt, struct cancel *cancel, struct err *err)
{
	enum second_look look = CLAIM_SLIPPED;
	uint32_t before = 0, as_of = 0;

	for (int i = 0; look != CLAIM_STANDS; i++) {
		if (i == RECHECKS_MOST)
			return err_set(err, ERR_RETRY,
				       "snapshots come faster than it can be looked for them");
		if (claim_next_number(storage, claim, as_of, &before, attempt, cancel, err) < 0 ||
		    look_again(storage, claim, before, attempt, &look, cancel, err) < 0)
			return -1;
		as_of = look == CLAIM_LOST ? 0 : attempt->number;
	}
	return confirm_claim(storage, attempt->number, cancel, err);
}

int storage_claim(struct storage *storage, const struct claim *claim, struct attempt *attempt,
		  struct cancel *cancel, struct err *err)
{
	*attempt = (struct attempt){0};
	if (claim_until_stable(storage, claim, attempt, cancel, err) < 0) {
		attempt_release(attempt);
		return err_wrap(err, "cannot claim an attempt of job %s", storage->transfer.job);
	}
	job_records_trim_memory();
	return 0;
}

/* --- a store that was emptied --- */

/* What the listing of the attempts shows. */
struct claims_listed {
	uint32_t newest; /* 0: there is none */
	bool own;
};

static int list_claims(struct storage *storage, uint32_t own, struct claims_listed *claims,
		       struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};
	const struct lineage *lineage = &listing.lineage;
	int64_t put_ms = own == storage->own_claim.number ? storage->own_claim.put_ms : 0;

	*claims = (struct claims_listed){0};
	if (job_records_list_attempts(storage, &listing, cancel, err) < 0)
		return -1;
	claims->newest = lineage_newest_attempt(lineage);
	for (size_t i = 0; i < lineage->attempt_count; i++) {
		if (lineage->attempts[i].number != own)
			continue;
		claims->own = true;
		if (put_ms > 0 && listing.records[i].claimed_ms != put_ms &&
		    check_nonce(storage, own, &claims->own, cancel, err) < 0)
			return -1;
	}
	return 0;
}

static int is_begun_anew(uint32_t newest, struct err *err)
{
	return err_set(err, ERR_EXISTS, "the store was emptied, and attempt %u has begun in it",
		       newest);
}

/* The numbers of a store that was emptied begin at 1 again. Ours, which is higher, must be there
 * before we commit, so that an attempt that has begun meanwhile sees it; and it must not count if
 * one has. */
static int claim_again(struct storage *storage, uint32_t number, struct cancel *cancel,
		       struct err *err)
{
	struct claim claim = {.policy = RESTORE_LATEST};
	struct attempt attempt = {.number = number};
	auto_(job_listing_release) struct job_listing listing = {0};

	if (put_claim(storage, &claim, &attempt, cancel, err) < 0 ||
	    job_records_list_attempts(storage, &listing, cancel, err) < 0)
		return -1;
	/* They are listed in order, so one that has begun anew comes first. */
	if (listing.lineage.attempt_count > 1)
		return is_begun_anew(listing.lineage.attempts[0].number, err);
	note_own_claim(storage, &listing, number);
	return confirm_claim(storage, number, cancel, err);
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
		if (err)
			*err = own;
		return -1;
	}
	if (claim_again(storage, number, cancel, err) < 0)
		return -1;
	storage->emptied = true;
	for (size_t i = 0; i < storage->transfer.index.pack_count; i++)
		chunk_index_pack_lost(&storage->transfer.index, (uint32_t)i);
	return err_set(err, ERR_RETRY,
		       "the store has been emptied: the next save sends everything again");
}

int storage_superseded(struct storage *storage, uint32_t number, uint32_t *newest,
		       struct cancel *cancel, struct err *err)
{
	struct claims_listed claims;

	*newest = number;
	if (list_claims(storage, number, &claims, cancel, err) < 0)
		return -1;
	if (claims.newest > number)
		*newest = claims.newest;
	if (number == 0 || claims.own || claims.newest > number || storage->read_only)
		return 0;
	return claims.newest > 0 ? is_begun_anew(claims.newest, err)
				 : refill_emptied_store(storage, number, cancel, err);
}

/* --- the end --- */

int storage_end_attempt(struct storage *storage, uint32_t number, const char *outcome,
			json_t *about, struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_end(storage, number);
	char nonce[33], created[32];
	auto_json json_t *body = NULL;

	random_hex(nonce);
	body = json_pack("{s:I, s:s, s:s, s:s, s:s, s:o}", "attempt", (json_int_t)number, "nonce",
			 nonce, "created", clock_format(clock_wall_ms(), created, sizeof(created)),
			 "host", storage->host, "outcome", outcome, "about",
			 about ? json_incref(about) : json_object());
	if (!body)
		return err_set(err, ERR_FAILED, "cannot write the end record as JSON");
	return job_record_put(storage->transfer.store, key, RECORD_END, body, NULL, cancel, err);
}
