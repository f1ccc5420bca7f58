#include "listed_claims.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/workers.h"

#include <pthread.h>
#include <stdatomic.h>

#define CLAIMS_AT_ONCE 16

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

/* *vanished: the claim was listed, and is not there. */
static int read_claim(struct storage *storage, const struct job_listing *listing,
		      struct lineage_attempt *attempt, bool *vanished, struct cancel *cancel,
		      struct err *err)
{
	const struct lineage *lineage = &listing->lineage;
	auto_free char *key = job_record_key_attempt(storage, attempt->number);
	auto_json json_t *body = NULL;
	struct err own = {0};
	bool claimed = listing->records[attempt - lineage->attempts].claimed, confirms;

	if (find_known_claim(storage, listing, attempt))
		return 0;
	if (!claimed) {
		/* It is known by other records. */
	} else if (job_record_get(storage->transfer.store, key, RECORD_ATTEMPT, &body, cancel,
				  &own) == 0) {
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
	*vanished = claimed && own.kind == ERR_NOT_FOUND;
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
	bool vanished; /* under mutex, like the others */
	bool failed;
	struct err err;
};

static void read_claims_worker(void *arg, size_t index)
{
	struct claims_read *reading = arg;
	const struct job_listing *listing = reading->listing;
	struct err err = {0};
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&reading->next, 1)) < listing->lineage.attempt_count) {
		bool vanished = false;
		int result;

		if (listing->records[i].summarised)
			continue;
		result = read_claim(reading->storage, listing, &listing->lineage.attempts[i],
				    &vanished, reading->cancel, &err);
		if (result == 0 && !vanished)
			continue;
		pthread_mutex_lock(&reading->mutex);
		reading->vanished |= vanished;
		if (result < 0 && !reading->failed)
			reading->err = err;
		reading->failed |= result < 0;
		pthread_mutex_unlock(&reading->mutex);
		if (result == 0)
			continue;
		/* The other workers stop as well. */
		atomic_store(&reading->next, listing->lineage.attempt_count);
		return;
	}
}

static size_t count_unsummarised(const struct job_listing *listing)
{
	size_t count = 0;

	for (size_t i = 0; i < listing->lineage.attempt_count; i++)
		count += !listing->records[i].summarised;
	return count;
}

int listed_claims_read(struct storage *storage, const struct job_listing *listing, bool *vanished,
		       struct cancel *cancel, struct err *err)
{
	struct claims_read reading = {.storage = storage, .listing = listing, .cancel = cancel};
	size_t threads = count_unsummarised(listing);

	if (threads > CLAIMS_AT_ONCE)
		threads = CLAIMS_AT_ONCE;
	pthread_mutex_init(&reading.mutex, NULL);
	if (threads > 0)
		parallel_run(threads, read_claims_worker, &reading);
	pthread_mutex_destroy(&reading.mutex);
	*vanished = reading.vanished;
	if (!reading.failed)
		return 0;
	if (err)
		*err = reading.err;
	return -1;
}
