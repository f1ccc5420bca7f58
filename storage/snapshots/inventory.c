#include "inventory.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/workers.h"

#include <stdlib.h>
#include <string.h>

/* A manifest of a large checkpoint takes a few hundred megabytes while it is being decoded. */
#define THREADS_MOST 4

AUTO(struct manifest, manifest_release);

struct surveying {
	struct storage *storage;
	struct survey *survey;
	struct cancel *cancel;
	atomic_size_t next;
	pthread_mutex_t mutex;
	bool failed; /* under mutex, like the next */
	struct err err;
};

/* --- one snapshot --- */

static void describe(const struct manifest *manifest, struct snapshot_info *info)
{
	text_set(info->created, sizeof(info->created), manifest->created);
	text_set(info->host, sizeof(info->host), manifest->host);
	text_set(info->reason, sizeof(info->reason), manifest->reason);
	text_set(info->tag, sizeof(info->tag), json_text_or(manifest->about, "tag", ""));
	info->step = manifest->step;
	info->parent = manifest->parent;
	info->files = manifest->files;
	info->bytes = manifest->bytes;
	info->bytes_stored = manifest->bytes_stored;
}

static void note_names(struct storage *storage, const struct manifest *manifest,
	const struct store_listing *packs, struct survey_names *names)
{
	names->packs = memory_new(manifest->pack_count * sizeof(*names->packs));
	for (size_t i = 0; i < manifest->pack_count; i++) {
		auto_free char *key = transfer_pack_key(&storage->transfer, manifest->packs[i].key);
		const struct store_object *object = store_listing_find(packs, key);

		if (object)
			names->packs[names->count++] = (uint32_t)(object - packs->items);
	}
}

/* Damage is an answer; what cannot be looked at is an error. */
static bool is_damage(const struct err *err)
{
	return err->kind == ERR_CORRUPT || err->kind == ERR_NOT_FOUND || err->kind == ERR_NEWER;
}

static int inspect(struct storage *storage, const struct job_listing *listing,
	struct snapshot_info *info, struct survey_names *names, struct cancel *cancel,
	struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err own = {0};

	info->step = -1;
	info->state = lineage_state(&listing->lineage, info->id);
	if (record_get_manifest(storage, info->id, &manifest, cancel, &own) == 0) {
		describe(&manifest, info);
		note_names(storage, &manifest, &listing->packs, names);
		if (record_check_packs(storage, &manifest, &listing->packs, &own) == 0)
			return 0;
	} else {
		names->unknown = true;
	}
	if (!is_damage(&own)) {
		if (err)
			*err = own;
		return -1;
	}
	info->newer = own.kind == ERR_NEWER;
	info->state = SNAPSHOT_DAMAGED;
	text_set(info->damage, sizeof(info->damage), own.text);
	return 0;
}

int survey_read_names(struct storage *storage, struct snapshot_id id,
	const struct store_listing *packs, struct survey_names *names, struct cancel *cancel,
	struct err *err)
{
	auto_(manifest_release) struct manifest manifest = {0};
	struct err own = {0};

	if (record_get_manifest(storage, id, &manifest, cancel, &own) == 0) {
		note_names(storage, &manifest, packs, names);
		return 0;
	}
	names->unknown = own.kind == ERR_CORRUPT;
	/* Gone since it was listed: then it names nothing. */
	if (names->unknown || own.kind == ERR_NOT_FOUND)
		return 0;
	if (err)
		*err = own;
	return -1;
}

/* --- all of them --- */

static void work(void *arg, size_t index)
{
	struct surveying *surveying = arg;
	struct survey *survey = surveying->survey;
	struct err err = {0};
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&surveying->next, 1)) < survey->list.count) {
		if (inspect(surveying->storage, &survey->listing, &survey->list.items[i],
			    &survey->names[i], surveying->cancel, &err) == 0)
			continue;
		/* The others need not go on. */
		atomic_store(&surveying->next, survey->list.count);
		pthread_mutex_lock(&surveying->mutex);
		if (!surveying->failed)
			surveying->err = err;
		surveying->failed = true;
		pthread_mutex_unlock(&surveying->mutex);
		return;
	}
}

static int inspect_all(
	struct storage *storage, struct survey *survey, struct cancel *cancel, struct err *err)
{
	struct surveying surveying = {.storage = storage, .survey = survey, .cancel = cancel};
	size_t threads = survey->list.count;

	pthread_mutex_init(&surveying.mutex, NULL);
	if (threads > 0)
		parallel_run(threads < THREADS_MOST ? threads : THREADS_MOST, work, &surveying);
	pthread_mutex_destroy(&surveying.mutex);
	if (!surveying.failed)
		return 0;
	if (err)
		*err = surveying.err;
	return -1;
}

static struct snapshot_info *find(struct survey *survey, struct snapshot_id id)
{
	for (size_t i = 0; i < survey->list.count; i++)
		if (snapshot_id_compare(survey->list.items[i].id, id) == 0)
			return &survey->list.items[i];
	return NULL;
}

static int mark_pins(
	struct storage *storage, struct survey *survey, struct cancel *cancel, struct err *err)
{
	auto_free struct snapshot_id *pins = NULL;
	size_t count;

	if (record_list_ids(storage, "pins", &pins, &count, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct snapshot_info *info = find(survey, pins[i]);

		if (info)
			info->pinned = true;
	}
	return 0;
}

/* An attempt that has ended needs its start no more, but for the newest one: what went on from there may turn out to be bad. */
static void mark_starts(struct survey *survey)
{
	const struct lineage *lineage = &survey->listing.lineage;

	for (size_t i = 0; i < lineage->attempt_count; i++) {
		struct snapshot_info *info = find(survey, lineage->attempts[i].start);

		if (info && (!survey->listing.ended[i] || i == lineage->attempt_count - 1))
			info->started_from = true;
	}
}

static void mark_newest(struct survey *survey)
{
	/* Ids fall along the chain, so the first good one met is the newest on it. */
	for (size_t i = 0; i < survey->list.count; i++) {
		if (survey->list.items[i].state != SNAPSHOT_GOOD)
			continue;
		survey->list.items[i].newest = true;
		return;
	}
}

static void count_packs(struct survey *survey)
{
	const struct store_listing *packs = &survey->listing.packs;
	auto_free uint32_t *namers = memory_new((packs->count + 1) * sizeof(*namers));

	for (size_t i = 0; i < survey->list.count; i++)
		for (size_t j = 0; j < survey->names[i].count; j++)
			namers[survey->names[i].packs[j]]++;
	for (size_t i = 0; i < survey->list.count; i++)
		for (size_t j = 0; j < survey->names[i].count; j++)
			if (namers[survey->names[i].packs[j]] == 1)
				survey->list.items[i].bytes_alone +=
					packs->items[survey->names[i].packs[j]].size;
}

int survey_take(
	struct storage *storage, struct survey *survey, struct cancel *cancel, struct err *err)
{
	struct lineage *lineage;

	*survey = (struct survey){0};
	if (record_list_job(storage, &survey->listing, cancel, err) < 0)
		return -1;
	lineage = &survey->listing.lineage;
	survey->list.count = lineage->snapshot_count;
	survey->list.items = memory_new(lineage->snapshot_count * sizeof(*survey->list.items));
	survey->names = memory_new(lineage->snapshot_count * sizeof(*survey->names));
	for (size_t i = 0; i < lineage->snapshot_count; i++)
		survey->list.items[i].id = lineage->snapshots[lineage->snapshot_count - 1 - i];
	if (inspect_all(storage, survey, cancel, err) < 0 ||
		mark_pins(storage, survey, cancel, err) < 0) {
		survey_release(survey);
		return -1;
	}
	mark_starts(survey);
	mark_newest(survey);
	count_packs(survey);
	return 0;
}

void survey_names_release(struct survey_names *names)
{
	free(names->packs);
	*names = (struct survey_names){0};
}

void survey_release(struct survey *survey)
{
	for (size_t i = 0; survey->names && i < survey->list.count; i++)
		survey_names_release(&survey->names[i]);
	free(survey->names);
	snapshot_list_release(&survey->list);
	job_listing_release(&survey->listing);
	*survey = (struct survey){0};
}
