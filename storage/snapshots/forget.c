/* Removes the snapshots that the policy does not keep. Reads the inventory, decides, checks that
 * nothing has changed meanwhile, removes the manifests, then collects the garbage. */
#include "storage/storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "forget.h"
#include "storage/records/records.h"

#include <stdlib.h>

#define ROUNDS_MOST 3
#define ATTEMPTS_AT_ONCE 1024
#define KEPT_ALWAYS                                                                    \
	(1u << KEEP_NEWEST | 1u << KEEP_NEWER | 1u << KEEP_START | 1u << KEEP_PINNED | \
	 1u << KEEP_UNKNOWN)

struct forgetting {
	struct storage *storage;
	const struct forget_request *request;
	struct inventory inventory;
	unsigned *reasons;
	bool *gone;
	struct cancel *cancel;
};

static void forgetting_release(struct forgetting *forgetting)
{
	inventory_release(&forgetting->inventory);
	free(forgetting->reasons);
	free(forgetting->gone);
}
AUTO(struct forgetting, forgetting_release);

/* Its save has found the store full. As long as it is the newest, nobody else commits, and what is
 * to go cannot be needed any more, however young it is. In a gang the others save as well. */
static uint32_t attempt_without_room(const struct forgetting *forgetting)
{
	const struct storage *storage = forgetting->storage;
	uint32_t attempt = forgetting->request->attempt;

	return storage->found_full && !storage->own_claim.confirm_later &&
			       attempt == storage->own_claim.number &&
			       attempt == lineage_newest_attempt(
						  &forgetting->inventory.listing.lineage) &&
			       !storage_is_member(storage)
		       ? attempt
		       : 0;
}

/*
 * What older attempts without an end record have started from stays for them, although they are
 * fenced: one of them may be restoring it, and find that out later. Not where there is no room for
 * the newest. Nor does what that has started from itself, if nothing else can go: it has restored
 * it. The newest good snapshot stays in any case.
 */
static void drop_starts(struct forgetting *forgetting)
{
	const struct lineage *lineage = &forgetting->inventory.listing.lineage;
	struct snapshot_list *list = &forgetting->inventory.list;
	uint32_t attempt = attempt_without_room(forgetting);
	struct snapshot_id own = {0};

	if (attempt == 0)
		return;
	if (!forgetting->request->gives_up_start)
		own = lineage->attempts[lineage->attempt_count - 1].start;
	for (size_t i = 0; i < list->count; i++)
		list->items[i].started_from = list->items[i].started_from &&
					      snapshot_id_compare(list->items[i].id, own) == 0;
}

static int apply_policy(struct forgetting *forgetting, struct err *err)
{
	struct inventory *inventory = &forgetting->inventory;

	free(forgetting->reasons);
	free(forgetting->gone);
	inventory_release(inventory);
	forgetting->reasons = NULL;
	forgetting->gone = NULL;
	if (inventory_read(forgetting->storage, inventory, forgetting->cancel, err) < 0)
		return -1;
	drop_starts(forgetting);
	forgetting->reasons = memory_new(inventory->list.count * sizeof(*forgetting->reasons));
	forgetting->gone = memory_new(inventory->list.count * sizeof(*forgetting->gone));
	retention_decide(&forgetting->request->policy, inventory->list.items, inventory->list.count,
			 clock_wall_ms(), forgetting->reasons);
	for (size_t i = 0; i < inventory->list.count; i++)
		forgetting->gone[i] = forgetting->reasons[i] == 0;
	return 0;
}

/* Sets *moved if an attempt was claimed since the inventory was read: it may need a snapshot that
 * is about to be removed. */
static int check_inventory_stands(struct forgetting *forgetting, bool *moved, struct err *err)
{
	uint32_t known = lineage_newest_attempt(&forgetting->inventory.listing.lineage), newest;

	if (job_records_newest_attempt(forgetting->storage, &newest, forgetting->cancel, err) < 0)
		return -1;
	*moved = newest > known;
	return 0;
}

static int decide_until_stable(struct forgetting *forgetting, struct err *err)
{
	bool moved = true;

	for (int i = 0; moved; i++) {
		if (i == ROUNDS_MOST)
			return err_set(err, ERR_RETRY,
				       "job %s keeps starting new attempts; nothing was removed, "
				       "try again",
				       forgetting->storage->transfer.job);
		if (apply_policy(forgetting, err) < 0 ||
		    check_inventory_stands(forgetting, &moved, err) < 0)
			return -1;
	}
	return 0;
}

static void report_decisions(struct forgetting *forgetting, struct forget_result *result)
{
	const struct forget_request *request = forgetting->request;
	const struct inventory *inventory = &forgetting->inventory;

	for (size_t i = 0; i < inventory->listing.packs.count; i++)
		result->bytes_before += inventory->listing.packs.items[i].size;
	for (size_t i = 0; i < inventory->list.count; i++) {
		result->kept += !forgetting->gone[i];
		result->kept_by_policy +=
			!forgetting->gone[i] && (forgetting->reasons[i] & KEPT_ALWAYS) == 0;
		if (request->decided)
			request->decided(request->arg, &inventory->list.items[i],
					 forgetting->reasons[i]);
	}
}

/* -1: the store refuses it, or does not answer. */
static int remove_manifest(struct forgetting *forgetting, struct snapshot_id id, const char *key,
			   bool *pinned, struct err *err)
{
	struct store *store = forgetting->storage->transfer.store;
	auto_free char *sign = NULL;
	int result = pin_forbid(forgetting->storage, id, pinned, &sign, forgetting->cancel, err);
	bool unknown = false;

	if (result == 0 && !*pinned) {
		fault_point("before_manifest_remove");
		result = store->ops->remove(store, key, forgetting->cancel, err);
		fault_point("after_manifest_remove");
		if (result == 0)
			pin_allow(forgetting->storage, id, forgetting->cancel);
		/* It may still go at any moment: the sign stays. */
		unknown = result < 0 && garbage_is_unanswered(err);
	}
	if (sign && !unknown)
		(void)store->ops->remove(store, sign, forgetting->cancel, NULL);
	return result;
}

/* Oldest first, so that a crash in between leaves the newest ones. What has been pinned meanwhile,
 * and what the store refuses to remove, is kept with its packs. */
static int remove_manifests(struct forgetting *forgetting, struct forget_result *result,
			    struct err *err)
{
	const struct inventory *inventory = &forgetting->inventory;

	for (size_t i = inventory->list.count; i > 0; i--) {
		struct snapshot_id id = inventory->list.items[i - 1].id;
		auto_free char *key = NULL;
		struct err own = {0};
		bool pinned = false;
		int failed;

		if (!forgetting->gone[i - 1])
			continue;
		result->forgotten++;
		if (forgetting->request->dry_run)
			continue;
		key = job_record_key_snapshot(forgetting->storage, id);
		failed = remove_manifest(forgetting, id, key, &pinned, &own);
		if (failed == 0 && !pinned)
			continue;
		forgetting->gone[i - 1] = false;
		result->forgotten--;
		result->kept++;
		if (failed && garbage_note_refusal(&result->refused, key, &own) < 0)
			return err_pass(err, &own);
	}
	return 0;
}

int storage_forget(struct storage *storage, const struct forget_request *request,
		   struct forget_result *result, struct cancel *cancel, struct err *err)
{
	auto_(forgetting_release) struct forgetting forgetting = {
		.storage = storage,
		.request = request,
		.cancel = cancel,
	};
	struct garbage_rule rule = {
		.age_ms = request->garbage_age_ms > 0 ? request->garbage_age_ms : GARBAGE_AGE_MS,
		.dry_run = request->dry_run,
	};

	*result = (struct forget_result){0};
	if (decide_until_stable(&forgetting, err) < 0)
		return -1;
	report_decisions(&forgetting, result);
	if (remove_manifests(&forgetting, result, err) < 0)
		return -1;
	rule.attempt = attempt_without_room(&forgetting);
	rule.leftovers = rule.attempt > 0 && request->is_stuck;
	if (garbage_collect_packs(storage, &forgetting.inventory, forgetting.gone, &rule,
				  &result->collected, &result->refused, cancel, err) < 0)
		return -1;
	if (storage->used_claim_room && result->collected.packs_removed > 0) {
		claim_room_keep(storage, cancel);
		storage->used_claim_room = false;
	}
	/* It is not what the caller asked for, and may not fail: the next run does what is left. */
	if (!request->dry_run && !request->is_stuck)
		(void)attempt_forget_run(storage, &forgetting.inventory.listing, ATTEMPTS_AT_ONCE,
					 cancel, NULL);
	return 0;
}

bool storage_make_room(struct storage *storage, uint32_t attempt,
		       const struct forget_policy *policy, struct forget_result *result,
		       struct cancel *cancel, struct err *err)
{
	struct forget_request request = {
		.policy = {.keep_last = UINT32_MAX},
		.attempt = attempt,
		.is_stuck = true,
	};
	bool forgot;

	*result = (struct forget_result){0};
	if (storage_is_member(storage))
		return false;
	if (policy)
		request.policy = *policy;
	forgot = storage_forget(storage, &request, result, cancel, NULL) == 0;
	request.gives_up_start = policy != NULL;
	if (forgot && result->collected.packs_removed == 0 && request.gives_up_start)
		forgot = storage_forget(storage, &request, result, cancel, NULL) == 0;
	if (forgot && result->kept_by_policy == 0)
		store_explain_needed(storage->full_reason, err);
	return result->collected.packs_removed > 0;
}
