/* Forgets what the policy does not keep: looks, decides, looks again, removes manifests, sweeps. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "retention.h"
#include "garbage_collect.h"

#include <stdlib.h>

#define LOOKS_MOST 3

struct forgetting {
	struct storage *storage;
	const struct forget_request *request;
	struct survey survey;
	unsigned *reasons;
	bool *gone;
	struct cancel *cancel;
};

static void forgetting_release(struct forgetting *forgetting)
{
	survey_release(&forgetting->survey);
	free(forgetting->reasons);
	free(forgetting->gone);
}
AUTO(struct forgetting, forgetting_release);

static int decide(struct forgetting *forgetting, struct err *err)
{
	struct survey *survey = &forgetting->survey;

	free(forgetting->reasons);
	free(forgetting->gone);
	survey_release(survey);
	forgetting->reasons = NULL;
	forgetting->gone = NULL;
	if (survey_take(forgetting->storage, survey, forgetting->cancel, err) < 0)
		return -1;
	forgetting->reasons = memory_new(survey->list.count * sizeof(*forgetting->reasons));
	forgetting->gone = memory_new(survey->list.count * sizeof(*forgetting->gone));
	retention_decide(&forgetting->request->policy, survey->list.items, survey->list.count,
		clock_wall_ms(), forgetting->reasons);
	for (size_t i = 0; i < survey->list.count; i++)
		forgetting->gone[i] = forgetting->reasons[i] == 0;
	return 0;
}

/* Whether an attempt was claimed or a snapshot pinned since we looked: either may hold one that is about to go. */
static int look_again(struct forgetting *forgetting, bool *moved, struct err *err)
{
	const struct survey *survey = &forgetting->survey;
	uint32_t known = lineage_newest_attempt(&survey->listing.lineage), newest;
	auto_free struct snapshot_id *pins = NULL;
	size_t count;

	if (storage_superseded(forgetting->storage, known, &newest, forgetting->cancel, err) < 0 ||
		record_list_ids(
			forgetting->storage, "pins", &pins, &count, forgetting->cancel, err) < 0)
		return -1;
	*moved = newest != known;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < survey->list.count; j++)
			if (forgetting->gone[j] &&
				snapshot_id_compare(survey->list.items[j].id, pins[i]) == 0)
				*moved = true;
	return 0;
}

static int decide_for_good(struct forgetting *forgetting, struct err *err)
{
	bool moved = true;

	for (int i = 0; moved; i++) {
		if (i == LOOKS_MOST)
			return err_set(err, ERR_RETRY,
				"attempts of job %s come and go; nothing was forgotten",
				forgetting->storage->transfer.job);
		if (decide(forgetting, err) < 0 || look_again(forgetting, &moved, err) < 0)
			return -1;
	}
	return 0;
}

static void tell(struct forgetting *forgetting, struct forget_result *result)
{
	const struct forget_request *request = forgetting->request;
	const struct survey *survey = &forgetting->survey;

	for (size_t i = 0; i < survey->listing.packs.count; i++)
		result->bytes_before += survey->listing.packs.items[i].size;
	for (size_t i = 0; i < survey->list.count; i++) {
		result->kept += !forgetting->gone[i];
		if (request->decided)
			request->decided(
				request->arg, &survey->list.items[i], forgetting->reasons[i]);
	}
}

/* Oldest first. */
static int remove_manifests(
	struct forgetting *forgetting, struct forget_result *result, struct err *err)
{
	const struct survey *survey = &forgetting->survey;
	struct store *store = forgetting->storage->transfer.store;

	for (size_t i = survey->list.count; i > 0; i--) {
		auto_free char *key = NULL;

		if (!forgetting->gone[i - 1])
			continue;
		result->forgotten++;
		if (forgetting->request->dry_run)
			continue;
		key = record_key_snapshot(forgetting->storage, survey->list.items[i - 1].id);
		fault_point("before_manifest_remove");
		if (store->ops->remove(store, key, forgetting->cancel, err) < 0) {
			result->forgotten--;
			return err_wrap(err, "cannot remove %s", key);
		}
		fault_point("after_manifest_remove");
	}
	return 0;
}

int storage_forget(struct storage *storage, const struct forget_request *request,
	struct forget_result *result, struct cancel *cancel, struct err *err)
{
	auto_(forgetting_release) struct forgetting forgetting = {
		.storage = storage, .request = request, .cancel = cancel};
	int64_t age_ms = request->sweep_age_ms > 0 ? request->sweep_age_ms : SWEEP_AGE_MS;

	*result = (struct forget_result){0};
	if (decide_for_good(&forgetting, err) < 0)
		return -1;
	tell(&forgetting, result);
	if (remove_manifests(&forgetting, result, err) < 0)
		return -1;
	return sweep_packs(storage, &forgetting.survey, forgetting.gone, age_ms, request->dry_run,
		&result->swept, cancel, err);
}
