#include "gangs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/workers.h"
#include "gang_records.h"
#include "storage/storage.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A round, and the snapshot that comes of it. */
struct gang_round {
	struct storage *storage;
	struct snapshot_id id;
	struct cancel *cancel;
};

/* --- the manifest of the snapshot, made of the parts of all --- */

/* Parts that are read at once. */
#define READERS_MOST 32

char *gang_part_key(const struct storage *storage, struct snapshot_id id, uint32_t member)
{
	return text_format("jobs/%s/parts/%06u/%06u/%05u.json", storage->transfer.job, id.attempt,
			   id.sequence, member);
}

struct gang_reading {
	struct gang_round *round;
	struct manifest *parts; /* of all members, in their order */
};

static void gang_reading_release(struct gang_reading *reading)
{
	for (uint32_t i = 0; i < reading->round->storage->gang.members; i++)
		manifest_release(&reading->parts[i]);
	free(reading->parts);
}
AUTO(struct gang_reading, gang_reading_release);

static int read_part(void *arg, size_t member, struct err *err)
{
	struct gang_reading *reading = arg;
	struct gang_round *round = reading->round;
	auto_free char *key = gang_part_key(round->storage, round->id, (uint32_t)member);
	auto_json json_t *body = NULL;

	if (job_record_get(round->storage->transfer.store, key, RECORD_PART, &body, round->cancel,
			   err) < 0 ||
	    gang_part_decode(body, round->storage->transfer.job, round->id, (uint32_t)member,
			     &reading->parts[member], err) < 0)
		return err_wrap(err, "the part of member %zu", member);
	return 0;
}

static int read_all_parts(struct gang_reading *reading, struct err *err)
{
	if (parallel_each(reading->round->storage->gang.members, READERS_MOST, read_part, reading,
			  err) == 0)
		return 0;
	/* A part is never put a second time. */
	if (err->kind == ERR_CORRUPT || err->kind == ERR_VERSION)
		err->kind = ERR_UNFIT;
	return -1;
}

static void fill_gang_header(const struct gang_round *round, const struct manifest *leader,
			     struct manifest *gang)
{
	gang->id = round->id;
	gang->parent = leader->parent;
	gang->job = text_copy(round->storage->transfer.job);
	random_hex(gang->nonce);
	clock_format(clock_wall_ms(), gang->created, sizeof(gang->created));
	text_set(gang->host, sizeof(gang->host), round->storage->host);
	text_set(gang->reason, sizeof(gang->reason), leader->reason);
	gang->step = leader->step;
	gang->about = json_incref(leader->about);
}

/* ERR_UNFIT: what the parts say can never be a snapshot. */
static int join_parts(const struct gang_reading *reading, struct manifest *gang, struct err *err)
{
	const struct gang_round *round = reading->round;
	uint32_t members = round->storage->gang.members;

	if (gang_parts_agree(reading->parts, members, err) < 0)
		return -1;
	fill_gang_header(round, gang_parts_leader(reading->parts, members), gang);
	gang_manifest_join(reading->parts, members, gang);
	return 0;
}

/* The packs of the others too: each has looked up its own before it put its part, which may be some
 * time ago. */
static int check_all_packs(struct gang_round *round, const struct manifest *gang, struct err *err)
{
	auto_(store_listing_release) struct store_listing packs = {0};
	struct err own = {0};

	if (pack_listing_get_named(round->storage, gang, &packs, round->cancel, err) < 0)
		return -1;
	if (pack_listing_check(round->storage, gang, &packs, &own) == 0)
		return 0;
	return err_set(err, ERR_UNFIT, "a part is no use: %s", own.text);
}

/* ERR_EXISTS: another attempt has taken over. */
static int check_attempt(const struct gang_round *round, struct err *err)
{
	return own_claim_check_newer(round->storage, round->id.attempt, NULL, round->cancel, err);
}

/* A newer attempt may have started from it, and removed it since. */
static int check_put_again(void *arg, struct err *err)
{
	struct err own = {0};

	if (check_attempt(arg, &own) == 0)
		return 0;
	/* "Exists" would say that it is there. */
	return err_set(err, own.kind == ERR_EXISTS ? ERR_UNFIT : own.kind, "%s", own.text);
}

/* What has been committed under this number is of the same parts: each is put once, if-absent. */
static int put_gang_manifest(struct gang_round *round, const struct manifest *gang, struct err *err)
{
	auto_free char *key = job_record_key_snapshot(round->storage, gang->id);
	auto_json json_t *body = manifest_encode(gang, err);
	const struct put_again again = {check_put_again, round};

	if (!body)
		return -1;
	fault_point("before_manifest_put");
	if (job_record_put_asking(round->storage->transfer.store, key, RECORD_SNAPSHOT, body, NULL,
				  &again, round->cancel, err) < 0)
		return err->kind == ERR_EXISTS ? 0 : -1;
	fault_point("after_manifest_put");
	return 0;
}

/*
 * Once the parts of all members are there: reads them, several at once, looks up all packs and
 * whether the attempt is the newest, and puts the manifest. Returns 0 also if another member has
 * put the same. ERR_UNFIT: they never will be a snapshot. After any other error it may be committed
 * all the same. `err` is not NULL.
 */
static int commit_parts(struct gang_round *round, struct err *err)
{
	auto_(gang_reading_release) struct gang_reading reading = {
		.round = round,
		.parts = memory_new(round->storage->gang.members * sizeof(*reading.parts)),
	};
	auto_(manifest_release) struct manifest gang = {0};

	if (read_all_parts(&reading, err) < 0 || join_parts(&reading, &gang, err) < 0 ||
	    check_all_packs(round, &gang, err) < 0 || check_attempt(round, err) < 0)
		return -1;
	return put_gang_manifest(round, &gang, err);
}

/* --- what nobody waits for any more --- */

/* The parts of all may be in the store, and nobody be left who waits for them: the last member may
 * have died, or the saves of all have failed once their parts were put. The next start, or whoever
 * looks after its part, finishes that, so that the work is not lost. */

/* "<prefix><step>/<member>.json" */
static bool parse_part_key(const char *key, size_t prefix, uint32_t *number, uint32_t *member)
{
	char *rest;
	unsigned long value = strtoul(key + prefix, &rest, 10);

	*number = (uint32_t)value;
	return rest > key + prefix && *rest == '/' && value > 0 && value <= UINT32_MAX &&
	       gang_part_parse_member(rest + 1, member);
}

/* The newest round that anybody has given a part in; 0: there is none. Whatever came before it is
 * committed, or over: nobody opens a round behind one that is not. A listing is in the order of the
 * keys. */
static int find_newest_round(struct storage *storage, uint32_t attempt, uint32_t *round,
			     struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/parts/%06u/", storage->transfer.job, attempt);
	auto_(store_listing_release) struct store_listing found = {0};

	*round = 0;
	if (job_records_list_keys(storage, prefix, &found, cancel, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		uint32_t number, member;

		if (parse_part_key(found.items[i].key, strlen(prefix), &number, &member) &&
		    number > *round)
			*round = number;
	}
	return 0;
}

/* *open: the log has neither left it out nor opened one behind it. */
static int find_fate(struct storage *storage, uint32_t attempt, uint32_t round, bool *open,
		     struct cancel *cancel, struct err *err)
{
	struct gang_event event;
	bool there = true;

	*open = true;
	for (uint32_t number = round + 1; there && *open; number++) {
		if (storage_gang_read(storage, attempt, number, &event, &there, cancel, err) < 0)
			return -1;
		*open = !there || (event.kind != GANG_EVENT_ROUND &&
				   (event.kind != GANG_EVENT_LEFT_OUT || event.round != round));
	}
	return 0;
}

/* *whole: the parts of all members are there. One listing. */
static int has_all_parts(struct gang_round *round, bool *whole, struct err *err)
{
	uint32_t members = round->storage->gang.members, there = 0;
	auto_free bool *given = memory_new((members + 1) * sizeof(*given));

	if (storage_gang_given(round->storage, round->id.attempt, round->id.sequence, members,
			       given, round->cancel, err) < 0)
		return -1;
	for (uint32_t i = 0; i < members; i++)
		there += given[i];
	*whole = there == members;
	return 0;
}

/* 1: the snapshot is committed; 0: not yet. */
static int look_for_commit(struct gang_round *round, struct err *err)
{
	bool committed;

	if (storage_gang_is_committed(round->storage, round->id.attempt, round->id.sequence,
				      &committed, round->cancel, err) < 0)
		return -1;
	return committed;
}

/* Commits the round if the parts of all are there, and nobody has committed it. */
static int commit_if_whole(struct gang_round *round, enum gang_part_fate *fate, struct err *err)
{
	struct err own = {0};
	bool whole;

	*fate = GANG_FATE_LIES;
	if (has_all_parts(round, &whole, err) < 0)
		return -1;
	if (!whole)
		return 0;
	*fate = GANG_FATE_COMMITTED;
	if (commit_parts(round, &own) == 0)
		return 0;
	*fate = own.kind == ERR_UNFIT ? GANG_FATE_UNFIT : GANG_FATE_LIES;
	/* One that is gone by now was removed behind a commit, which is seen at the next look. */
	return own.kind == ERR_UNFIT || own.kind == ERR_NOT_FOUND ? 0 : err_pass(err, &own);
}

int storage_gang_finish(struct storage *storage, uint32_t attempt, uint32_t *round,
			struct cancel *cancel, struct err *err)
{
	struct gang_round newest = {storage, {attempt, 0}, cancel};
	enum gang_part_fate fate = GANG_FATE_LIES;
	struct err own = {0};
	bool open;
	int failed;

	*round = 0;
	if (find_newest_round(storage, attempt, &newest.id.sequence, cancel, err) < 0)
		return -1;
	if (newest.id.sequence == 0)
		return 0;
	failed = find_fate(storage, attempt, newest.id.sequence, &open, cancel, &own);
	if (failed == 0 && open)
		failed = look_for_commit(&newest, &own);
	if (failed == 0 && open)
		failed = commit_if_whole(&newest, &fate, &own);
	if (fate == GANG_FATE_COMMITTED)
		*round = newest.id.sequence;
	/* This build does not understand the round, or another attempt was claimed meanwhile: the
	 * round is left alone. */
	return failed >= 0 || own.kind == ERR_VERSION || own.kind == ERR_CORRUPT ||
			       own.kind == ERR_EXISTS
		       ? 0
		       : err_pass(err, &own);
}

/* Puts `word` in the place of a part. *put: it is there, of this try or an earlier one; false: a
 * part is. */
static int put_instead(struct storage *storage, struct snapshot_id id, uint32_t member,
		       const char *word, bool *put, struct cancel *cancel, struct err *err)
{
	auto_free char *key = gang_part_key(storage, id, member);
	auto_json json_t *body = json_pack("{s:I, s:b}", "member", (json_int_t)member, word, 1);
	struct err own = {0};

	*put = job_record_put(storage->transfer.store, key, RECORD_PART, body, NULL, cancel,
			      &own) == 0;
	return *put || own.kind == ERR_EXISTS ? 0 : err_pass(err, &own);
}

int storage_gang_mark_gone(struct storage *storage, struct snapshot_id id, uint32_t member,
			   struct cancel *cancel, struct err *err)
{
	bool put;

	return put_instead(storage, id, member, "gone", &put, cancel, err);
}

int storage_gang_look_after_part(struct storage *storage, struct snapshot_id id,
				 enum gang_part_fate *fate, struct cancel *cancel, struct err *err)
{
	struct gang_round round = {storage, id, cancel};
	int committed = look_for_commit(&round, err);
	bool is_void;

	*fate = GANG_FATE_COMMITTED;
	if (committed != 0)
		return committed < 0 ? -1 : 0;
	*fate = GANG_FATE_VOID;
	/* A part is put if-absent. So whoever has put this in its place knows that no part is
	 * there, and none will be, whatever a request does that is still on its way. */
	if (put_instead(storage, id, storage->gang.member, "void", &is_void, cancel, err) < 0)
		return -1;
	return is_void ? 0 : commit_if_whole(&round, fate, err);
}

/* Removes what earlier attempts of a gang have left: joins, logs, and parts that no snapshot came
 * of. */

#define THREADS_MOST 16

struct gang_sweep {
	struct storage *storage;
	struct store_listing found;
	size_t prefix; /* length of "jobs/<job>/gang/" */
	uint32_t before;
	struct cancel *cancel;
};

/* Event 1 of an attempt stays, and what a launch is known by: whoever stood still since would else
 * let an attempt begin that is long over. */
static bool is_left_over(const struct gang_sweep *sweep, const char *key)
{
	const char *name = key + sweep->prefix;
	char *rest;
	unsigned long attempt = strtoul(name, &rest, 10);

	return rest > name && attempt < sweep->before && !text_equal(rest, "/log/000001.json");
}

static int sweep_key(void *arg, size_t at, struct err *err)
{
	struct gang_sweep *sweep = arg;
	struct store *store = sweep->storage->transfer.store;
	const char *key = sweep->found.items[at].key;

	if (is_left_over(sweep, key))
		store->ops->remove(store, key, sweep->cancel, NULL);
	return cancel_check(sweep->cancel, err);
}

static void sweep_before(struct storage *storage, const char *kind, uint32_t attempt,
			 struct cancel *cancel)
{
	struct store *store = storage->transfer.store;
	auto_free char *prefix = text_format("jobs/%s/%s/", storage->transfer.job, kind);
	struct gang_sweep sweep = {
		.storage = storage,
		.prefix = strlen(prefix),
		.before = attempt,
		.cancel = cancel,
	};

	if (store->ops->list(store, prefix, STORE_ALL, &sweep.found, cancel, NULL) == 0)
		(void)parallel_each(sweep.found.count, THREADS_MOST, sweep_key, &sweep, NULL);
	store_listing_release(&sweep.found);
}

void storage_gang_sweep(struct storage *storage, uint32_t attempt, struct cancel *cancel)
{
	/* Those of the attempt before this one say who was in it, and a member of it may still be
	 * about to read its log. */
	if (attempt > 1)
		sweep_before(storage, "gang", attempt - 1, cancel);
	sweep_before(storage, "parts", attempt, cancel);
}

/* The caller is asked so often whether the round is over. */
#define ASK_EVERY_MS 50

/* Pauses between looks for the commit. */
#define LOOK_FIRST_MS 50
#define LOOK_MOST_MS 2000

/* Pauses between two lists of the parts, and while a deadline stands. Each member at another
 * moment, up to twice as late. */
#define LIST_MS 15000
#define LIST_URGENT_MS 1000

void storage_set_gang(struct storage *storage, uint32_t members, uint32_t member)
{
	storage->gang.members = members;
	storage->gang.member = member;
}

/* --- one's own part --- */

static int64_t next_pause(unsigned tries)
{
	return LOOK_FIRST_MS + backoff_ms(tries, LOOK_FIRST_MS, LOOK_MOST_MS, backoff_random());
}

/* The errors that pass by themselves. While it waits for others anyway, a member waits for the
 * store, too. */
static int pause_after(struct gang_round *round, unsigned tries, const struct err *own,
		       struct err *err)
{
	if (own->kind == ERR_RETRY)
		return cancel_sleep(round->cancel, next_pause(tries), err);
	return err_pass(err, own);
}

/* Until it is known to be there. What an earlier call for this round has put stays: then this one
 * is no part of it, and ERR_RETRY. */
static int put_part(struct gang_round *round, const struct manifest *part, json_t *kept,
		    struct err *err)
{
	uint32_t member = round->storage->gang.member;
	auto_free char *key = gang_part_key(round->storage, round->id, member);
	auto_json json_t *body = gang_part_encode(part, member, err);

	if (!body)
		return -1;
	if (kept)
		json_object_set(body, "kept", kept);
	fault_point("before_part_put");
	for (unsigned tries = 1;; tries++) {
		struct err own = {0};
		bool put = job_record_put(round->storage->transfer.store, key, RECORD_PART, body,
					  NULL, round->cancel, &own) == 0;

		if (put)
			break;
		if (own.kind == ERR_EXISTS)
			return err_set(err, ERR_RETRY, "member %u has put another part before",
				       member);
		err_wrap(&own, "the part of member %u", member);
		if (pause_after(round, tries, &own, err) < 0)
			return -1;
	}
	fault_point("after_part_put");
	return 0;
}

/* --- waiting for the others --- */

/* After a try of our own: another one may have committed it, or we have and the answer was lost.
 * That counts, whatever has failed here. */
static int settle_commit(struct gang_round *round, const struct err *failure, struct err *err)
{
	int state = look_for_commit(round, err);

	if (state == 0 && failure->kind == ERR_NOT_FOUND)
		return err_set(err, ERR_RETRY, "%s", failure->text);
	if (state == 0)
		return err_pass(err, failure);
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
	auto_free char *key = commit_mark_key(storage, round->id);
	struct err own = {0};

	if (snapshot_id_compare(storage->gang.marked, round->id) == 0)
		return true;
	if (storage->transfer.store->ops->put(storage->transfer.store, key, "\n", 1,
					      STORE_IF_ABSENT, round->cancel, &own) == 0)
		storage->gang.marked = round->id;
	return own.kind != ERR_EXISTS;
}

static void remove_own_mark(struct storage *storage, struct cancel *cancel)
{
	auto_free char *key = commit_mark_key(storage, storage->gang.marked);

	if (!snapshot_id_is_none(storage->gang.marked))
		storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, NULL);
	storage->gang.marked = (struct snapshot_id){0};
}

/* When a member that waits looks next. */
struct gang_schedule {
	unsigned looks;
	int64_t look_ms, listed_ms;
	bool listed;
	/* The parts of all were there when they were listed last. */
	bool full;
};

static int64_t next_list_ms(const struct storage *storage, int64_t listed_ms)
{
	int64_t pause_ms = atomic_load(&storage->transfer.urgent) ? LIST_URGENT_MS : LIST_MS;

	return listed_ms + pause_ms +
	       pause_ms * (int64_t)storage->gang.member / storage->gang.members;
}

/* Commits if all parts are there. Whoever sees that first does it; if there is still no commit when
 * another one lists them once more, that one does it too. */
static int look_at_parts(struct gang_round *round, struct gang_schedule *schedule, bool over,
			 struct err *err)
{
	/* In a hurry one listing is enough. */
	bool urgent = atomic_load(&round->storage->transfer.urgent);
	bool seen = schedule->full || (schedule->listed && urgent);
	struct err own = {0};

	if (has_all_parts(round, &schedule->full, err) < 0)
		return -1;
	if (schedule->full && (over || seen || is_to_commit(round)))
		return commit_parts(round, &own) == 0 ? 1 : settle_commit(round, &own, err);
	/* Whoever waits for a gang that is over would wait for ever. */
	return schedule->listed ? check_attempt(round, err) : 0;
}

/* The parts come first, and at once: whoever has put the last one sees all. */
static int look_when_due(struct gang_round *round, struct gang_schedule *schedule, bool over,
			 struct err *err)
{
	int64_t now_ms = clock_monotonic_ms();
	/* A notice may shorten the pause that is running. */
	bool list_is_due = over || !schedule->listed ||
			   now_ms >= next_list_ms(round->storage, schedule->listed_ms);
	int state = 0;

	if (over || (schedule->listed && now_ms >= schedule->look_ms)) {
		state = look_for_commit(round, err);
		schedule->look_ms = now_ms + next_pause(++schedule->looks);
	}
	if (state != 0 || !list_is_due)
		return state;
	state = look_at_parts(round, schedule, over, err);
	/* A commit that has failed for the moment is due again. */
	if (state == 0) {
		schedule->listed = true;
		schedule->listed_ms = now_ms;
	}
	return state;
}

static int wait_for_commit(struct gang_round *round, const struct save_request *request,
			   enum gang_part_fate *fate, struct err *err)
{
	struct gang_schedule schedule = {.look_ms = clock_monotonic_ms() + LOOK_FIRST_MS};
	unsigned failed = 0;

	for (;;) {
		struct err own = {0};
		bool over = request->gang_over && request->gang_over(request->arg);
		int state = look_when_due(round, &schedule, over, &own);

		if (state > 0)
			return 0;
		if (own.kind == ERR_UNFIT) {
			*fate = GANG_FATE_UNFIT;
			return err_set(err, ERR_RETRY, "%s", own.text);
		}
		if (state == 0 && over) {
			*fate = GANG_FATE_OVER;
			return err_set(err, ERR_RETRY, "another member has no part of it");
		}
		failed = state < 0 ? failed + 1 : 0;
		if (state < 0 ? pause_after(round, failed, &own, err) < 0
			      : cancel_sleep(round->cancel, ASK_EVERY_MS, err) < 0)
			return err_wrap(err, "waiting for the parts of the other members");
	}
}

int gang_commit(struct storage *storage, const struct save_request *request,
		const struct manifest *part, enum gang_part_fate *fate, struct cancel *cancel,
		struct err *err)
{
	struct gang_round round = {storage, request->id, cancel};

	*fate = GANG_FATE_LIES;
	storage->gang.unsettled = request->id;
	return put_part(&round, part, request->gang_kept, err) < 0
		       ? -1
		       : wait_for_commit(&round, request, fate, err);
}

void gang_commit_settled(struct storage *storage, struct cancel *cancel)
{
	auto_free char *key = gang_part_key(storage, storage->gang.unsettled, storage->gang.member);

	storage->transfer.store->ops->remove(storage->transfer.store, key, cancel, NULL);
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
		return err_pass(err, &own);
	gang_commit_settled(storage, cancel);
	return 0;
}
