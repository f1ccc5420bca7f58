#include "listed_claims.h"

#include "ask.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "job_records.h"

#include <pthread.h>

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

/* What its claim says, if this process has read it. */
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
