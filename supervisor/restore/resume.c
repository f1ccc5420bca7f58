/* The order of a start is in resume_from_store(), at the end of this file. */

#include "base/clock.h"
#include "base/file.h"
#include "base/inside.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "control/control.h"
#include "scheduler/scheduler.h"
#include "start.h"
#include "telemetry/telemetry.h"

#include <string.h>

#define PREDECESSOR_EXIT_MS 30000
/* The grace for an attempt here that is just ending, or has just been told to save and end. */
#define LIVING_EXIT_MS 1000
#define LIVING_POLL_MS 500

void resume_note_damaged(struct resume_result *result, struct snapshot_id id, const char *why)
{
	char text[SNAPSHOT_ID_TEXT];
	struct damaged_snapshot *damage;

	result->passed_over = memory_grow(result->passed_over, result->passed_over_count + 1,
					  sizeof(result->passed_over[0]));
	damage = &result->passed_over[result->passed_over_count++];
	damage->id = id;
	text_set(damage->text, sizeof(damage->text), why);
	log_warn("snapshot %s is damaged, skipping it: %s", snapshot_id_format(id, text), why);
}

int resume_refuse_named(struct start *start, struct err *err)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	const struct snapshot_info *named = NULL, *before = NULL;
	char id[SNAPSHOT_ID_TEXT], other[SNAPSHOT_ID_TEXT] = "";

	if (start->policy != RESTORE_SPECIFIC || err->kind != ERR_CORRUPT ||
	    storage_list_snapshots(start->result->storage, &list, start->cancel, NULL) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		int order =
			snapshot_id_compare(list.items[i].id, start->request->options->restore_id);

		if (order == 0 && list.items[i].state == SNAPSHOT_DAMAGED)
			named = &list.items[i];
		else if (order < 0 && !before && list.items[i].state == SNAPSHOT_GOOD)
			before = &list.items[i];
	}
	/* Something else cannot be read, perhaps for a moment only. */
	if (!named)
		return -1;
	if (before)
		snapshot_id_format(before->id, other);
	return err_set(err, ERR_INVALID,
		       "not started: snapshot %s of job %s is damaged (%s): %s%s%s without "
		       "--restore from the newest good one",
		       snapshot_id_format(named->id, id), start->request->job, named->damage,
		       before ? "start it with --restore " : "start it", other,
		       before ? ", the good one before it, or" : "");
}

/* Of the snapshot that the attempt starts from: the signatures, which are learned again without it;
 * and the step of local files that are the same, and whose names say none. */
static void read_start(struct start *start)
{
	auto_json json_t *about = NULL;
	int64_t step;
	struct err err;

	if (snapshot_id_is_none(start->result->attempt.start))
		return;
	about = storage_read_about(start->result->storage, start->result->attempt.start, &step,
				   start->cancel, &err);
	if (start->result->kind == RESUME_KEPT && !start->result->newer_than_store &&
	    start->result->step < 0)
		start->result->step = step;
	start->result->signatures = json_incref(json_object_get(about, "signatures"));
}

/* A place that is mistyped, or whose share is not mounted, looks like a first start. Nobody has
 * named the default one. */
static void log_new_store(const struct resume_request *request, const struct storage *storage)
{
	static const char check[] = "if it should have snapshots, see that --store is right";
	const char *url = request->store;
	const char *mount = text_starts(url, "file:") ? ", and its share mounted" : "";

	if (!request->options->store)
		return;
	switch (storage_was_found(storage)) {
	case STORAGE_FOUND:
		break;
	case STORAGE_MADE:
		log_note("store %s is new: nothing was there; %s%s", url, check, mount);
		break;
	case STORAGE_MADE_FROM_NOTHING:
		log_warn("store %s is new: nothing was there, nor in the directory above it; %s%s",
			 url, check, mount);
		break;
	}
}

/* Logs which credentials are used, before anything large is downloaded. For a directory there are
 * none. What follows from the job's name and place is said by the first attempt alone, since no
 * later one can have others; what a machine brings is said by each. */
static void log_store(struct start *start)
{
	struct storage *storage = start->result->storage;
	const char *url = start->request->store;
	bool brought = !text_starts(url, "file:");
	char text[512];

	if ((brought || (start->result->attempt.number == 1 && start->request->options->store)) &&
	    *storage_describe(storage, text, sizeof(text)))
		log_note("store %s: %s", url, text);
	if (storage_looks_first(storage))
		log_warn("store %s: REPRIEVE_S3_CONDITIONAL=off: two machines can overwrite each "
			 "other's work: run this job on one at a time",
			 url);
	log_new_store(start->request, storage);
}

/* Digests are not signed: whoever is on the way can replace manifest and content together. */
static int check_transport(const struct resume_request *request, struct err *err)
{
	static const char risk[] =
		"goes to another machine over plain http: whoever is on the way can use the "
		"credentials and replace checkpoints; let the endpoint be https";

	if (!storage_is_in_the_clear(request->store))
		return 0;
	if (request->options->strict)
		return err_set(err, ERR_INVALID, "not started: store %s %s (--strict refuses it)",
			       request->store, risk);
	log_warn("store %s %s", request->store, risk);
	return 0;
}

static bool store_has_job(const struct storage_options *wanted, struct cancel *cancel)
{
	struct storage_options options = *wanted;
	struct storage *storage = NULL;
	uint32_t newest = 0;
	bool known;

	options.create = false;
	options.read_only = true;
	known = storage_open(&options, &storage, cancel, NULL) == 0 &&
		storage_superseded(storage, 0, &newest, cancel, NULL) == 0 && newest > 0;
	storage_close(storage);
	return known;
}

/* A job that runs already has been decided upon. -1: the store cannot be read. */
static int read_earlier(struct start *start, struct err *err)
{
	struct attempt_outcomes *outcomes = &start->result->attempt_outcomes;

	if (attempt_outcomes_read(start->result->storage, start->request->options,
				  start->request->gang.member, start->request->about, outcomes,
				  start->cancel, err) < 0)
		return -1;
	if (start->request->claim_only)
		outcomes->decision = (struct restart_decision){.action = RESTART_PROCEED};
	return 0;
}

/* The job is not started, and nothing is claimed. */
static bool is_over(const struct start *start)
{
	return start->result->attempt_outcomes.decision.action == RESTART_NO_PROGRESS;
}

/* What the last supervisor here has recorded of this job; none: nothing. */
static struct snapshot_id local_checkpoint(const struct resume_request *request)
{
	auto_(completion_record_release) struct completion_record record = {0};
	bool own = workspace_read_record(request->workspace, &record, NULL) == 0 &&
		   text_equal(record.job, request->job);

	return own ? record.id : (struct snapshot_id){0};
}

/* Removes snapshots by the rules of retention, before anything is claimed. */
static bool forget_by_policy(struct start *start, struct storage *storage)
{
	struct forget_request forget = {0};
	struct forget_result done;

	if (start->request->options->retention.keep_last == 0)
		return false;
	forget.policy = retention_policy(&start->request->options->retention);
	if (storage_forget(storage, &forget, &done, start->cancel, NULL) < 0 ||
	    done.forgotten + done.collected.packs_removed == 0)
		return false;
	log_note("the store is full: removed %u snapshot%s beyond what is kept (--keep-last 0 "
		 "keeps all); %u %s left",
		 done.forgotten, done.forgotten == 1 ? "" : "s", done.kept,
		 done.kept == 1 ? "is" : "are");
	return true;
}

/* The job comes first: it starts, and claims once there is room. A member of a gang cannot, because
 * the claim names the members. */
static bool may_do_without_claim(const struct resume_request *request)
{
	return request->gang.members == 1 && !request->claim_only && !request->options->strict;
}

static int claim_in_full_store(struct start *start, const struct claim *claim, struct err *err)
{
	if (start->request->gang.members == 1 && forget_by_policy(start, start->result->storage) &&
	    storage_claim(start->result->storage, claim, &start->result->attempt, start->cancel,
			  err) == 0)
		return 0;
	if (err->kind != ERR_NO_SPACE)
		return -1;
	if (!start->result->no_room)
		start->result->full = *err;
	start->result->no_room = true;
	return may_do_without_claim(start->request) ? 0 : -1;
}

int resume_claim(struct start *start, const uint32_t *after, struct err *err)
{
	const struct restart_decision *decision = &start->result->attempt_outcomes.decision;
	struct claim claim = {
		.policy = start->policy,
		.this_one = start->request->options->restore_id,
		.local = local_checkpoint(start->request),
		.passed_over = start->result->passed_over,
		.passed_over_count = start->result->passed_over_count,
		.about = start->request->about,
		.is_next = after != NULL,
		.after = after ? *after : 0,
		.restores = !start->request->claim_only && start->request->gang.members == 1,
	};
	struct err own;

	/* What lies here is kept, as a rule. */
	claim.restores &= snapshot_id_is_none(claim.local);
	if (decision->action == RESTART_ROLL_BACK)
		claim.avoid = decision->snapshot;
	if (decision->action == RESTART_REVERT) {
		struct claim again = claim;

		again.local = (struct snapshot_id){0};
		again.passed_over_count = 0;
		again.policy = RESTORE_SPECIFIC;
		again.this_one = decision->snapshot;
		if (storage_claim(start->result->storage, &again, &start->result->attempt,
				  start->cancel, &own) == 0)
			return 0;
		if (own.kind == ERR_UNFIT)
			return err_set(err, own.kind, "%s", own.text);
		/* It was removed or damaged since: use the newest good one. */
		start->result->attempt_outcomes.decision.action = RESTART_PROCEED;
	}
	if (storage_claim(start->result->storage, &claim, &start->result->attempt, start->cancel,
			  err) < 0 &&
	    (err->kind != ERR_NO_SPACE || claim_in_full_store(start, &claim, err) < 0)) {
		err_wrap(err, "store %s", start->request->store);
		return resume_refuse_named(start, err);
	}
	return 0;
}

void resume_note_all_damaged(struct resume_result *result)
{
	for (size_t i = 0; i < result->attempt.damaged_count; i++)
		resume_note_damaged(result, result->attempt.damaged[i].id,
				    result->attempt.damaged[i].text);
}

/* What an older attempt has started from need not stay once there is a newer one, which goes on. */
static int check_newest(struct storage *storage, uint32_t number, struct cancel *cancel,
			struct err *err)
{
	auto_(attempt_history_release) struct attempt_history history = {0};

	if (number == 0 || storage_history(storage, 1, &history, cancel, NULL) < 0 ||
	    history.count == 0 || history.items[0].number <= number)
		return 0;
	return err_set(err, ERR_EXISTS,
		       "not started: attempt %u has taken over during the restore: the job was "
		       "started twice, and the later start goes on",
		       history.items[0].number);
}

void resume_end_attempt(struct start *start, uint32_t number, const char *outcome)
{
	auto_json json_t *about = json_pack("{s:b}", "launched", false);
	struct err why;

	if (storage_end_attempt(start->result->storage, number, outcome, about, start->cancel,
				&why) < 0)
		log_debug("attempt %u has no end record: %s", number, why.text);
}

/* The claim in force names what was really restored: else retention would protect the damaged
 * snapshot, and remove the one that is in use. */
static int claim_behind_damage(struct start *start, struct err *err)
{
	uint32_t replaced = start->result->attempt.number;

	if (check_newest(start->result->storage, replaced, start->cancel, err) < 0)
		return -1;
	attempt_release(&start->result->attempt);
	if (resume_claim(start, NULL, err) < 0)
		return -1;
	/* In a store that was emptied meanwhile the numbers begin at 1 again. */
	if (start->result->attempt.number > replaced)
		resume_end_attempt(start, replaced, "replaced");
	resume_note_all_damaged(start->result);
	return 0;
}

/* The attempt is over before it began. Its claim names the newest snapshot, so that nothing is left
 * behind: once it is mended, the next start goes on from there. */
static int refuse_all_damaged(struct start *start, struct err *err)
{
	auto_json json_t *manifest = NULL;
	struct err why;

	if (start->request->gang.member == 0 && start->result->attempt.number > 0)
		resume_end_attempt(start, start->result->attempt.number, "refused");
	if (storage_read_manifest(start->result->storage, start->result->attempt.start, &manifest,
				  start->cancel, &why) < 0 &&
	    why.kind == ERR_CORRUPT)
		return err_wrap(err,
				"not started: every snapshot of job %s is damaged, and the record "
				"of the newest one cannot be read (--restore none)",
				start->request->job);
	return err_wrap(err,
			"not started: every snapshot of job %s is damaged; reprieve restore ID DIR "
			"--exclude FILE, or --restore none, is left",
			start->request->job);
}

/* Each claim is behind one damaged snapshot more, and the last one is of the newest again. */
static int place_newest_good(struct start *start, struct err *err)
{
	size_t known = start->result->passed_over_count;

	if (place_checkpoint(start, err) < 0)
		return -1;
	while (start->result->passed_over_count > known) {
		if (claim_behind_damage(start, err) < 0)
			return -1;
		known = start->result->passed_over_count;
		if (place_checkpoint(start, err) < 0)
			return -1;
	}
	return 0;
}

/* --- one machine --- */

/* A previous attempt on this machine writes its end record before it exits, and holds the lock
 * until then: it gets some time. */
int resume_lock_directory(struct start *start, const char *nonce, struct err *err)
{
	/* For others it is an error of all, which nobody starts again. */
	bool patient = start->result->predecessor.attempt > 0 || start->request->gang.members > 1;
	int64_t until_ms = clock_monotonic_ms() + (patient ? PREDECESSOR_EXIT_MS : 0);

	while (workspace_lock(start->workspace, start->request->job, start->cancel, err) < 0) {
		start->result->in_use = err->kind == ERR_EXISTS;
		start->result->directory_refused = err->kind == ERR_DENIED;
		if (start->result->in_use && nonce &&
		    workspace_has_other_mark(start->workspace, nonce))
			break;
		if (!start->result->in_use || clock_monotonic_ms() >= until_ms)
			return -1;
	}
	start->result->in_use = false;
	return 0;
}

/* Opens a full store: for reading only, unless retention makes room. Leaves `storage` NULL if there
 * is no store yet. */
static int open_full_store(struct start *start, const struct storage_options *options,
			   struct err *err)
{
	struct resume_result *result = start->result;
	struct storage_options reading = *options;
	struct err why = {0};

	result->no_room = true;
	result->full = *err;
	reading.create = false;
	reading.read_only = true;
	if (storage_open(&reading, &result->storage, start->cancel, &why) < 0)
		return why.kind == ERR_NOT_FOUND ? 0 : -1;
	if (!forget_by_policy(start, result->storage))
		return 0;
	storage_close(result->storage);
	result->storage = NULL;
	result->no_room = storage_open(options, &result->storage, start->cancel, &why) < 0;
	return result->no_room ? storage_open(&reading, &result->storage, start->cancel, err) : 0;
}

/* The first that is heard of the store: until then nobody knows whether it is there. */
static int open_store(struct start *start, const struct storage_options *options, struct err *err)
{
	auto_free char *waiting = storage_waiting_text(start->request->store);
	struct slow_warning slow;
	int status;

	slow_warning_begin(&slow, STORAGE_SLOW_MS, waiting);
	status = storage_open(options, &start->result->storage, start->cancel, err);
	slow_warning_end(&slow);
	if (status < 0 && err->kind == ERR_NO_SPACE && may_do_without_claim(start->request))
		status = open_full_store(start, options, err);
	return status;
}

/* Returns the refusal if the attempt before this one lives on this machine; NULL if this start may
 * go on. The members of a gang decide together, so none of them is refused here. */
static char *living_before(struct start *start)
{
	if (start->request->options->take_over || start->request->gang.members > 1)
		return NULL;
	return attempt_outcomes_living(&start->result->attempt_outcomes, start->request->job);
}

/* Under any --restore policy: the claim would end the previous attempt's save, and a later start
 * may need that checkpoint. */
static int wait_for_predecessor(struct start *start, struct err *err)
{
	struct predecessor before = start->result->predecessor;

	if (start->request->claim_only)
		return 0;
	if (predecessor_wait(start->result->storage, &start->result->predecessor, start->cancel,
			     err) < 0)
		return -1;
	if (start->result->predecessor.attempt == 0)
		start->result->predecessor = before;
	return 0;
}

/* Refuses a start beside a live attempt, because after a claim that one would work for nothing.
 * Reads again what it means if that attempt ends within the grace. */
static int leave_living_alone(struct start *start, struct err *err)
{
	int64_t until_ms = clock_monotonic_ms() + LIVING_EXIT_MS;

	for (;;) {
		auto_free char *living = living_before(start);

		if (!living)
			return 0;
		if (clock_monotonic_ms() >= until_ms) {
			start->result->runs_here = true;
			return err_set(err, ERR_EXISTS, "%s", living);
		}
		if (cancel_sleep(start->cancel, LIVING_POLL_MS, err) < 0 ||
		    wait_for_predecessor(start, err) < 0 || read_earlier(start, err) < 0)
			return -1;
	}
}

/* Claims, unless it is over: is_over(). */
static int begin_alone(struct start *start, struct err *err)
{
	struct resume_result *result = start->result;
	/* In the same directory, the lock's refusal says more. In another one, a start that is
	 * refused makes nothing, so the look comes first. */
	bool lock_first =
		start->request->claim_only ||
		text_equal(result->attempt_outcomes.open.directory, start->workspace->directory);

	if (!lock_first && leave_living_alone(start, err) < 0)
		return -1;
	/* Lock before the claim: if another supervisor runs here, a claim would stop its commits.
	 */
	if (resume_lock_directory(start, NULL, err) < 0 ||
	    (lock_first && leave_living_alone(start, err) < 0))
		return -1;
	if (is_over(start))
		return 0;
	if (resume_claim(start, NULL, err) < 0)
		return -1;
	/* Under a limit, an attempt that the store has no room to record does not start behind one
	 * that made no progress, because nobody could count those that follow. */
	if (!result->no_room || start->request->options->max_no_progress == 0 ||
	    result->attempt_outcomes.decision.without_progress == 0)
		return 0;
	log_warn("%s", result->full.text);
	result->attempt_outcomes.decision.action = RESTART_NO_PROGRESS;
	return 0;
}

static int refuse_behind(struct err *err)
{
	return err_set(err, ERR_EXISTS,
		       "another attempt has saved since this one started without a claim");
}

/* What earlier attempts say, which could not be asked at the start. A claim would end them. */
static int ask_earlier(struct start *start, struct err *err)
{
	auto_free char *living = NULL;

	if (read_earlier(start, err) < 0)
		return -1;
	living = living_before(start);
	start->result->runs_here = living;
	if (living)
		return err_set(err, ERR_EXISTS, "%s", living);
	return snapshot_id_compare(start->result->attempt_outcomes.saved, start->result->here) > 0
		       ? refuse_behind(err)
		       : 0;
}

/* Claims an attempt for a job that was started without one. */
static int claim_for_started(struct start *start, const struct storage_options *options,
			     struct err *err)
{
	struct snapshot_id from = start->result->attempt.start;
	struct storage *before = start->result->storage;
	int status = 0;

	start->result->storage = NULL;
	if (open_store(start, options, err) < 0) {
		start->result->storage = before;
		return -1;
	}
	storage_close(before);
	if (start->result->no_answer)
		status = ask_earlier(start, err);
	if (status == 0)
		status = resume_claim(start, NULL, err);
	if (status == 0 && !start->result->no_answer &&
	    snapshot_id_compare(from, start->result->attempt.start) != 0)
		return refuse_behind(err);
	start->result->attempt.start = from;
	start->result->no_room = status < 0 && err->kind == ERR_NO_SPACE;
	start->result->no_answer &= status < 0;
	return status;
}

bool resume_may_answer_later(const struct err *err)
{
	return err->kind == ERR_RETRY || err->kind == ERR_FAILED;
}

/* The store does not answer. What lies here is what the job would go on from without us: so it
 * does. Where nothing lies here, the newest checkpoint may be in the store alone: false. */
static bool start_from_here(struct start *start, const struct err *why)
{
	struct err err;

	if (!resume_may_answer_later(why) || !may_do_without_claim(start->request) ||
	    start->policy == RESTORE_SPECIFIC || start->request->refused[0] ||
	    start->result->in_use || start->result->runs_here || start->result->attempt.number > 0)
		return false;
	resume_result_release(start->result);
	start->result->step = -1;
	start->result->here = local_checkpoint(start->request);
	if (resume_lock_directory(start, NULL, &err) < 0 || place_checkpoint(start, &err) < 0 ||
	    start->result->kind != RESUME_KEPT)
		return false;
	start->result->no_answer = true;
	start->result->full = *why;
	place_record_existing(start);
	return true;
}

/* --restore ID counts once: attempt_outcomes.c. */
static void choose_newest(struct start *start)
{
	char id[SNAPSHOT_ID_TEXT];

	snapshot_id_format(start->request->options->restore_id, id);
	log_note("--restore %s counts once, and an earlier start did it; to go back again: "
		 "reprieve restore %s %s, then run --restore none",
		 id, id, start->workspace->directory);
	start->policy = RESTORE_LATEST;
}

static int resume_from_store(struct start *start, struct err *err)
{
	const struct resume_request *request = start->request;
	struct resume_result *result = start->result;
	struct storage_options options = {
		.url = request->store,
		.job = request->job,
		.create = true,
		.is_private = !request->options->store,
		.background = true,
		.transfer = request->options->transfer,
	};
	auto_free char *living = NULL;
	auto_close int start_lock = -1;

	if (request->claim_only && (result->no_answer || (result->no_room && result->storage)))
		return claim_for_started(start, &options, err);
	resume_result_release(result);
	result->step = -1;
	if (request->if_known && !store_has_job(&options, start->cancel))
		return 0;
	if (check_transport(request, err) < 0 || open_store(start, &options, err) < 0)
		return -1;
	if (!result->storage)
		return 0;
	storage_set_gang(result->storage, request->gang.members, request->gang.member);
	storage_gang_choose_parts(result->storage, request->options->parts);
	if (request->refused[0]) {
		resume_refuse_gang(start, request->refused);
		return err_set(err, ERR_INVALID, "not started: %s", request->refused);
	}
	if (wait_for_predecessor(start, err) < 0)
		return -1;
	/* If two starts begin at once, the second finds the claim of the first. */
	if (request->gang.members == 1 && !request->claim_only)
		start_lock = session_lock_start(request->job, start->cancel);
	if (read_earlier(start, err) < 0)
		return -1;
	if (result->attempt_outcomes.decision.had_wanted)
		choose_newest(start);
	/* That the last attempts made no progress does not count while one of them runs. */
	living = is_over(start) ? living_before(start) : NULL;
	if (is_over(start) && !living)
		return 0;
	if (request->gang.members == 1 && begin_alone(start, err) < 0)
		return -1;
	if (is_over(start))
		return 0;
	if (start_lock >= 0)
		close(steal_fd(&start_lock));
	log_store(start);
	resume_note_all_damaged(result);
	if (request->claim_only)
		return 0;
	if ((request->gang.members > 1 ? resume_gang(start, err) : place_newest_good(start, err)) <
	    0)
		return result->all_damaged ? refuse_all_damaged(start, err) : -1;
	if (!result->kept_by_other)
		place_record_existing(start);
	read_start(start);
	return 0;
}

int resume_run(const struct resume_request *request, struct resume_result *result,
	       struct cancel *cancel, struct err *err)
{
	struct start start = {.request = request,
			      .policy = request->options->restore,
			      .result = result,
			      .workspace = request->workspace,
			      .cancel = cancel};

	return resume_from_store(&start, err) == 0 || start_from_here(&start, err) ? 0 : -1;
}

void resume_result_release(struct resume_result *result)
{
	storage_close(result->storage);
	attempt_release(&result->attempt);
	free(result->passed_over);
	json_decref(result->signatures);
	path_list_free(result->existing.paths);
	json_decref(result->hosts);
	free(result->sharers);
	*result = (struct resume_result){0};
}

/* --- what is said of it --- */

static void log_start(const struct resume_request *request, const struct resume_result *result)
{
	const char *directory = request->workspace->directory;
	bool none = request->options->restore == RESTORE_NONE;
	/* Which of the files that lie there it takes, the job alone knows: its pointer may name an
	 * older step. */
	const char *step_is =
		result->kind == RESUME_KEPT && !none ? "whose newest step is" : "step";
	char from[SNAPSHOT_ID_TEXT], size[24], time[32], step[64] = "", job[200];

	if (result->no_room || result->no_answer)
		snprintf(job, sizeof(job), "job %s, without a claim", request->job);
	else
		snprintf(job, sizeof(job), "job %s, attempt %u", request->job,
			 result->attempt.number);
	if (result->step >= 0)
		snprintf(step, sizeof(step), ", %s %lld", step_is, (long long)result->step);
	if (result->kind == RESUME_FRESH)
		log_note("%s: starting from scratch (%s); checkpoints are expected in %s", job,
			 none ? "--restore none" : "no snapshot yet", directory);
	else if (result->kind == RESUME_KEPT && none)
		log_warn("%s: --restore none: nothing restored; existing files in %s are kept%s "
			 "(empty it to start from scratch)",
			 job, directory, step);
	else if (result->kind == RESUME_KEPT)
		log_note("%s: %s the files in %s%s", job, *step ? "resuming from" : "starting with",
			 directory, step);
	else
		log_note("%s: restored %s%s, %s in %s, to %s", job,
			 snapshot_id_format(result->from, from), step,
			 text_bytes(result->restored.bytes, size, sizeof(size)),
			 text_duration(result->milliseconds, time, sizeof(time)), directory);
}

static enum slurm_neighbour holder_is(const struct resume_request *request, const char **advice)
{
	const char *element = job_name_element(inside_getenv, NULL, advice);
	enum slurm_neighbour neighbour =
		slurm_job_neighbour(request->workspace->holder, request->job,
				    getenv("SLURM_STEP_NUM_TASKS"), getenv("SLURM_PROCID"),
				    element);

	if (neighbour != SLURM_ELEMENT)
		*advice = slurm_neighbour_advice(neighbour);
	return neighbour;
}

const char *resume_way_out_of_use(const struct resume_request *request)
{
	const char *advice;

	holder_is(request, &advice);
	return advice;
}

/* On another machine, or one after the other, no lock keeps them apart. */
static void warn_of_shared_directory(const struct resume_request *request)
{
	const char *advice;

	if (holder_is(request, &advice) == SLURM_ELEMENT)
		log_warn("the last run in %s was %s, whose checkpoints may be in it%s",
			 request->workspace->directory, request->workspace->holder, advice);
}

/* Where it keeps what, under which name and how much of it, where nobody has chosen that. */
static void log_place(const struct resume_request *request, const struct resume_result *resume)
{
	char kept[64] = "all of it";
	struct forget_policy policy;

	/* What was said before the claim is not said again. */
	if (resume->attempt.number > 1 || (request->named && request->options->store) ||
	    request->says_place != (resume->attempt.number == 0))
		return;
	policy = retention_policy(&request->options->retention);
	if (request->options->retention.keep_last != 0 && policy.keep_last > 0)
		snprintf(kept, sizeof(kept), "the newest %u%s", policy.keep_last,
			 policy.keep_daily ? " and the last of each day" : "");
	if (request->options->store)
		log_note("job %s: named after its directory and command; use --job NAME to "
			 "continue it in another directory",
			 request->job);
	else
		log_note("checkpoints in %s are kept in %s (--store) as job %s (--job): %s%s",
			 request->workspace->directory, request->store, request->job, kept,
			 network_fs_is_own_disk(request->store)
				 ? "; on this machine's own disk, they may be lost with it"
				 : "");
}

void resume_log(const struct resume_request *request, const struct resume_result *resume,
		struct event_log *events)
{
	char from[SNAPSHOT_ID_TEXT], start[SNAPSHOT_ID_TEXT];
	bool has_start = !snapshot_id_is_none(resume->attempt.start);

	warn_of_shared_directory(request);
	log_place(request, resume);
	if (resume->no_answer || (resume->no_room && resume->storage))
		log_start(request, resume);
	if (resume->attempt.number == 0)
		return;
	if (resume->predecessor.attempt > 0)
		event_log_add(events, "predecessor_waited", "{s:i, s:s, s:b, s:f}", "attempt",
			      (int)resume->predecessor.attempt, "host", resume->predecessor.host,
			      "ended", resume->predecessor.ended, "seconds",
			      (double)resume->predecessor.waited_ms / 1000);
	event_log_add(events, "claimed", "{s:i, s:s?}", "attempt", (int)resume->attempt.number,
		      "start", has_start ? snapshot_id_format(resume->attempt.start, start) : NULL);
	for (size_t i = 0; i < resume->passed_over_count; i++)
		event_log_add(events, "snapshot_skipped", "{s:s, s:s}", "id",
			      snapshot_id_format(resume->passed_over[i].id, from), "why",
			      resume->passed_over[i].text);
	log_start(request, resume);
	if (resume->kind == RESUME_RESTORED)
		event_log_add(events, "restored", "{s:s, s:o, s:i, s:I, s:I, s:f}", "id",
			      snapshot_id_format(resume->from, from), "step",
			      json_integer_or_null(resume->step), "files",
			      (int)resume->restored.files, "bytes",
			      (json_int_t)resume->restored.bytes, "bytes_fetched",
			      (json_int_t)resume->restored.bytes_fetched, "seconds",
			      (double)resume->milliseconds / 1000);
}

/* --- whether it starts --- */

static void log_start_decision(const struct resume_result *resume, struct event_log *events)
{
	const struct restart_decision *decision = &resume->attempt_outcomes.decision;
	char from[SNAPSHOT_ID_TEXT], suspect[SNAPSHOT_ID_TEXT];

	snapshot_id_format(resume->attempt.start, from);
	snapshot_id_format(decision->snapshot, suspect);
	if (decision->action == RESTART_REVERT) {
		log_warn("crashes also occur from older checkpoints: resuming from %s again",
			 suspect);
		event_log_add(events, "reverted", "{s:s}", "id", suspect);
	} else if (!snapshot_id_is_none(resume->attempt.suspect)) {
		log_warn("crashed right after resuming from %s: resuming from the one before it, "
			 "%s (--restore %s to override)",
			 suspect, from, suspect);
		event_log_add(events, "rolled_back", "{s:s, s:s}", "suspect", suspect, "from",
			      from);
	}
}

/* Another member may have read of the attempt that is just being begun. */
static void log_takeover(const struct resume_request *request, const struct resume_result *resume)
{
	const struct attempt_outcomes *outcomes = &resume->attempt_outcomes;
	const struct open_attempt *open = &outcomes->open;
	const char *host = open->host[0] ? open->host : "another machine";
	const char *created = open->created[0] ? open->created : "an unknown time";
	enum attempt_life life;

	if (!open->is_open || request->gang.member > 0 ||
	    resume->predecessor.attempt == outcomes->newest)
		return;
	life = attempt_life_of(open, request->job);
	if (life == ATTEMPT_LIVES_HERE)
		log_warn("job %s is running on %s since %s (attempt %u, process %d): this start "
			 "takes it over, and its later saves do not count",
			 request->job, host, created, outcomes->newest, open->supervisor_pid);
	else if (life == ATTEMPT_MAY_LIVE)
		log_note("job %s: attempt %u, on %s since %s, has left no end record; if it still "
			 "runs, this start takes it over",
			 request->job, outcomes->newest, host, created);
}

bool resume_log_decision(const struct resume_request *request, const struct resume_result *resume,
			 struct event_log *events)
{
	auto_free char *why = attempt_outcomes_refusal(&resume->attempt_outcomes, request->job);

	if (why) {
		log_error("%s", why);
		event_log_add(events, "no_progress", "{s:i}", "attempts",
			      (int)resume->attempt_outcomes.decision.without_progress);
		return true;
	}
	log_takeover(request, resume);
	log_start_decision(resume, events);
	return false;
}
