/* Lists what a job consists of, and reads who started from what: the summary of the old attempts
 * and the claims of the newer ones. */
#include "job_records.h"
#include "pack_listing.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "damage_marks.h"
#include "lineage_summary.h"
#include "listed_claims.h"

#include <stdlib.h>
#include <string.h>

/* Somebody who compacts the attempts removes what was just listed: then it is looked again. */
#define LOOKS_MOST 5

/* --- the summary --- */

static int list_summaries(struct storage *storage, struct store_listing *summaries,
			  struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/summaries/", storage->transfer.job);

	return storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL,
						  summaries, cancel, err);
}

static uint32_t summary_number(const struct store_object *object)
{
	uint32_t number;

	return job_record_parse_number(strrchr(object->key, '/') + 1, &number) ? number : 0;
}

/* The one with the highest number below `below`, or NULL. */
static const struct store_object *newest_summary(const struct store_listing *summaries,
						 uint64_t below)
{
	const struct store_object *newest = NULL;

	for (size_t i = 0; i < summaries->count; i++) {
		uint32_t number = summary_number(&summaries->items[i]);

		if (number > 0 && number < below && (!newest || number > summary_number(newest)))
			newest = &summaries->items[i];
	}
	return newest;
}

/* Makes this summary the one that the storage remembers: it never changes. */
static int load_summary(struct storage *storage, const struct store_object *object,
			struct cancel *cancel, struct err *err)
{
	struct lineage_summary summary;
	auto_json json_t *body = NULL;

	if (storage->summary.through == summary_number(object) && object->modified_ms > 0 &&
	    storage->summary_put_ms == object->modified_ms)
		return 0;
	if (job_record_get(storage->transfer.store, object->key, RECORD_SUMMARY, &body, cancel,
			   err) < 0)
		return -1;
	if (lineage_summary_decode(body, summary_number(object), &summary, err) < 0)
		return err_wrap(err, "%s", object->key);
	lineage_summary_release(&storage->summary);
	storage->summary = summary;
	storage->summary_put_ms = object->modified_ms;
	return 0;
}

/* Reads the newest summary, or the next older one if it is damaged. *vanished: it was removed since
 * it was listed. */
static int read_summary(struct storage *storage, struct job_listing *listing, bool *vanished,
			struct cancel *cancel, struct err *err)
{
	const struct store_object *object = newest_summary(&listing->summaries, UINT64_MAX);
	struct err own = {0};

	*vanished = false;
	listing->newest_summary = object ? summary_number(object) : 0;
	for (; object; object = newest_summary(&listing->summaries, summary_number(object))) {
		if (load_summary(storage, object, cancel, &own) == 0) {
			listing->through = storage->summary.through;
			return 0;
		}
		*vanished = own.kind == ERR_NOT_FOUND;
		if (*vanished)
			return 0;
		if (own.kind != ERR_CORRUPT) {
			if (err)
				*err = own;
			return -1;
		}
	}
	return 0;
}

/* --- attempts --- */

/* Inserts the attempt in order if it is not there. Returns its position. */
static size_t add_attempt(struct job_listing *listing, uint32_t number)
{
	struct lineage *lineage = &listing->lineage;
	size_t i = lineage_attempt_from(lineage->attempts, lineage->attempt_count, number);

	if (i == lineage->attempt_count || lineage->attempts[i].number != number) {
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
	}
	return i;
}

static void add_summarised(struct job_listing *listing, const struct lineage_summary *summary)
{
	struct lineage *lineage = &listing->lineage;

	lineage->attempts = memory_new((summary->count + 1) * sizeof(*lineage->attempts));
	listing->records = memory_new((summary->count + 1) * sizeof(*listing->records));
	for (size_t i = 0; i < summary->count; i++) {
		lineage->attempts[i] = summary->attempts[i];
		/* At least so many have come after it that nobody waits for it any more. */
		listing->records[i] = (struct attempt_records){.ended = true, .summarised = true};
	}
	lineage->attempt_count = summary->count;
}

/* Up to `through` they do not count: they are about to be removed, or were put by somebody who had
 * not seen that the number was taken. */
static void add_singles(struct job_listing *listing, size_t prefix_length)
{
	for (size_t i = 0; i < listing->singles.count; i++) {
		const struct store_object *object = &listing->singles.items[i];
		const char *name = object->key + prefix_length;
		uint32_t number;
		size_t at;

		if (!job_record_parse_attempt(name, &number) || number <= listing->through)
			continue;
		at = add_attempt(listing, number);
		listing->records[at].ended |= text_ends(name, ".end.json");
		if (text_ends(name, ".confirmed.json"))
			listing->lineage.attempts[at].unconfirmed = false;
		if (!job_record_parse_number(name, &number))
			continue;
		listing->records[at].claimed = true;
		listing->records[at].claimed_ms = object->modified_ms;
	}
}

int job_records_list_singles(struct storage *storage, struct job_listing *listing,
			     struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/attempts/", storage->transfer.job);

	store_listing_release(&listing->singles);
	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL,
					       &listing->singles, cancel, err) < 0)
		return -1;
	add_singles(listing, strlen(prefix));
	return 0;
}

int job_records_newest_attempt(struct storage *storage, uint32_t *newest, struct cancel *cancel,
			       struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};

	if (job_records_list_singles(storage, &listing, cancel, err) < 0)
		return -1;
	*newest = lineage_newest_attempt(&listing.lineage);
	return 0;
}

/* The records first and the summaries after them: what was removed before the first listing is in a
 * summary that the second one shows. */
static int list_records(struct storage *storage, struct job_listing *listing, struct cancel *cancel,
			struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/attempts/", storage->transfer.job);
	struct store *store = storage->transfer.store;
	bool vanished = true;

	for (int i = 0; vanished && i < LOOKS_MOST; i++) {
		store_listing_release(&listing->singles);
		store_listing_release(&listing->summaries);
		if (store->ops->list(store, prefix, STORE_ALL, &listing->singles, cancel, err) <
			    0 ||
		    list_summaries(storage, &listing->summaries, cancel, err) < 0 ||
		    read_summary(storage, listing, &vanished, cancel, err) < 0)
			return -1;
	}
	if (vanished)
		return err_set(err, ERR_RETRY, "the store lists %s, but does not find it",
			       newest_summary(&listing->summaries, UINT64_MAX)->key);
	if (listing->through > 0)
		add_summarised(listing, &storage->summary);
	add_singles(listing, strlen(prefix));
	return 0;
}

int job_records_list_attempts(struct storage *storage, struct job_listing *listing,
			      struct cancel *cancel, struct err *err)
{
	struct lineage *lineage = &listing->lineage;

	if (list_records(storage, listing, cancel, err) < 0)
		return -1;
	/* An attempt whose record is lost is known by its snapshots. What has a snapshot has been
	 * confirmed. */
	for (size_t i = lineage->snapshot_count; i > 0; i--) {
		/* It may move the table. */
		size_t at = add_attempt(listing, lineage->snapshots[i - 1].attempt);

		lineage->attempts[at].unconfirmed = false;
	}
	return 0;
}

/* --- all of it --- */

int job_records_list_snapshots(struct storage *storage, struct job_listing *listing,
			       struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/snapshots/", storage->transfer.job);
	auto_(store_listing_release) struct store_listing found = {0};
	struct lineage *lineage = &listing->lineage;

	if (storage->transfer.store->ops->list(storage->transfer.store, prefix, STORE_ALL, &found,
					       cancel, err) < 0)
		return -1;
	lineage->snapshots = memory_new(found.count * sizeof(*lineage->snapshots));
	listing->manifests = memory_new(found.count * sizeof(*listing->manifests));
	for (size_t i = 0; i < found.count; i++) {
		const struct store_object *object = &found.items[i];
		size_t at = lineage->snapshot_count;

		if (!job_record_parse_id(object->key + strlen(prefix), &lineage->snapshots[at]))
			continue;
		listing->manifests[at] =
			(struct manifest_object){object->size, object->modified_ms};
		lineage->snapshot_count++;
	}
	return 0;
}

int job_records_list_lineage(struct storage *storage, struct job_listing *listing,
			     struct cancel *cancel, struct err *err)
{
	bool vanished = true;

	*listing = (struct job_listing){0};
	/* A claim that is listed and not there has been summed up meanwhile; or it is lost. */
	for (int i = 0; vanished && i < LOOKS_MOST; i++) {
		job_listing_release(listing);
		if (job_records_list_snapshots(storage, listing, cancel, err) < 0 ||
		    job_records_list_attempts(storage, listing, cancel, err) < 0 ||
		    listed_claims_read(storage, listing, &vanished, cancel, err) < 0) {
			job_listing_release(listing);
			return -1;
		}
	}
	return 0;
}

int job_records_list(struct storage *storage, struct job_listing *listing, struct cancel *cancel,
		     struct err *err)
{
	/* Manifests first, then packs: every pack of a manifest listed here was put before it, so a
	 * pack that is not listed is missing. */
	if (job_records_list_lineage(storage, listing, cancel, err) < 0)
		return -1;
	if (pack_listing_get_all(storage, &listing->packs, cancel, err) == 0 &&
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
	free(listing->manifests);
	store_listing_release(&listing->singles);
	store_listing_release(&listing->summaries);
	store_listing_release(&listing->packs);
	store_listing_release(&listing->damaged);
	*listing = (struct job_listing){0};
}
