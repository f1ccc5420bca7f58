#include "gang_commit.h"

#include "base/backoff.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "gang_assembly.h"
#include "gang_choice.h"

#include <stdlib.h>
#include <string.h>

/* The caller is asked so often whether the round is over. */
#define ASK_EVERY_MS 100
/* Pauses between looks for the commit. */
#define LOOK_FIRST_MS 50
#define LOOK_MOST_MS 2000
/* The member that has put the last part commits. If there is no commit for so long, the others list
 * the parts too. */
#define LIST_FIRST_MS 15000
#define LIST_MOST_MS 120000
/* While a deadline stands: each at another moment, up to twice as late. */
#define LIST_URGENT_MS 1000

void storage_set_gang(struct storage *storage, uint32_t members, uint32_t member)
{
	storage->gang.members = members;
	storage->gang.member = member;
}

/* --- one's own part --- */

static void remove_own_part(struct storage *storage, struct snapshot_id id, struct cancel *cancel)
{
	auto_free char *key = gang_part_key(storage, id, storage->gang.member);

	storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, NULL);
}

/* The errors that pass by themselves. While it waits for others anyway, a member waits for the
 * store, too. */
static int pause_after(struct gang_round *round, unsigned tries, const struct err *own,
		       struct err *err)
{
	struct backoff pause = {
		.tries = tries,
		.first_ms = LOOK_FIRST_MS,
		.most_ms = LOOK_MOST_MS,
		.random = backoff_random(),
	};

	if (own->kind == ERR_RETRY)
		return cancel_sleep(round->cancel, LOOK_FIRST_MS + backoff_ms(&pause), err);
	if (err)
		*err = *own;
	return -1;
}

/* There is a part of this member already, which is not as this one was written. */
static int look_at_earlier_part(struct gang_round *round, struct err *err)
{
	auto_(gang_part_release) struct gang_part earlier = {0};

	if (gang_part_read(round->storage, round->request->id, round->storage->gang.member,
			   &earlier, round->cancel, err) < 0)
		return -1;
	round->earlier_part = !text_equal(earlier.manifest.nonce, round->own->manifest.nonce);
	round->other_files = !gang_part_same_content(&earlier, round->own);
	return 0;
}

static int try_put_part(struct gang_round *round, const char *key, json_t *body, struct err *err)
{
	struct err own = {0};

	if (job_record_put(round->storage->transfer.store, key, RECORD_PART, body, NULL,
			   round->cancel, &own) == 0)
		return 0;
	if (own.kind == ERR_EXISTS)
		return look_at_earlier_part(round, err);
	*err = own;
	return err_wrap(err, "the part of member %u", round->storage->gang.member);
}

/* Until it is known to be there. */
static int put_part(struct gang_round *round, struct err *err)
{
	auto_free char *key =
		gang_part_key(round->storage, round->request->id, round->storage->gang.member);
	auto_json json_t *body = gang_part_encode(round->own, round->storage->gang.member, err);

	if (!body)
		return -1;
	if (round->request->gang_kept)
		json_object_set(body, "kept", round->request->gang_kept);
	fault_point("before_part_put");
	for (unsigned tries = 1;; tries++) {
		struct err own = {0};

		if (try_put_part(round, key, body, &own) == 0)
			break;
		if (pause_after(round, tries, &own, err) < 0)
			return -1;
	}
	fault_point("after_part_put");
	return 0;
}

/* --- waiting for the others --- */

/* 1: the snapshot is committed; 0: not yet. */
static int look_for_commit(struct gang_round *round, struct err *err)
{
	bool committed;

	if (storage_gang_is_committed(round->storage, round->request->id.attempt,
				      round->request->id.sequence, &committed, round->cancel, err) <
	    0)
		return -1;
	return committed;
}

/* The same, after a try of our own: another one may have committed it, or we have and the answer
 * was lost. That counts, whatever has failed here. */
static int settle_commit(struct gang_round *round, const struct err *failure, struct err *err)
{
	int state = look_for_commit(round, err);

	if (state == 0 && failure->kind == ERR_NOT_FOUND)
		return err_set(err, ERR_RETRY, "%s", failure->text);
	if (state == 0) {
		*err = *failure;
		return -1;
	}
	return state;
}

static char *commit_mark_key(const struct storage *storage, struct snapshot_id id)
{
	return text_format("jobs/%s/gang/%06u/commits-%06u", storage->transfer.job, id.attempt,
			   id.sequence);
}

/* Dozens may see the parts of all at once, and each would read them all: one does. Without an
 * answer, it does too. */
static bool is_to_commit(struct gang_round *round)
{
	struct storage *storage = round->storage;
	struct snapshot_id id = round->request->id;
	auto_free char *key = commit_mark_key(storage, id);
	struct err own = {0};

	if (snapshot_id_compare(storage->gang.marked, id) == 0)
		return true;
	if (storage->transfer.store->ops->put(storage->transfer.store, key, "\n", 1,
					      STORE_IF_ABSENT, round->cancel, &own) == 0)
		storage->gang.marked = id;
	return own.kind != ERR_EXISTS;
}

static void remove_own_mark(struct storage *storage, struct cancel *cancel)
{
	auto_free char *key = commit_mark_key(storage, storage->gang.marked);

	if (!snapshot_id_is_none(storage->gang.marked))
		storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, NULL);
	storage->gang.marked = (struct snapshot_id){0};
}

static bool is_round_over(const struct gang_round *round)
{
	return round->request->gang_over && round->request->gang_over(round->request->arg);
}

/* When a member that waits looks next. */
struct gang_schedule {
	unsigned looks, lists;
	int64_t look_ms, list_ms, listed_ms;
	/* The parts of all were there when they were listed last. */
	bool full;
};

static int64_t next_pause(unsigned tries, int64_t first_ms, int64_t most_ms)
{
	struct backoff pause = {
		.tries = tries,
		.first_ms = first_ms,
		.most_ms = most_ms,
		.random = backoff_random(),
	};

	return first_ms + backoff_ms(&pause);
}

static bool is_urgent(const struct gang_round *round)
{
	return atomic_load(&round->storage->transfer.urgent);
}

static bool is_list_due(const struct gang_round *round, const struct gang_schedule *schedule,
			int64_t now_ms)
{
	const struct storage *storage = round->storage;
	int64_t pause_ms = LIST_URGENT_MS +
			   LIST_URGENT_MS * (int64_t)storage->gang.member / storage->gang.members;

	return now_ms >= schedule->list_ms || (is_urgent(round) && schedule->lists > 0 &&
					       now_ms >= schedule->listed_ms + pause_ms);
}

/* Commits if all parts are there. If that is urgent, whoever has put the last one is given until
 * the next look: else all would do its work at once. */
static int look_at_parts(struct gang_round *round, struct gang_schedule *schedule, bool over,
			 struct err *err)
{
	uint32_t there, missing;
	bool first = schedule->lists == 0, waits;
	struct err own = {0};

	if (storage_gang_missing(round->storage, round->request->id.attempt,
				 round->request->id.sequence, round->gone, &there, &missing,
				 round->cancel, err) < 0)
		return -1;
	waits = is_urgent(round) && !first && !schedule->full && !over;
	schedule->full = there == round->present;
	if (schedule->full && !waits && (!first || over || is_to_commit(round)))
		return gang_assembly_commit(round, &own) == 0 ? 1 : settle_commit(round, &own, err);
	/* Whoever waits for a gang that is over would wait for ever. */
	return first ? 0 : gang_assembly_check_attempt(round, err);
}

/* The parts come first, and at once: whoever has put the last one sees all. */
static int look_when_due(struct gang_round *round, struct gang_schedule *schedule, bool over,
			 struct err *err)
{
	int64_t now = clock_monotonic_ms();
	int state = 0;

	if (over || (schedule->lists > 0 && now >= schedule->look_ms)) {
		state = look_for_commit(round, err);
		schedule->look_ms =
			now + next_pause(++schedule->looks, LOOK_FIRST_MS, LOOK_MOST_MS);
	}
	if (state == 0 && (over || is_list_due(round, schedule, now))) {
		state = look_at_parts(round, schedule, over, err);
		/* A commit that has failed for the moment is due again. */
		if (state == 0) {
			schedule->listed_ms = now;
			schedule->list_ms =
				now + next_pause(++schedule->lists, LIST_FIRST_MS, LIST_MOST_MS);
		}
	}
	return state;
}

static int64_t pause_before_look(const struct gang_schedule *schedule)
{
	int64_t left = schedule->look_ms - clock_monotonic_ms();

	if (left > ASK_EVERY_MS)
		return ASK_EVERY_MS;
	return left > 0 ? left : 0;
}

static int wait_for_commit(struct gang_round *round, enum gang_outcome *outcome, struct err *err)
{
	struct gang_schedule schedule = {.look_ms = clock_monotonic_ms() + LOOK_FIRST_MS};
	unsigned failed = 0;

	for (;;) {
		struct err own = {0};
		bool over = is_round_over(round);
		int state = look_when_due(round, &schedule, over, &own);

		if (state > 0)
			return 0;
		if (own.kind == ERR_UNFIT) {
			*outcome = GANG_PARTS_UNFIT;
			return err_set(err, ERR_RETRY, "%s", own.text);
		}
		if (state == 0 && over) {
			*outcome = GANG_ROUND_OVER;
			return err_set(err, ERR_RETRY, "another member has no part of it");
		}
		failed = state < 0 ? failed + 1 : 0;
		if (state < 0 ? pause_after(round, failed, &own, err) < 0
			      : cancel_sleep(round->cancel, pause_before_look(&schedule), err) < 0)
			return err_wrap(err, "waiting for the parts of the other members");
	}
}

/* What is committed has the part that was put just now. After an earlier try of the same round it
 * may have that one's, although it is there no longer: those of attempts that are over are swept.
 */
static int check_own_part(struct gang_round *round, bool *named, struct err *err)
{
	auto_(manifest_release) struct manifest found = {0};
	uint32_t member = round->storage->gang.member;

	if (job_record_get_manifest_head(round->storage, round->request->id, &found, round->cancel,
					 err) < 0)
		return -1;
	*named = member < found.part_count &&
		 text_equal(found.parts[member].nonce, round->own->manifest.nonce);
	return 0;
}

int gang_commit(struct storage *storage, const struct save_request *request,
		const struct manifest *part, enum gang_outcome *outcome, struct cancel *cancel,
		struct err *err)
{
	struct gang_part own = {.manifest = *part,
				.saw = request->gang_saw,
				.gone = request->gang_gone};
	auto_(gang_round_release) struct gang_round round = {
		.storage = storage,
		.request = request,
		.cancel = cancel,
		.own = &own,
	};

	bool again = snapshot_id_compare(storage->gang.unsettled, request->id) == 0, named = true;

	*outcome = GANG_COMMITTED;
	if (gang_round_begin(&round, err) < 0)
		return -1;
	storage->gang.unsettled = request->id;
	if (put_part(&round, err) < 0 || wait_for_commit(&round, outcome, err) < 0)
		return -1;
	if (again && !round.earlier_part && check_own_part(&round, &named, err) < 0)
		return -1;
	if (round.other_files || !named) {
		*outcome = GANG_COMMITTED_OTHER;
		return err_set(err, ERR_RETRY,
			       "the gang has committed what this member had put for it before");
	}
	if (round.earlier_part)
		*outcome = GANG_COMMITTED_EARLIER;
	return 0;
}

void gang_commit_settled(struct storage *storage, struct cancel *cancel)
{
	remove_own_part(storage, storage->gang.unsettled, cancel);
	remove_own_mark(storage, cancel);
	storage->gang.unsettled = (struct snapshot_id){0};
}

/* Retention keeps what the newest snapshot names and what was sent for later ones: nothing else may
 * be built upon. */
static void keep_named_packs(struct storage *storage, const struct manifest *newest)
{
	struct chunk_index *index = &storage->transfer.index;

	for (size_t i = 0; i < index->pack_count; i++) {
		size_t at = 0;

		while (at < newest->pack_count &&
		       !text_equal(newest->packs[at].key, index->packs[i].key))
			at++;
		if (at == newest->pack_count)
			chunk_index_pack_lost(index, (uint32_t)i);
	}
}

int gang_commit_settle(struct storage *storage, struct snapshot_id next, struct cancel *cancel,
		       struct err *err)
{
	auto_(manifest_release) struct manifest newest = {0};
	struct snapshot_id last = storage->gang.unsettled;
	struct err own = {0};

	if (snapshot_id_is_none(last) || snapshot_id_compare(last, next) == 0)
		return 0;
	if (job_record_get_manifest_head(storage, last, &newest, cancel, &own) == 0)
		keep_named_packs(storage, &newest);
	/* Nothing of what a damaged one may name is removed. */
	else if (own.kind != ERR_NOT_FOUND && own.kind != ERR_CORRUPT)
		return err_set(err, own.kind, "%s", own.text);
	gang_commit_settled(storage, cancel);
	return 0;
}
