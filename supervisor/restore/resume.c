/* The order of a start is in resume_from_store(), at the end of this file. */
#include "resume.h"

#include "attempt_life.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/slow_warning.h"
#include "base/text.h"
#include "control/control.h"
#include "place_checkpoint.h"
#include "resume_gang.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int resume_refuse_named(const struct resume_request *request, const struct resume_result *result,
			struct cancel *cancel, struct err *err)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	const struct snapshot_info *named = NULL, *before = NULL;
	char id[SNAPSHOT_ID_TEXT], other[SNAPSHOT_ID_TEXT] = "";

	if (request->policy != RESTORE_SPECIFIC || err->kind != ERR_CORRUPT ||
	    storage_list_snapshots(result->storage, &list, cancel, NULL) < 0)
		return -1;
	for (size_t i = 0; i < list.count; i++) {
		int order = snapshot_id_compare(list.items[i].id, request->this_one);

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
		       "--restore "
		       "from the newest good one",
		       snapshot_id_format(named->id, id), request->job, named->damage,
		       before ? "start it with --restore " : "start it", other,
		       before ? ", the good one before it, or" : "");
}

/* Of the snapshot that the attempt starts from: the signatures, which are learned again without it;
 * and the step of local files that are the same, and whose names say none. */
static void read_start(struct resume_result *result, struct cancel *cancel)
{
	auto_json json_t *about = NULL;
	int64_t step;
	struct err err;

	if (snapshot_id_is_none(result->attempt.start))
		return;
	about = storage_read_about(result->storage, result->attempt.start, &step, cancel, &err);
	if (result->kind == RESUME_KEPT && !result->newer_than_store && result->step < 0)
		result->step = step;
	result->signatures = json_incref(json_object_get(about, "signatures"));
}

/* A place that is mistyped, or whose share is not mounted, looks like a first start. Nobody has
 * named the default one. */
static void log_new_store(const struct resume_request *request, const struct storage *storage)
{
	static const char check[] = "if it should have snapshots, see that --store is right";
	const char *url = request->store;
	const char *mount = text_starts(url, "file:") ? ", and its share mounted" : "";

	if (request->private_store)
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

bool resume_is_first(const struct resume_result *result)
{
	return result->attempt.number == 1;
}

/* Logs which credentials are used, before anything large is downloaded. For a directory there are
 * none. */
static void log_store(const struct resume_request *request, const struct resume_result *result)
{
	struct storage *storage = result->storage;
	const char *url = request->store;
	bool brought = !text_starts(url, "file:");
	char text[512];

	if ((brought || resume_is_first(result)) && *storage_describe(storage, text, sizeof(text)))
		log_note("store %s: %s", url, text);
	if (storage_looks_first(storage))
		log_warn("store %s: with REPRIEVE_S3_CONDITIONAL=off, two machines that run this "
			 "job at the same time can overwrite each other's work: run it on one at a "
			 "time",
			 url);
	log_new_store(request, storage);
}

/* Digests are not signed: whoever is on the way can replace manifest and content together. */
static int check_transport(const struct resume_request *request, struct err *err)
{
	static const char risk[] =
		"goes to another machine over plain http: whoever is on the way can use the "
		"credentials and replace checkpoints; let the endpoint be https";

	if (!storage_is_in_the_clear(request->store))
		return 0;
	if (request->strict)
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

/* False: the job is not started and nothing is claimed. *status is -1 if the store cannot be read.
 */
static bool may_start_after_earlier(const struct resume_request *request,
				    struct resume_result *result, struct cancel *cancel,
				    struct err *err, int *status)
{
	enum restart_action action;

	*status = 0;
	if (request->claim_only)
		return true;
	*status = attempt_outcomes_read(result->storage, &request->rules, request->about,
					&result->attempt_outcomes, cancel, err);
	action = result->attempt_outcomes.decision.action;
	return *status == 0 && action != RESTART_NO_PROGRESS;
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
static bool forget_by_policy(const struct resume_request *request, struct storage *storage,
			     struct cancel *cancel)
{
	struct forget_request forget = {0};
	struct forget_result done;

	if (!request->retention)
		return false;
	forget.policy = *request->retention;
	if (storage_forget(storage, &forget, &done, cancel, NULL) < 0 ||
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
	return request->gang.members == 1 && !request->claim_only && !request->strict;
}

static int claim_in_full_store(const struct resume_request *request, struct resume_result *result,
			       const struct claim *claim, struct cancel *cancel, struct err *err)
{
	if (request->gang.members == 1 && forget_by_policy(request, result->storage, cancel) &&
	    storage_claim(result->storage, claim, &result->attempt, cancel, err) == 0)
		return 0;
	if (err->kind != ERR_NO_SPACE)
		return -1;
	if (!result->no_room)
		result->full = *err;
	result->no_room = true;
	return may_do_without_claim(request) ? 0 : -1;
}

int resume_claim(const struct resume_request *request, struct resume_result *result,
		 const uint32_t *after, struct cancel *cancel, struct err *err)
{
	const struct restart_decision *decision = &result->attempt_outcomes.decision;
	struct claim claim = {
		.policy = request->policy,
		.this_one = request->this_one,
		.local = local_checkpoint(request),
		.passed_over = result->passed_over,
		.passed_over_count = result->passed_over_count,
		.about = request->about,
		.is_next = after != NULL,
		.after = after ? *after : 0,
	};
	struct err own;

	if (decision->action == RESTART_ROLL_BACK)
		claim.avoid = decision->snapshot;
	if (decision->action == RESTART_REVERT) {
		struct claim again = {
			.policy = RESTORE_SPECIFIC,
			.this_one = decision->snapshot,
			.about = request->about,
			.is_next = claim.is_next,
			.after = claim.after,
		};

		if (storage_claim(result->storage, &again, &result->attempt, cancel, &own) == 0)
			return 0;
		if (own.kind == ERR_UNFIT)
			return err_set(err, own.kind, "%s", own.text);
		/* It was removed or damaged since: use the newest good one. */
		result->attempt_outcomes.decision.action = RESTART_PROCEED;
	}
	if (storage_claim(result->storage, &claim, &result->attempt, cancel, err) < 0 &&
	    (err->kind != ERR_NO_SPACE ||
	     claim_in_full_store(request, result, &claim, cancel, err) < 0)) {
		err_wrap(err, "store %s", request->store);
		return resume_refuse_named(request, result, cancel, err);
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
		       "not started: attempt %u has taken over while this one was restoring: the "
		       "job was started twice, and the later start goes on",
		       history.items[0].number);
}

/* The claim in force names what was really restored: else retention would protect the damaged
 * snapshot, and remove the one that is in use. */
static int claim_behind_damage(const struct resume_request *request, struct resume_result *result,
			       struct cancel *cancel, struct err *err)
{
	auto_json json_t *about = json_pack("{s:b}", "launched", false);
	uint32_t replaced = result->attempt.number;
	struct err why;

	if (check_newest(result->storage, replaced, cancel, err) < 0)
		return -1;
	attempt_release(&result->attempt);
	if (resume_claim(request, result, NULL, cancel, err) < 0)
		return -1;
	/* In a store that was emptied meanwhile the numbers begin at 1 again. */
	if (result->attempt.number > replaced &&
	    storage_end_attempt(result->storage, replaced, "replaced", about, cancel, &why) < 0)
		log_debug("attempt %u has no end record: %s", replaced, why.text);
	resume_note_all_damaged(result);
	return 0;
}

/* The attempt is over before it began. Its claim names the newest snapshot, so that nothing is left
 * behind: once it is mended, the next start goes on from there. */
static int refuse_all_damaged(const struct resume_request *request, struct resume_result *result,
			      struct cancel *cancel, struct err *err)
{
	auto_json json_t *about = json_pack("{s:b}", "launched", false);
	auto_json json_t *manifest = NULL;
	struct err why;

	if (request->gang.member == 0 && result->attempt.number > 0 &&
	    storage_end_attempt(result->storage, result->attempt.number, "refused", about, cancel,
				&why) < 0)
		log_debug("attempt %u has no end record: %s", result->attempt.number, why.text);
	if (storage_read_manifest(result->storage, result->attempt.start, &manifest, cancel, &why) <
		    0 &&
	    why.kind == ERR_CORRUPT)
		return err_wrap(err,
				"not started: every snapshot of job %s is damaged, and the record "
				"of "
				"the newest one cannot be read, so that nothing in it can be "
				"fetched: put that file back from a copy of the store, if there is "
				"one; --restore none begins from scratch",
				request->job);
	return err_wrap(err,
			"not started: every snapshot of job %s is damaged; reprieve verify names "
			"the files, reprieve restore ID DIR --exclude FILE fetches the others, and "
			"--restore none begins from scratch",
			request->job);
}

/* Each claim is behind one damaged snapshot more, and the last one is of the newest again. */
static int place_newest_good(const struct resume_request *request, struct resume_result *result,
			     struct cancel *cancel, struct err *err)
{
	size_t known = result->passed_over_count;

	if (place_checkpoint(request, result, cancel, err) < 0)
		return -1;
	while (result->passed_over_count > known) {
		if (claim_behind_damage(request, result, cancel, err) < 0)
			return -1;
		known = result->passed_over_count;
		if (place_checkpoint(request, result, cancel, err) < 0)
			return -1;
	}
	return 0;
}

/* --- one machine --- */

/* A previous attempt on this machine writes its end record before it exits, and holds the lock
 * until then: it gets some time. */
int resume_lock_directory(const struct resume_request *request, struct resume_result *result,
			  const char *nonce, struct cancel *cancel, struct err *err)
{
	/* For others it is an error of all, which nobody starts again. */
	bool patient = result->predecessor.attempt > 0 || request->gang.members > 1;
	int64_t until_ms = clock_monotonic_ms() + (patient ? PREDECESSOR_EXIT_MS : 0);

	while (workspace_lock(request->workspace, request->job, cancel, err) < 0) {
		result->in_use = err->kind == ERR_EXISTS;
		result->directory_refused = err->kind == ERR_DENIED;
		if (result->in_use && nonce && workspace_has_other_mark(request->workspace, nonce))
			break;
		if (!result->in_use || clock_monotonic_ms() >= until_ms)
			return -1;
	}
	result->in_use = false;
	return 0;
}

/* Opens a full store: for reading only, unless retention makes room. Leaves `storage` NULL if there
 * is no store yet. */
static int open_full_store(const struct resume_request *request,
			   const struct storage_options *options, struct resume_result *result,
			   struct cancel *cancel, struct err *err)
{
	struct storage_options reading = *options;
	struct err why = {0};

	result->no_room = true;
	result->full = *err;
	reading.create = false;
	reading.read_only = true;
	if (storage_open(&reading, &result->storage, cancel, &why) < 0)
		return why.kind == ERR_NOT_FOUND ? 0 : -1;
	if (!forget_by_policy(request, result->storage, cancel))
		return 0;
	storage_close(result->storage);
	result->storage = NULL;
	result->no_room = storage_open(options, &result->storage, cancel, &why) < 0;
	return result->no_room ? storage_open(&reading, &result->storage, cancel, err) : 0;
}

/* The first that is heard of the store: until then nobody knows whether it is there. */
static int open_store(const struct resume_request *request, const struct storage_options *options,
		      struct resume_result *result, struct cancel *cancel, struct err *err)
{
	auto_free char *waiting = storage_waiting_text(request->store);
	struct slow_warning slow;
	int status;

	slow_warning_begin(&slow, STORAGE_SLOW_MS, waiting);
	status = storage_open(options, &result->storage, cancel, err);
	slow_warning_end(&slow);
	if (status < 0 && err->kind == ERR_NO_SPACE && may_do_without_claim(request))
		status = open_full_store(request, options, result, cancel, err);
	return status;
}

/* Returns the refusal if the attempt before this one lives on this machine; NULL if this start may
 * go on. The members of a gang decide together, so none of them is refused here. */
static char *living_before(const struct resume_request *request, struct resume_result *result,
			   struct cancel *cancel)
{
	const struct attempt_outcomes *before = &result->attempt_outcomes;
	struct attempt_outcomes late;

	if (request->takes_over || request->gang.members > 1)
		return NULL;
	if (request->claim_only) {
		auto_json json_t *about = json_object();

		/* Where it cannot be read, the claim says so. */
		if (attempt_outcomes_read(result->storage, &request->rules, about, &late, cancel,
					  NULL) < 0)
			return NULL;
		before = &late;
	}
	return attempt_life_of(&before->open, request->job) == ATTEMPT_LIVES_HERE
		       ? attempt_outcomes_living(before, request->job)
		       : NULL;
}

/* Under any --restore policy: the claim would end the previous attempt's save, and a later start
 * may need that checkpoint. */
static int wait_for_predecessor(const struct resume_request *request, struct resume_result *result,
				struct cancel *cancel, struct err *err)
{
	struct predecessor before = result->predecessor;

	if (request->claim_only)
		return 0;
	if (predecessor_wait(result->storage, &result->predecessor, cancel, err) < 0)
		return -1;
	if (result->predecessor.attempt == 0)
		result->predecessor = before;
	return 0;
}

/* Refuses a start beside a live attempt, because after a claim that one would work for nothing.
 * Sets *starts again if that attempt ends within the grace. */
static int leave_living_alone(const struct resume_request *request, struct resume_result *result,
			      struct cancel *cancel, struct err *err, bool *starts)
{
	int64_t until_ms = clock_monotonic_ms() + LIVING_EXIT_MS;

	for (;;) {
		auto_free char *living = living_before(request, result, cancel);
		int status;

		if (!living)
			return 0;
		if (clock_monotonic_ms() >= until_ms) {
			result->runs_here = true;
			return err_set(err, ERR_EXISTS, "%s", living);
		}
		if (cancel_sleep(cancel, LIVING_POLL_MS, err) < 0 ||
		    wait_for_predecessor(request, result, cancel, err) < 0)
			return -1;
		*starts = may_start_after_earlier(request, result, cancel, err, &status);
		if (status < 0)
			return -1;
	}
}

/* False: it is over, with *status: without a claim, or because one failed. */
static bool begin_alone(const struct resume_request *request, struct resume_result *result,
			struct cancel *cancel, struct err *err, bool starts, int *status)
{
	/* In the same directory, the lock's refusal says more. In another one, a start that is
	 * refused makes nothing, so the look comes first. */
	bool lock_first =
		request->claim_only ||
		text_equal(result->attempt_outcomes.open.directory, request->workspace->directory);

	*status = -1;
	if (!lock_first && leave_living_alone(request, result, cancel, err, &starts) < 0)
		return false;
	/* Lock before the claim: if another supervisor runs here, a claim would stop its commits.
	 */
	if (resume_lock_directory(request, result, NULL, cancel, err) < 0 ||
	    (lock_first && leave_living_alone(request, result, cancel, err, &starts) < 0))
		return false;
	*status = starts ? resume_claim(request, result, NULL, cancel, err) : 0;
	if (starts && *status == 0 && result->no_room &&
	    restart_rules_end_unrecorded(&result->attempt_outcomes.decision, &request->rules)) {
		log_warn("%s", result->full.text);
		result->attempt_outcomes.decision.action = RESTART_NO_PROGRESS;
		return false;
	}
	return starts && *status == 0;
}

static int refuse_behind(struct err *err)
{
	return err_set(err, ERR_EXISTS,
		       "another attempt has saved since this one started without a claim");
}

/* What earlier attempts say, which could not be asked at the start. A claim would end them. */
static int ask_earlier(const struct resume_request *request, struct resume_result *result,
		       struct cancel *cancel, struct err *err)
{
	auto_free char *living = living_before(request, result, cancel);

	result->runs_here = living;
	if (living)
		return err_set(err, ERR_EXISTS, "%s", living);
	if (attempt_outcomes_read(result->storage, &request->rules, request->about,
				  &result->attempt_outcomes, cancel, err) < 0)
		return -1;
	return snapshot_id_compare(result->attempt_outcomes.saved, result->here) > 0
		       ? refuse_behind(err)
		       : 0;
}

/* Claims an attempt for a job that was started without one. */
static int claim_for_started(const struct resume_request *request,
			     const struct storage_options *options, struct resume_result *result,
			     struct cancel *cancel, struct err *err)
{
	struct snapshot_id start = result->attempt.start;
	struct storage *before = result->storage;
	int status = 0;

	result->storage = NULL;
	if (open_store(request, options, result, cancel, err) < 0) {
		result->storage = before;
		return -1;
	}
	storage_close(before);
	if (result->no_answer)
		status = ask_earlier(request, result, cancel, err);
	if (status == 0)
		status = resume_claim(request, result, NULL, cancel, err);
	if (status == 0 && !result->no_answer &&
	    snapshot_id_compare(start, result->attempt.start) != 0)
		return refuse_behind(err);
	result->attempt.start = start;
	result->no_room = status < 0 && err->kind == ERR_NO_SPACE;
	result->no_answer &= status < 0;
	return status;
}

bool resume_may_answer_later(const struct err *err)
{
	return err->kind == ERR_RETRY || err->kind == ERR_FAILED;
}

/* The store does not answer. What lies here is what the job would go on from without us: so it
 * does. Where nothing lies here, the newest checkpoint may be in the store alone: false. */
static bool start_from_here(const struct resume_request *request, struct resume_result *result,
			    struct cancel *cancel, const struct err *why)
{
	struct err err;

	if (!resume_may_answer_later(why) || !may_do_without_claim(request) ||
	    request->policy == RESTORE_SPECIFIC || request->refused[0] || result->in_use ||
	    result->runs_here || result->attempt.number > 0)
		return false;
	resume_result_release(result);
	result->step = -1;
	result->here = local_checkpoint(request);
	if (resume_lock_directory(request, result, NULL, cancel, &err) < 0 ||
	    place_checkpoint(request, result, cancel, &err) < 0 || result->kind != RESUME_KEPT)
		return false;
	result->no_answer = true;
	result->full = *why;
	place_record_existing(request, result);
	return true;
}

/* --restore ID counts once: restart_rules.h. */
static void choose_newest(struct resume_request *request)
{
	char id[SNAPSHOT_ID_TEXT];

	snapshot_id_format(request->this_one, id);
	log_note("--restore %s counts once, and an earlier start of this command has done it: this "
		 "one goes on from what is newest (to go back once more: reprieve restore %s %s, "
		 "and start it once with --restore none)",
		 id, id, request->workspace->directory);
	request->policy = RESTORE_LATEST;
}

static int resume_from_store(struct resume_request *own, struct resume_result *result,
			     struct cancel *cancel, struct err *err)
{
	const struct resume_request *request = own;
	struct storage_options options = {
		.url = request->store,
		.job = request->job,
		.create = true,
		.is_private = request->private_store,
		.background = true,
	};
	auto_free char *living = NULL;
	auto_close int start_lock = -1;
	bool starts;
	int status;

	options.transfer = request->transfer;
	if (request->claim_only && (result->no_answer || (result->no_room && result->storage)))
		return claim_for_started(request, &options, result, cancel, err);
	resume_result_release(result);
	result->step = -1;
	if (request->if_known && !store_has_job(&options, cancel))
		return 0;
	if (check_transport(request, err) < 0 ||
	    open_store(request, &options, result, cancel, err) < 0)
		return -1;
	if (!result->storage)
		return 0;
	storage_set_gang(result->storage, request->gang.members, request->gang.member);
	storage_gang_choose_parts(result->storage, request->parts);
	if (request->refused[0]) {
		resume_refuse_gang(request, result, request->refused);
		return err_set(err, ERR_INVALID, "not started: %s", request->refused);
	}
	if (wait_for_predecessor(request, result, cancel, err) < 0)
		return -1;
	/* If two starts begin at once, the second finds the claim of the first. */
	if (request->gang.members == 1 && !request->claim_only)
		start_lock = session_lock_start(request->job, cancel);
	starts = may_start_after_earlier(request, result, cancel, err, &status);
	if (status < 0)
		return -1;
	if (result->attempt_outcomes.decision.had_wanted)
		choose_newest(own);
	/* That the last attempts made no progress does not count while one of them runs. */
	living = starts ? NULL : living_before(request, result, cancel);
	if (!starts && !living)
		return 0;
	if (request->gang.members == 1 &&
	    !begin_alone(request, result, cancel, err, starts, &status))
		return status;
	if (start_lock >= 0)
		close(steal_fd(&start_lock));
	log_store(request, result);
	resume_note_all_damaged(result);
	if (request->claim_only)
		return 0;
	if ((request->gang.members > 1 ? resume_gang
				       : place_newest_good)(request, result, cancel, err) < 0)
		return result->all_damaged ? refuse_all_damaged(request, result, cancel, err) : -1;
	if (!result->kept_by_other)
		place_record_existing(request, result);
	read_start(result, cancel);
	return 0;
}

int resume_run(const struct resume_request *request, struct resume_result *result,
	       struct cancel *cancel, struct err *err)
{
	struct resume_request own = *request;

	return resume_from_store(&own, result, cancel, err) == 0 ||
			       start_from_here(request, result, cancel, err)
		       ? 0
		       : -1;
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
