/* Whether another attempt has taken over, or the store was emptied under ours. Apart from
 * claims.c, so that the model of a store can leave out a look (tests/unit/snapshots). */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "job_records.h"

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
		/* One that was just confirmed is listed without its claim in an emptied store. */
		if ((!lineage->attempts[i].claimed ||
		     (put_ms > 0 && lineage->attempts[i].claimed_ms != put_ms)) &&
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
