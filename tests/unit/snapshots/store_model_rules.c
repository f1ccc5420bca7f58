/*
 * In place of functions of the product, by the linker's --wrap (CMakeLists.txt). The first part
 * takes chance, time and threads out, so that a machine that sees the same does the same; without
 * threads, the product's own code for a machine on which none can be started is used. The second
 * part switches off one rule, to see that the model misses it.
 */
#include "store_model.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "storage/records/claims.h"
#include "storage/records/job_records.h"
#include "storage/records/pack_listing.h"
#include "storage/scheme_table.h"
#include "storage/snapshots/forget.h"
#include "storage/snapshots/snapshots.h"
#include "storage/transfer/sending.h"

#include <stdio.h>
#include <string.h>

/* `name` of the product, and what stands in its place. */
#define WRAPS(type, name, parameters)  \
	type __real_##name parameters; \
	type __wrap_##name parameters; \
	type __wrap_##name parameters

const char *rule_name(enum rule rule)
{
	static const char *const names[RULES] = {
		[RULE_NONE] = "nothing",
		[RULE_SECOND_LOOK] = "a claim looks a second time",
		[RULE_CONFIRM] = "a claim counts once it is confirmed",
		[RULE_CLAIM_NAMES_START] = "the chain goes through what a claim names",
		[RULE_LOOK_BEFORE_COMMIT] = "a commit looks for a newer claim before",
		[RULE_LOOK_AFTER_COMMIT] = "a commit looks for a newer claim afterwards",
		[RULE_BOTH_LOOKS] = "a commit looks for a newer claim before and afterwards",
		[RULE_PACKS_BEFORE_COMMIT] = "a commit looks up its packs",
		[RULE_READ_BACK] = "a put that failed is read back",
		[RULE_PUT_AGAIN_ASKS] =
			"a manifest is put again only after a look for a newer claim",
		[RULE_EMPTIED_STORE] = "a save notices that the store was emptied",
		[RULE_SET_ASIDE] = "what was found damaged is set aside",
		[RULE_NEWEST_IS_KEPT] = "the newest good snapshot is kept",
		[RULE_STARTS_ARE_KEPT] = "what an attempt started from is kept",
		[RULE_NEWER_ARE_KEPT] = "what is newer than the newest good one is kept",
		[RULE_FORGET_LOOKS_AGAIN] = "forget looks again for claims",
		[RULE_PIN_PLACE] = "of a pin and a removal, the first decides",
		[RULE_FORGET_SIGN] = "who finds the record of another `forget` puts a sign",
		[RULE_PIN_LOOKS_AGAIN] = "a pin looks again for its snapshot",
		[RULE_PACKS_FIRST] = "garbage collection lists the packs first",
		[RULE_YOUNG_PACKS] = "garbage collection leaves young packs",
		[RULE_NEWER_PACKS] =
			"garbage collection leaves packs newer than the newest good snapshot",
		[RULE_ORPHANS_ARE_NEWER] =
			"an orphaned pack is newer than all snapshots at the claim",
		[RULE_SWEPT] = "an orphaned pack was not swept",
		[RULE_OWN_CLAIM] = "a claim of the same number may be another's",
		[RULE_NO_NEW_CLAIM] = "garbage collection looks for a new claim",
	};

	return names[rule];
}

/* --- chance, time, threads --- */

WRAPS(void, random_hex, (char target[33]))
{
	const struct machine *machine = world_now->now;
	unsigned *count =
		machine ? &world_now->machines[machine->index].nonces : &world_now->nonces;

	snprintf(target, 33, "%016x%016x", machine ? machine->index + 1 : 0, ++*count);
}

WRAPS(int64_t, clock_wall_ms, (void))
{
	return 1800000000000;
}

WRAPS(int64_t, clock_monotonic_ms, (void))
{
	return 1000;
}

WRAPS(void, parallel_run, (size_t threads, void (*work)(void *arg, size_t index), void *arg))
{
	/* What is done at once happens in any order. */
	bool last_first = world_now->now && world_now->now->index % 2 == 1;

	for (size_t i = 0; i < threads; i++)
		work(arg, last_first ? threads - 1 - i : i);
}

WRAPS(int, parallel_start, (pthread_t * thread, void *(*run)(void *arg), void *arg))
{
	(void)thread, (void)run, (void)arg;
	return -1;
}

WRAPS(int, priority_pool_add_worker, (struct pool * pool))
{
	(void)pool;
	return -1;
}

WRAPS(void, job_records_trim_memory, (void))
{
}

WRAPS(int, store_open_unproven,
      (const char *url, bool create, bool read_only, struct store **store, struct cancel *cancel,
       struct err *err))
{
	(void)url, (void)create, (void)read_only, (void)cancel, (void)err;
	*store = model_store();
	return 0;
}

/* --- a rule that is off --- */

static struct machine *now(void)
{
	return world_now->now;
}

/* Only for the machines: the audit sees with all rules. */
static bool is_off(enum rule rule)
{
	return now() && world_now->off == rule;
}

WRAPS(int, storage_claim,
      (struct storage * storage, const struct claim *claim, struct attempt *attempt,
       struct cancel *cancel, struct err *err))
{
	if (now())
		now()->lists = 0;
	return __real_storage_claim(storage, claim, attempt, cancel, err);
}

static void loosen_claims(const struct job_listing *listing)
{
	for (size_t i = 0; i < listing->lineage.attempt_count; i++) {
		struct lineage_attempt *attempt = &listing->lineage.attempts[i];

		if (is_off(RULE_CONFIRM))
			attempt->unconfirmed = false;
		if (is_off(RULE_CLAIM_NAMES_START))
			attempt->known = false;
	}
}

WRAPS(int, job_records_list,
      (struct storage * storage, struct job_listing *listing, struct cancel *cancel,
       struct err *err))
{
	int result = __real_job_records_list(storage, listing, cancel, err);

	if (result == 0)
		loosen_claims(listing);
	return result;
}

WRAPS(int, listed_claims_read,
      (struct storage * storage, const struct job_listing *listing, struct cancel *cancel,
       struct err *err))
{
	int result = __real_listed_claims_read(storage, listing, cancel, err);

	loosen_claims(listing);
	return result;
}

WRAPS(int, listed_claims_read_chain,
      (struct storage * storage, const struct job_listing *listing, uint32_t newest, uint32_t until,
       struct cancel *cancel, struct err *err))
{
	int result = __real_listed_claims_read_chain(storage, listing, newest, until, cancel, err);

	loosen_claims(listing);
	return result;
}

/* Each second listing of a claim shows what the first has shown. */
WRAPS(int, job_records_list_lineage,
      (struct storage * storage, struct job_listing *listing, struct cancel *cancel,
       struct err *err))
{
	struct machine *machine = now();
	bool again = is_off(RULE_SECOND_LOOK) && machine->lists++ % 2 == 1;
	int result;

	if (machine)
		machine->stale = again;
	result = __real_job_records_list_lineage(storage, listing, cancel, err);
	if (machine)
		machine->stale = false;
	if (is_off(RULE_SECOND_LOOK) && !again)
		memory_objects_copy(&machine->view, &world_now->objects);
	if (result == 0)
		loosen_claims(listing);
	return result;
}

WRAPS(int, storage_save,
      (struct storage * storage, const struct save_request *request, struct save_result *result,
       struct cancel *cancel, struct err *err))
{
	if (now()) {
		now()->looks = 0;
		now()->parent = request->parent;
	}
	if (is_off(RULE_OWN_CLAIM))
		storage->own_claim.put_ms = 0;
	if (is_off(RULE_SWEPT))
		storage->swept_at_claim = 0;
	return __real_storage_save(storage, request, result, cancel, err);
}

static bool does_not_look(void)
{
	struct machine *machine = now();

	if (!machine)
		return false;
	machine->looks++;
	return is_off(RULE_BOTH_LOOKS) ||
	       (machine->looks == 1 && is_off(RULE_LOOK_BEFORE_COMMIT)) ||
	       (machine->looks == 2 && is_off(RULE_LOOK_AFTER_COMMIT));
}

WRAPS(int, storage_superseded,
      (struct storage * storage, uint32_t number, uint32_t *newest, struct cancel *cancel,
       struct err *err))
{
	bool read_only = storage->read_only;
	int result;

	if (does_not_look()) {
		*newest = number;
		return 0;
	}
	/* A store that is only read is none that was emptied. */
	storage->read_only |= is_off(RULE_EMPTIED_STORE);
	result = __real_storage_superseded(storage, number, newest, cancel, err);
	storage->read_only = read_only;
	return result;
}

WRAPS(int, own_claim_judge,
      (struct storage * storage, uint32_t number, const struct job_listing *listing,
       uint32_t *newest, struct cancel *cancel, struct err *err))
{
	bool read_only = storage->read_only;
	int result;

	*newest = number;
	if (does_not_look())
		return 0;
	storage->read_only |= is_off(RULE_EMPTIED_STORE);
	result = __real_own_claim_judge(storage, number, listing, newest, cancel, err);
	storage->read_only = read_only;
	return result;
}

WRAPS(int, job_records_newest_attempt,
      (struct storage * storage, uint32_t *newest, struct cancel *cancel, struct err *err))
{
	*newest = 0;
	if (now() &&
	    (now()->collecting ? is_off(RULE_NO_NEW_CLAIM) : is_off(RULE_FORGET_LOOKS_AGAIN)))
		return 0;
	return __real_job_records_newest_attempt(storage, newest, cancel, err);
}

WRAPS(int, pack_listing_get_named,
      (struct storage * storage, const struct manifest *manifest, struct store_listing *packs,
       struct cancel *cancel, struct err *err))
{
	if (!is_off(RULE_PACKS_BEFORE_COMMIT))
		return __real_pack_listing_get_named(storage, manifest, packs, cancel, err);
	for (size_t i = 0; i < manifest->pack_count; i++) {
		auto_free char *key = text_format("jobs/job/%s", manifest->packs[i].key);

		store_listing_add(packs, key, manifest->packs[i].bytes);
	}
	store_listing_sort(packs);
	return 0;
}

/* A claimer sees its own claim. */
static void show_in_view(struct machine *machine, const char *key)
{
	const struct memory_object *object = memory_objects_find(&world_now->objects, key);

	if (object)
		memory_objects_put(&machine->view, key, object->content->data,
				   object->content->size);
}

WRAPS(bool, store_pause, (unsigned tries, int64_t begun_ms, struct cancel *cancel))
{
	(void)tries, (void)begun_ms, (void)cancel;
	return true;
}

WRAPS(int, job_record_put,
      (struct store * store, const char *key, enum record_kind kind, json_t *body, uint64_t *bytes,
       struct cancel *cancel, struct err *err))
{
	bool pin = kind == RECORD_PIN && is_off(RULE_PIN_LOOKS_AGAIN);
	int result;

	if (pin)
		memory_objects_copy(&now()->view, &world_now->objects);
	if (is_off(RULE_READ_BACK))
		now()->unreadable = memory_hash(2, key, strlen(key));
	result = __real_job_record_put(store, key, kind, body, bytes, cancel, err);
	if (now())
		now()->unreadable = 0;
	if (is_off(RULE_SECOND_LOOK) && kind == RECORD_ATTEMPT && result == 0)
		show_in_view(now(), key);
	if (pin)
		now()->stale = true;
	return result;
}

static int ask_nobody(void *arg, struct err *err)
{
	(void)arg, (void)err;
	return 0;
}

WRAPS(int, job_record_put_asking,
      (struct store * store, const char *key, enum record_kind kind, json_t *body, uint64_t *bytes,
       const struct put_again *again, struct cancel *cancel, struct err *err))
{
	static const struct put_again nobody = {ask_nobody, NULL};
	int result;

	if (is_off(RULE_READ_BACK))
		now()->unreadable = memory_hash(2, key, strlen(key));
	result = __real_job_record_put_asking(store, key, kind, body, bytes,
					      is_off(RULE_PUT_AGAIN_ASKS) ? &nobody : again, cancel,
					      err);
	if (now())
		now()->unreadable = 0;
	return result;
}

WRAPS(void, pack_aside_note, (struct storage * storage, const char *pack, struct cancel *cancel))
{
	if (!is_off(RULE_SET_ASIDE))
		__real_pack_aside_note(storage, pack, cancel);
}

WRAPS(int, orphan_packs_load,
      (struct storage * storage, const struct store_listing *packs, struct snapshot_id behind,
       struct cancel *cancel, struct err *err))
{
	if (is_off(RULE_ORPHANS_ARE_NEWER))
		behind = now()->parent;
	return __real_orphan_packs_load(storage, packs, behind, cancel, err);
}

/* --- forget --- */

WRAPS(int, storage_forget,
      (struct storage * storage, const struct forget_request *request, struct forget_result *result,
       struct cancel *cancel, struct err *err))
{
	int status;

	if (now()) {
		now()->forgetting = true;
		now()->decided_at = 0;
	}
	status = __real_storage_forget(storage, request, result, cancel, err);
	if (now())
		now()->forgetting = false;
	return status;
}

WRAPS(void, retention_decide,
      (const struct forget_policy *policy, const struct snapshot_info *items, size_t count,
       int64_t now_ms, unsigned *reasons))
{
	static const struct {
		enum rule rule;
		enum keep_reason reason;
	} rows[] = {
		{RULE_NEWEST_IS_KEPT, KEEP_NEWEST},
		{RULE_STARTS_ARE_KEPT, KEEP_START},
		{RULE_NEWER_ARE_KEPT, KEEP_NEWER},
	};

	__real_retention_decide(policy, items, count, now_ms, reasons);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t j = 0; is_off(rows[i].rule) && j < count; j++)
			reasons[j] &= ~(1u << rows[i].reason);
}

WRAPS(int, pin_forbid,
      (struct storage * storage, struct snapshot_id id, bool *pinned, char **sign,
       struct cancel *cancel, struct err *err))
{
	int result;

	*pinned = false;
	*sign = NULL;
	if (is_off(RULE_PIN_PLACE))
		return 0;
	result = __real_pin_forbid(storage, id, pinned, sign, cancel, err);
	if (is_off(RULE_FORGET_SIGN) && *sign)
		memory_objects_remove(&world_now->objects, *sign);
	return result;
}

WRAPS(int, garbage_collect_packs,
      (struct storage * storage, const struct inventory *inventory, const bool *gone,
       const struct garbage_rule *rule, struct garbage_result *result,
       struct forget_refusals *refused, struct cancel *cancel, struct err *err))
{
	int status;

	if (now())
		now()->collecting = true;
	status = __real_garbage_collect_packs(storage, inventory, gone, rule, result, refused,
					      cancel, err);
	if (now()) {
		now()->collecting = now()->stale = false;
	}
	return status;
}

/* The manifests are listed as they were before the packs. */
WRAPS(int, pack_listing_get_all,
      (struct storage * storage, struct store_listing *packs, struct cancel *cancel,
       struct err *err))
{
	if (is_off(RULE_PACKS_FIRST) && now()->collecting)
		memory_objects_copy(&now()->view, &world_now->objects);
	return __real_pack_listing_get_all(storage, packs, cancel, err);
}

WRAPS(int, job_records_list_ids,
      (struct storage * storage, const char *kind, struct snapshot_id **ids, size_t *count,
       struct cancel *cancel, struct err *err))
{
	struct machine *machine = now();
	int status;

	if (is_off(RULE_PACKS_FIRST) && machine->collecting)
		machine->stale = true;
	status = __real_job_records_list_ids(storage, kind, ids, count, cancel, err);
	if (is_off(RULE_PACKS_FIRST))
		machine->stale = false;
	return status;
}

WRAPS(enum pack_verdict, retention_judge_pack,
      (const struct retention_pack *pack, struct snapshot_id newest_good, int64_t now_ms,
       int64_t age_ms))
{
	struct retention_pack judged = *pack;

	if (is_off(RULE_YOUNG_PACKS))
		judged.modified_ms = 1;
	if (is_off(RULE_NEWER_PACKS))
		newest_good = (struct snapshot_id){UINT32_MAX, UINT32_MAX};
	return __real_retention_judge_pack(&judged, newest_good, now_ms, age_ms);
}
