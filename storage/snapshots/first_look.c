#include "snapshots.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define SERVES_MS 5000

static bool still_serves(int64_t *until_ms)
{
	bool serves = clock_monotonic_ms() < *until_ms;

	*until_ms = 0;
	return serves;
}

void first_look_keep_draining(struct storage *storage, struct store_listing *draining,
			      int64_t asked_ms)
{
	struct first_look *look = &storage->first_look;

	store_listing_release(&look->draining);
	look->draining = *draining;
	*draining = (struct store_listing){0};
	look->draining_until_ms = asked_ms + SERVES_MS;
}

bool first_look_take_draining(struct storage *storage, struct store_listing *draining)
{
	struct first_look *look = &storage->first_look;

	if (!still_serves(&look->draining_until_ms))
		return false;
	*draining = look->draining;
	look->draining = (struct store_listing){0};
	return true;
}

void first_look_keep(struct storage *storage, struct job_listing *listing, bool of_opening)
{
	struct first_look *look = &storage->first_look;

	job_listing_release(&look->listing);
	look->listing = *listing;
	*listing = (struct job_listing){0};
	look->listing_until_ms = look->listing.listed_ms + SERVES_MS;
	look->of_opening = of_opening;
}

bool first_look_take(struct storage *storage, struct job_listing *listing, bool of_opening)
{
	struct first_look *look = &storage->first_look;

	if (look->of_opening != of_opening || !still_serves(&look->listing_until_ms))
		return false;
	*listing = look->listing;
	look->listing = (struct job_listing){0};
	return true;
}

/* --- the newest snapshot --- */

static int ask_newest(struct storage *storage, const void *about, void *answer,
		      struct cancel *cancel, struct err *err)
{
	const struct snapshot_id *id = about;
	auto_(manifest_release) struct manifest manifest = {0};
	struct snapshot_id *read = answer;

	if (job_record_get_manifest_head(storage, *id, &manifest, cancel, err) < 0)
		/* What is damaged or gone is found when it is chosen. */
		return err->kind == ERR_CORRUPT || err->kind == ERR_NOT_FOUND ||
				       err->kind == ERR_VERSION
			       ? 0
			       : -1;
	*read = *id;
	return 0;
}

static char *prefix_of(struct snapshot_id id)
{
	return text_format("packs/%06u/%06u-", id.attempt, id.sequence);
}

static int ask_packs(struct storage *storage, const void *about, void *answer,
		     struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = prefix_of(*(const struct snapshot_id *)about);

	return pack_listing_get_prefixes(storage, &prefix, 1, true, answer, cancel, err);
}

size_t first_look_add(struct storage *storage, struct snapshot_id newest,
		      struct question *questions, size_t count)
{
	struct first_look *look = &storage->first_look;

	store_listing_release(&look->packs);
	look->newest = newest;
	look->read = (struct snapshot_id){0};
	look->newest_until_ms = 0;
	questions[count++] = (struct question){ask_newest, &look->newest, &look->read};
	questions[count++] = (struct question){ask_packs, &look->newest, &look->packs};
	return count;
}

void first_look_added(struct storage *storage)
{
	storage->first_look.newest_until_ms = clock_monotonic_ms() + SERVES_MS;
}

bool first_look_has(struct storage *storage, struct snapshot_id id)
{
	struct first_look *look = &storage->first_look;

	return snapshot_id_compare(look->read, id) == 0 && still_serves(&look->newest_until_ms);
}

bool first_look_take_packs(struct storage *storage, const struct manifest *manifest,
			   struct store_listing *packs)
{
	struct first_look *look = &storage->first_look;
	auto_free char *prefix = prefix_of(manifest->id);
	char *prefixes[PACK_LISTINGS_MOST];
	size_t count = pack_listing_named_prefixes(storage, manifest, prefixes);
	bool taken = count == 1 && text_equal(prefixes[0], prefix);

	while (count > 0)
		free(prefixes[--count]);
	if (!taken)
		return false;
	*packs = look->packs;
	look->packs = (struct store_listing){0};
	return true;
}

void first_look_release(struct first_look *look)
{
	store_listing_release(&look->draining);
	store_listing_release(&look->packs);
	job_listing_release(&look->listing);
}
