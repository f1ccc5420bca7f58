/* Claims an attempt, checks whether a newer one has been claimed, and writes the end record. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "forget.h"
#include "snapshots.h"
#include "storage/records/records.h"

#include <stdlib.h>
#include <string.h>

/* races to lose before giving up */
#define CLAIM_TRIES_MOST 100
/* claims of one call: each repeats because a commit slipped in before the claim */
#define RECHECKS_MOST 4
/* the look behind a commit serves for the end record that follows */
#define SEEN_LATELY_MS 1000
/* what a start gives to forgetting attempts, and so many at most */
#define FORGET_MOST_MS 5000
#define FORGET_AT_START 128
/* what is fetched beside the claim, and how long that may take */
#define EARLY_MOST_BYTES ((uint64_t)1 << 20)
#define EARLY_MOST_MS 2000

/* 0: sound; 1: damaged, with the reason in err; -1: the store could not be read. Lists only the
 * packs that the manifest names, after it was read. */
static int check_soundness(struct storage *storage, struct snapshot_id id, struct cancel *cancel,
			   struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	auto_(store_listing_release) struct store_listing packs = {0};
	bool read = first_look_has(storage, id);

	if ((read ? job_record_get_known_head(storage, id, &manifest, cancel, err)
		  : job_record_get_manifest_head(storage, id, &manifest, cancel, err)) == 0 &&
	    ((read && first_look_take_packs(storage, &manifest, &packs)) ||
	     pack_listing_get_named(storage, &manifest, &packs, cancel, err) == 0) &&
	    pack_listing_check(storage, &manifest, &packs, err) == 0)
		return 0;
	return err->kind == ERR_CORRUPT || err->kind == ERR_NOT_FOUND ? 1 : -1;
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

/* A claim in the making. */
struct claiming {
	struct storage *storage;
	const struct claim *claim;
	/* What was listed last. */
	struct job_listing listing;
	/* The newest attempt before our own, from which we would continue. */
	uint32_t before;
	/* How long the put of our claim took. */
	int64_t put_took_ms;
	/* What a save that follows may rely on was listed at the second look. */
	bool warm;
	struct store_listing packs;
	/* Found sound by this claim. */
	struct snapshot_id sound;
	/* What this process had claimed before is gone: the store was emptied, and what is passed
	 * over was damaged in the store as it was. */
	bool emptied;
	struct cancel *cancel;
};

static void claiming_release(struct claiming *claiming)
{
	job_listing_release(&claiming->listing);
	store_listing_release(&claiming->packs);
}
AUTO(struct claiming, claiming_release);

static bool is_passed_over(const struct claiming *claiming, struct snapshot_id id)
{
	const struct claim *claim = claiming->claim;

	for (size_t i = 0; i < claim->passed_over_count && !claiming->emptied; i++)
		if (snapshot_id_compare(claim->passed_over[i].id, id) == 0)
			return true;
	return false;
}

/* The start is the first of the candidates, newest first, that is sound; or none. Those before it
 * are named. */
static int find_sound(struct claiming *claiming, const struct snapshot_id *candidates, size_t count,
		      struct attempt *attempt, struct err *err)
{
	for (size_t i = 0; i < count && snapshot_id_is_none(attempt->start); i++) {
		struct err own = {0};
		int damaged = 0;

		if (is_passed_over(claiming, candidates[i]))
			continue;
		if (snapshot_id_compare(candidates[i], claiming->sound) != 0)
			damaged = check_soundness(claiming->storage, candidates[i],
						  claiming->cancel, &own);
		if (damaged < 0)
			return err_pass(err, &own);
		if (damaged)
			add_damage(attempt, candidates[i], own.text);
		else
			attempt->start = claiming->sound = candidates[i];
	}
	return 0;
}

/* What this start was to go on from at first, if it is still there; else the newest candidate. Its
 * later claims, each behind one damaged snapshot more, have taken the newer ones off the chain. */
static struct snapshot_id first_of_damaged(const struct claiming *claiming,
					   struct snapshot_id newest_candidate)
{
	const struct lineage *lineage = &claiming->listing.lineage;

	if (claiming->claim->passed_over_count == 0 || claiming->emptied)
		return newest_candidate;
	for (size_t i = 0; i < lineage->snapshot_count; i++)
		if (snapshot_id_compare(lineage->snapshots[i],
					claiming->claim->passed_over[0].id) == 0)
			return lineage->snapshots[i];
	return newest_candidate;
}

static int choose_specific(struct claiming *claiming, struct attempt *attempt, struct err *err)
{
	const struct lineage *lineage = &claiming->listing.lineage;
	const struct snapshot_id *wanted = &claiming->claim->this_one;
	bool there = false;
	char text[SNAPSHOT_ID_TEXT];

	for (size_t i = 0; i < lineage->snapshot_count; i++)
		there |= snapshot_id_compare(lineage->snapshots[i], *wanted) == 0;
	snapshot_id_format(*wanted, text);
	if (!there)
		return err_set(err, ERR_NOT_FOUND, "job %s has no snapshot %s",
			       claiming->storage->transfer.job, text);
	if (find_sound(claiming, wanted, 1, attempt, err) < 0)
		return -1;
	if (attempt->damaged_count)
		return err_set(err, ERR_CORRUPT, "snapshot %s is damaged: %s", text,
			       attempt->damaged[0].text);
	return 0;
}

/* Of the chain, those whose place is known: of its first attempt, as long as no claim behind that
 * was read. */
static size_t count_first(const struct snapshot_id *chain, size_t count)
{
	size_t first = 0;

	while (first < count && chain[first].attempt == chain[0].attempt)
		first++;
	return first;
}

/* As a rule the newest one is sound: then one or two claims are read, and else all. */
static int choose_latest(struct claiming *claiming, bool all, struct attempt *attempt,
			 struct err *err)
{
	const struct lineage *lineage = &claiming->listing.lineage;
	const struct claim *claim = claiming->claim;
	auto_free struct snapshot_id *chain = NULL;
	size_t count;

	if ((all ? listed_claims_read(claiming->storage, &claiming->listing, claiming->cancel, err)
		 : listed_claims_read_chain(claiming->storage, &claiming->listing, claiming->before,
					    0, claiming->cancel, err)) < 0)
		return -1;
	chain = memory_new((lineage->snapshot_count + 1) * sizeof(*chain));
	count = lineage_chain(lineage, claiming->before, chain);
	if (!all)
		count = count_first(chain, count);
	if (count > 1 && !snapshot_id_is_none(claim->avoid) &&
	    snapshot_id_compare(chain[0], claim->avoid) == 0) {
		if (find_sound(claiming, chain + 1, count - 1, attempt, err) < 0)
			return -1;
		attempt->suspect = claim->avoid;
		if (!snapshot_id_is_none(attempt->start) || !all)
			return 0;
		/* No sound snapshot behind it: a suspect one is better than none. */
		attempt_release(attempt);
	} else if (!all && count == 1 && snapshot_id_compare(chain[0], claim->avoid) == 0) {
		return 0;
	}
	if (find_sound(claiming, chain, count, attempt, err) < 0)
		return -1;
	/* A claim from nothing would leave them behind for ever, and damage may be temporary. */
	if (all && count > 0 && snapshot_id_is_none(attempt->start)) {
		attempt->start = first_of_damaged(claiming, chain[0]);
		attempt->start_is_damaged = true;
	}
	return 0;
}

/* Chooses the snapshot that a new attempt would start from if claiming->before were the newest
 * attempt. */
static int choose_start(struct claiming *claiming, struct attempt *attempt, struct err *err)
{
	attempt_release(attempt);
	switch (claiming->claim->policy) {
	case RESTORE_NONE:
		return 0;
	case RESTORE_SPECIFIC:
		return choose_specific(claiming, attempt, err);
	case RESTORE_LATEST:
		break;
	}
	if (choose_latest(claiming, false, attempt, err) < 0)
		return -1;
	if (!snapshot_id_is_none(attempt->start))
		return 0;
	attempt_release(attempt);
	return choose_latest(claiming, true, attempt, err);
}

/* Whoever collects garbage sees no newer one, unless it sees this claim as well: so it is noted
 * once more when the claim is there. What came in between was committed by an attempt that may be
 * removing, just now, what it no longer needs. */
static void note_snapshots(struct storage *storage, const struct job_listing *listing)
{
	const struct lineage *lineage = &listing->lineage;

	storage->swept_at_claim = listing->swept;
	if (lineage->snapshot_count > 0)
		storage->newest_at_claim = lineage->snapshots[lineage->snapshot_count - 1];
}

/* What is on the chain shows without the claims that are off it. */
static int was_left_on_purpose(struct claiming *claiming, struct snapshot_id id, bool *left,
			       struct err *err)
{
	const struct job_listing *listing = &claiming->listing;
	enum snapshot_state state;

	*left = false;
	if (snapshot_id_is_none(id))
		return 0;
	if (listed_claims_read_chain(claiming->storage, listing,
				     lineage_newest_attempt(&listing->lineage), id.attempt,
				     claiming->cancel, err) < 0)
		return -1;
	if (lineage_state(&listing->lineage, id) == SNAPSHOT_GOOD)
		return 0;
	if (listed_claims_read(claiming->storage, listing, claiming->cancel, err) < 0)
		return -1;
	state = lineage_state(&listing->lineage, id);
	*left = state == SNAPSHOT_SUPERSEDED_BY_RESTORE || state == SNAPSHOT_SUSPECT;
	return 0;
}

/* After the listing: if the claim is there now, so were the snapshots that were passed over. */
static int check_not_emptied(struct claiming *claiming, struct err *err)
{
	const struct own_claim *earlier = &claiming->storage->earlier_claim;
	bool own;

	if (claiming->claim->passed_over_count == 0 || earlier->number == 0 || claiming->emptied ||
	    attempt_is_long_past(&claiming->listing.lineage, earlier->number))
		return 0;
	if (own_claim_check(claiming->storage, earlier, &own, claiming->cancel, err) < 0)
		return -1;
	claiming->emptied = !own;
	return 0;
}

/* `first`: no claim of ours is there yet, so what the history has listed serves. */
static int list_lineage(struct claiming *claiming, bool first, struct err *err)
{
	job_listing_release(&claiming->listing);
	if (!(first && first_look_take(claiming->storage, &claiming->listing, false)) &&
	    job_records_list_lineage(claiming->storage, &claiming->listing, claiming->cancel, err) <
		    0)
		return -1;
	return check_not_emptied(claiming, err);
}

/* Whoever has gathered a gang below an attempt, and has been stopped since, is not to end what the
 * others have begun meanwhile. */
static int check_is_next(const struct claiming *claiming, uint32_t newest, uint32_t as_of,
			 struct err *err)
{
	if (!claiming->claim->is_next || newest == claiming->claim->after ||
	    (as_of > 0 && newest == as_of))
		return 0;
	return err_set(err, ERR_UNFIT, "attempt %u has been claimed meanwhile", newest);
}

/* --- what is fetched beside the claim --- */

/* What does not come soon is fetched when it is wanted. */
static int ask_pack(struct storage *storage, const void *about, void *answer, struct cancel *cancel,
		    struct err *err)
{
	const struct attempt *attempt = about;
	struct early_pack *early = answer;
	auto_(manifest_release) struct manifest manifest = {0};
	auto_(cancel_release) struct cancel soon = {.fd = -1};
	auto_free char *key = NULL;
	struct store *store = storage->transfer.store;

	(void)err;
	if (cancel_raised(cancel) || cancel_init(&soon, NULL) < 0)
		return 0;
	cancel_set_deadline(&soon, clock_monotonic_ms() + EARLY_MOST_MS);
	if (job_record_get_known_head(storage, attempt->start, &manifest, &soon, NULL) < 0 ||
	    manifest.pack_count != 1 || manifest.packs[0].bytes > EARLY_MOST_BYTES)
		return 0;
	key = transfer_pack_key(&storage->transfer, manifest.packs[0].key);
	if (store->ops->get(store, key, 0, (size_t)manifest.packs[0].bytes, &early->data, &soon,
			    NULL) == 0)
		early->key = text_copy(manifest.packs[0].key);
	return 0;
}

static int ask_claim(struct storage *storage, const void *about, void *answer,
		     struct cancel *cancel, struct err *err)
{
	struct claiming *claiming = answer;
	int64_t began_ms = clock_monotonic_ms();
	int result = own_claim_put(storage, claiming->claim, about, cancel, err);

	claiming->put_took_ms = clock_monotonic_ms() - began_ms;
	return result;
}

static int put_claim(struct claiming *claiming, const struct attempt *attempt, struct err *err)
{
	struct storage *storage = claiming->storage;
	const struct question questions[] = {{ask_claim, attempt, claiming},
					     {ask_pack, attempt, &storage->transfer.early}};
	bool fetches = claiming->claim->restores && storage->transfer.remote &&
		       !snapshot_id_is_none(attempt->start);

	transfer_drop_early(&storage->transfer);
	return ask_at_once(storage, questions, fetches ? 2 : 1, claiming->cancel, err);
}

/*
 * One round: list, choose, claim. `as_of` is the number of our own claim of the round before, or 0.
 * ERR_EXISTS: another process claimed the number first.
 */
static int claim_once(struct claiming *claiming, uint32_t as_of, struct attempt *attempt,
		      struct err *err)
{
	struct storage *storage = claiming->storage;
	bool own = false;
	uint32_t newest;

	if (list_lineage(claiming, as_of == 0 && !claiming->claim->is_next, err) < 0)
		return -1;
	note_snapshots(storage, &claiming->listing);
	newest = lineage_newest_attempt(&claiming->listing.lineage);
	if (check_is_next(claiming, newest, as_of, err) < 0)
		return -1;
	/* Our own claim of the round before must not decide what to continue from; a claim of
	 * somebody else after it must. */
	if (as_of && newest == as_of &&
	    own_claim_check_nonce(storage, as_of, &own, claiming->cancel, err) < 0)
		return -1;
	if (!own)
		claiming->before = newest;
	if (choose_start(claiming, attempt, err) < 0 ||
	    was_left_on_purpose(claiming, claiming->claim->local, &attempt->local_left, err) < 0)
		return -1;
	if (newest == UINT32_MAX)
		return err_set(err, ERR_FAILED, "the attempt counter of job %s is exhausted",
			       storage->transfer.job);
	attempt->number = newest + 1;
	if (storage->read_only)
		return err_set(err, ERR_NO_SPACE, "the store was opened for reading only");
	return put_claim(claiming, attempt, err);
}

static int claim_next_number(struct claiming *claiming, uint32_t as_of, struct attempt *attempt,
			     struct err *err)
{
	struct err own = {0};

	for (int i = 0; i < CLAIM_TRIES_MOST; i++) {
		if (claim_once(claiming, as_of, attempt, &own) == 0)
			return 0;
		if (own.kind != ERR_EXISTS)
			break;
	}
	return err_pass(err, &own);
}

enum second_look {
	CLAIM_STANDS,
	/* Another snapshot would be chosen now: a commit came between our listing and our claim, an
	 * older claim was confirmed, or damage was found. */
	CLAIM_SLIPPED,
	/* The store was emptied: the claim is not there, or is another's. Or the number was not
	 * free: it looked so if we had listed the attempts before it was taken, and put our claim
	 * after that attempt was forgotten. So many are newer then. */
	CLAIM_LOST,
};

static int outlast_window(const struct claiming *claiming, struct err *err)
{
	struct store_health health = store_read_health(claiming->storage->transfer.store);
	int64_t window_ms = own_claim_window_ms(&health, claiming->put_took_ms);

	return window_ms > 0 ? cancel_sleep(claiming->cancel, window_ms, err) : 0;
}

static int ask_lineage(struct storage *storage, const void *about, void *answer,
		       struct cancel *cancel, struct err *err)
{
	(void)storage, (void)about, (void)cancel;
	return list_lineage(answer, false, err);
}

static int ask_own(struct storage *storage, const void *about, void *answer, struct cancel *cancel,
		   struct err *err)
{
	const struct attempt *claimed = about;

	return own_claim_check_nonce(storage, claimed->number, answer, cancel, err);
}

/* A save does it again where this fails. */
static int ask_warmup(struct storage *storage, const void *about, void *answer,
		      struct cancel *cancel, struct err *err)
{
	const struct attempt *claimed = about;
	struct claiming *claiming = answer;

	(void)err;
	store_listing_release(&claiming->packs);
	claiming->warm = index_warmup_look(storage, claimed->start, claimed->number,
					   &claiming->packs, cancel, NULL) == 0;
	return 0;
}

/* It need not be read. */
static void note_own_claim(struct claiming *claiming, const struct attempt *claimed)
{
	struct storage *storage = claiming->storage;
	struct lineage_attempt claim = {
		.number = claimed->number,
		.known = true,
		.start = claimed->start,
		.suspect = claimed->suspect,
		.policy = claiming->claim->policy,
	};

	own_claim_note_time(storage, &claiming->listing, claimed->number);
	claim.claimed_ms = storage->own_claim.put_ms;
	known_claims_add(&storage->claims, &claim);
}

/* Also if a newer attempt has taken over already: its claimer may have listed the snapshots before
 * ours, and our claim, once it counts, would hide from it what came between. */
static int look_again(struct claiming *claiming, const struct attempt *claimed,
		      enum second_look *look, struct err *err)
{
	struct storage *storage = claiming->storage;
	auto_free char *key = job_record_key_attempt(storage, claimed->number, "");
	auto_(attempt_release) struct attempt now = {0};
	bool own;
	const struct question questions[] = {{ask_lineage, NULL, claiming},
					     {ask_own, claimed, &own},
					     {ask_warmup, claimed, claiming}};

	*look = CLAIM_LOST;
	if (outlast_window(claiming, err) < 0 ||
	    ask_at_once(storage, questions, claiming->claim->saves ? 3 : 2, claiming->cancel, err) <
		    0)
		return -1;
	note_snapshots(storage, &claiming->listing);
	if (!own)
		return 0;
	if (attempt_is_long_past(&claiming->listing.lineage, claimed->number)) {
		storage->transfer.store->ops->remove(storage->transfer.store, key, claiming->cancel,
						     NULL);
		return 0;
	}
	note_own_claim(claiming, claimed);
	*look = CLAIM_STANDS;
	if (claiming->claim->policy != RESTORE_LATEST)
		return 0;
	if (choose_start(claiming, &now, err) < 0)
		return -1;
	if (snapshot_id_compare(now.start, claimed->start) != 0)
		*look = CLAIM_SLIPPED;
	return 0;
}

/* Before a save that follows at once it waits for the look before the commit, which costs no trip
 * of its own: until then the claim fences nobody, as if we were slow. */
static int confirm(struct claiming *claiming, const struct attempt *attempt, struct err *err)
{
	struct storage *storage = claiming->storage;

	if (claiming->warm)
		(void)index_warmup_finish(storage, attempt->start, &claiming->packs,
					  claiming->cancel, NULL);
	storage->own_claim.confirm_later =
		claiming->claim->saves &&
		!store_read_health(storage->transfer.store).if_absent_guessed;
	return storage->own_claim.confirm_later
		       ? 0
		       : own_claim_confirm(storage, attempt->number, claiming->cancel, err);
}

/* A claim is confirmed only if its choice stands: else what slipped in would be passed over. One
 * that another has confirmed is lost: a store that looks and then puts gave the number to both. */
static int claim_until_stable(struct claiming *claiming, struct attempt *attempt, struct err *err)
{
	enum second_look look;
	uint32_t as_of = 0;

	for (int i = 0; i < RECHECKS_MOST; i++) {
		struct err own = {0};

		if (claim_next_number(claiming, as_of, attempt, err) < 0 ||
		    look_again(claiming, attempt, &look, err) < 0)
			return -1;
		if (look == CLAIM_STANDS && confirm(claiming, attempt, &own) == 0)
			return 0;
		if (own.kind && own.kind != ERR_EXISTS)
			return err_pass(err, &own);
		as_of = look == CLAIM_SLIPPED ? attempt->number : 0;
	}
	return err_set(err, ERR_RETRY, "attempts or snapshots come faster than it can look");
}

/* In a full store there is room that was kept for this. */
static int claim_with_room(struct claiming *claiming, struct attempt *attempt, struct err *err)
{
	struct storage *storage = claiming->storage;
	struct err own = {0};

	if (claim_until_stable(claiming, attempt, &own) == 0)
		return 0;
	if (own.kind == ERR_NO_SPACE &&
	    claim_room_use(storage->transfer.store, storage->transfer.job, claiming->cancel)) {
		storage->used_claim_room = true;
		if (claim_until_stable(claiming, attempt, &own) == 0)
			return 0;
	}
	return err_pass(err, &own);
}

/* It costs a moment at most, and no start depends on it. A retention run forgets them as they come;
 * this is for jobs that have none, and reads all claims, so it is done once in a while. */
static void forget_after_claim(struct claiming *claiming)
{
	struct storage *storage = claiming->storage;
	auto_(cancel_release) struct cancel soon = {0};
	int64_t left_ms = claiming->cancel ? cancel_left_ms(claiming->cancel) : CLOCK_NEVER;

	if (cancel_init(&soon, NULL) < 0 || storage->read_only ||
	    attempt_forget_candidates(&claiming->listing.lineage) < ATTEMPTS_KEPT)
		return;
	cancel_set_deadline(&soon, clock_monotonic_ms() +
					   (left_ms < FORGET_MOST_MS ? left_ms : FORGET_MOST_MS));
	(void)attempt_forget_run(storage, &claiming->listing, FORGET_AT_START, &soon, NULL);
}

int storage_claim(struct storage *storage, const struct claim *claim, struct attempt *attempt,
		  struct cancel *cancel, struct err *err)
{
	auto_(claiming_release) struct claiming claiming = {
		.storage = storage,
		.claim = claim,
		.cancel = cancel,
	};
	struct err own = {0};

	*attempt = (struct attempt){0};
	storage->earlier_claim = storage->own_claim;
	if (claim_with_room(&claiming, attempt, &own) < 0) {
		if (own.kind == ERR_NO_SPACE)
			attempt->number = 0;
		else
			attempt_release(attempt);
		err_pass(err, &own);
		store_explain_full(storage->transfer.job, err);
		return err_wrap(err, "cannot claim an attempt of job %s", storage->transfer.job);
	}
	if (!storage->used_claim_room && !claim_room_is_listed(storage, &claiming.listing))
		claim_room_keep(storage, cancel);
	forget_after_claim(&claiming);
	job_records_trim_memory();
	return 0;
}

/* The attempt of that number is another's if the store was emptied since, and that takes longer
 * than a moment. If it cannot be looked up, the record is worth more than the doubt. */
static bool is_own_attempt(struct storage *storage, uint32_t number, struct cancel *cancel)
{
	const struct own_claim *claim =
		number == storage->own_claim.number ? &storage->own_claim : &storage->earlier_claim;
	bool own = true;

	if (claim->number == number && clock_monotonic_ms() - claim->seen_ms > SEEN_LATELY_MS)
		(void)own_claim_check(storage, claim, &own, cancel, NULL);
	return own;
}

int storage_end_attempt(struct storage *storage, uint32_t number, const char *outcome,
			json_t *about, struct cancel *cancel, struct err *err)
{
	auto_free char *key = job_record_key_attempt(storage, number, ".end");

	if (!is_own_attempt(storage, number, cancel))
		return err_set(err, ERR_EXISTS, "the claim of attempt %u is gone from the store",
			       number);
	return job_record_put_new(storage, key, RECORD_END, cancel, err, "{s:I, s:s, s:o}",
				  "attempt", (json_int_t)number, "outcome", outcome, "about",
				  about ? json_incref(about) : json_object());
}
