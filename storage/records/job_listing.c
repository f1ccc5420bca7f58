/* Lists what a job consists of. */
#include "job_records.h"
#include "pack_listing.h"

#include "ask.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "claims.h"

#include <stdlib.h>
#include <string.h>

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
		memmove(&lineage->attempts[i + 1], &lineage->attempts[i],
			behind * sizeof(*lineage->attempts));
		lineage->attempts[i] = (struct lineage_attempt){.number = number,
								.unread = true,
								.unconfirmed = true};
		lineage->attempt_count++;
	}
	return i;
}

static void add_singles(struct job_listing *listing, size_t prefix_length)
{
	for (size_t i = 0; i < listing->singles.count; i++) {
		const struct store_object *object = &listing->singles.items[i];
		const char *name = object->key + prefix_length;
		uint32_t number;
		size_t at;

		if (!job_record_parse_attempt(name, &number))
			continue;
		at = add_attempt(listing, number);
		listing->lineage.attempts[at].ended |= text_ends(name, ".end.json");
		if (text_ends(name, ".swept.json"))
			listing->swept = number;
		if (text_ends(name, ".confirmed.json"))
			listing->lineage.attempts[at].unconfirmed = false;
		if (!job_record_parse_number(name, &number))
			continue;
		listing->lineage.attempts[at].claimed = true;
		listing->lineage.attempts[at].claimed_ms = object->modified_ms;
	}
}

/* --- where lists may be late --- */

bool job_record_lists_late(const struct storage *storage)
{
	return store_read_health(storage->transfer.store).lists_late;
}

static int ask_for_confirmation(struct storage *storage, struct lineage_attempt *attempt,
				struct cancel *cancel, struct err *err)
{
	int there = attempt->unconfirmed
			    ? job_record_exists(storage,
						job_record_key_attempt(storage, attempt->number,
								       ".confirmed"),
						cancel, err)
			    : 0;

	if (there > 0)
		attempt->unconfirmed = false;
	return there;
}

/* The newest attempt that is listed may have been confirmed since, and others have come. The
 * snapshots may be listed beside this: only attempts are looked at. */
static int ask_for_attempts(struct storage *storage, struct job_listing *listing,
			    struct cancel *cancel, struct err *err)
{
	struct lineage *lineage = &listing->lineage;
	size_t count = lineage->attempt_count;
	uint32_t number = count ? lineage->attempts[count - 1].number : 0;

	if (count && ask_for_confirmation(storage, &lineage->attempts[count - 1], cancel, err) < 0)
		return -1;
	for (;;) {
		int there =
			job_record_exists(storage, job_record_key_attempt(storage, ++number, ""),
					  cancel, err);
		size_t at;

		if (there <= 0)
			return there;
		at = add_attempt(listing, number);
		listing->lineage.attempts[at].claimed = true;
		if (ask_for_confirmation(storage, &lineage->attempts[at], cancel, err) < 0)
			return -1;
	}
}

/* An attempt that has a snapshot was confirmed. */
static void mark_saved(struct job_listing *listing, uint32_t attempt)
{
	/* It may move the table. */
	size_t at = add_attempt(listing, attempt);

	listing->lineage.attempts[at].unconfirmed = false;
	listing->lineage.attempts[at].saved = true;
}

static void add_snapshot(struct job_listing *listing, struct snapshot_id id)
{
	struct lineage *lineage = &listing->lineage;
	size_t at = lineage_first_from(lineage, id), behind = lineage->snapshot_count - at;

	lineage->snapshots = memory_grow(lineage->snapshots, lineage->snapshot_count + 1,
					 sizeof(*lineage->snapshots));
	listing->manifests = memory_grow(listing->manifests, lineage->snapshot_count + 1,
					 sizeof(*listing->manifests));
	memmove(&lineage->snapshots[at + 1], &lineage->snapshots[at],
		behind * sizeof(*lineage->snapshots));
	memmove(&listing->manifests[at + 1], &listing->manifests[at],
		behind * sizeof(*listing->manifests));
	lineage->snapshots[at] = id;
	listing->manifests[at] = (struct manifest_object){0};
	lineage->snapshot_count++;
	mark_saved(listing, id.attempt);
}

static int ask_for_snapshots(struct storage *storage, struct job_listing *listing,
			     struct cancel *cancel, struct err *err)
{
	struct snapshot_id id = {0};

	for (;;) {
		int there;

		id = lineage_ask_next(&listing->lineage, id);
		if (snapshot_id_is_none(id))
			return 0;
		there = job_record_exists(storage, job_record_key_snapshot(storage, id), cancel,
					  err);
		if (there < 0)
			return -1;
		if (there > 0)
			add_snapshot(listing, id);
	}
}

int job_records_list_singles(struct storage *storage, struct job_listing *listing,
			     struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/attempts/", storage->transfer.job);

	store_listing_release(&listing->singles);
	listing->listed_ms = clock_monotonic_ms();
	if (job_records_list_keys(storage, prefix, &listing->singles, cancel, err) < 0)
		return -1;
	add_singles(listing, strlen(prefix));
	return job_record_lists_late(storage) ? ask_for_attempts(storage, listing, cancel, err) : 0;
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

/* An attempt whose record is lost is known by its snapshots. What has a snapshot has been
 * confirmed. */
static void add_attempts_of_snapshots(struct job_listing *listing)
{
	struct lineage *lineage = &listing->lineage;

	for (size_t i = lineage->snapshot_count; i > 0; i--) {
		mark_saved(listing, lineage->snapshots[i - 1].attempt);
	}
}

/* --- all of it --- */

int job_records_list_snapshots(struct storage *storage, struct job_listing *listing,
			       struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/snapshots/", storage->transfer.job);
	auto_(store_listing_release) struct store_listing found = {0};
	struct lineage *lineage = &listing->lineage;

	if (job_records_list_keys(storage, prefix, &found, cancel, err) < 0)
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

static int ask_snapshots(struct storage *storage, const void *about, void *answer,
			 struct cancel *cancel, struct err *err)
{
	(void)about;
	return job_records_list_snapshots(storage, answer, cancel, err);
}

int job_records_ask_singles(struct storage *storage, const void *about, void *answer,
			    struct cancel *cancel, struct err *err)
{
	(void)about;
	return job_records_list_singles(storage, answer, cancel, err);
}

/* Its attempt began between the two lists, or its record is lost. */
static bool has_unlisted_attempt(const struct lineage *lineage)
{
	bool found = false;

	for (size_t i = 0; i < lineage->snapshot_count && !found; i++) {
		uint32_t number = lineage->snapshots[i].attempt;
		size_t at = lineage_attempt_from(lineage->attempts, lineage->attempt_count, number);

		found = at == lineage->attempt_count || lineage->attempts[at].number != number;
	}
	return found;
}

int job_records_list_lineage(struct storage *storage, struct job_listing *listing,
			     struct cancel *cancel, struct err *err)
{
	const struct question lists[] = {{ask_snapshots, NULL, listing},
					 {job_records_ask_singles, NULL, listing}};

	*listing = (struct job_listing){0};
	if (ask_at_once(storage, lists, 2, cancel, err) == 0 &&
	    (!has_unlisted_attempt(&listing->lineage) ||
	     job_records_list_singles(storage, listing, cancel, err) == 0)) {
		add_attempts_of_snapshots(listing);
		if (!job_record_lists_late(storage) ||
		    ask_for_snapshots(storage, listing, cancel, err) == 0)
			return 0;
	}
	job_listing_release(listing);
	return -1;
}

int job_records_list(struct storage *storage, struct job_listing *listing, struct cancel *cancel,
		     struct err *err)
{
	/* Manifests first, then packs: every pack of a manifest listed here was put before it, so a
	 * pack that is not listed is missing. */
	if (job_records_list_lineage(storage, listing, cancel, err) < 0)
		return -1;
	if (listed_claims_read(storage, listing, cancel, err) == 0 &&
	    pack_listing_get_all(storage, &listing->packs, cancel, err) == 0 &&
	    pack_aside_list(storage, cancel, err) == 0)
		return 0;
	job_listing_release(listing);
	return -1;
}

void job_listing_release(struct job_listing *listing)
{
	free(listing->lineage.attempts);
	free(listing->lineage.snapshots);
	free(listing->manifests);
	store_listing_release(&listing->singles);
	store_listing_release(&listing->packs);
	*listing = (struct job_listing){0};
}
