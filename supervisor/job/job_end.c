/* The end: leaves no process behind, decides the outcome and the exit code, and tells everybody who
 * needs to know. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "workspace/workspace.h"

#include <stdio.h>

#define SWEEP_MS 20
#define END_RECORD_MS 3000

static void kill_remaining_processes(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, sweep_timer);
	size_t left = kill_tree();

	child_reap(&job->child, NULL, NULL);
	if (left == 0 || clock_monotonic_ms() > job->model.budget.commit_until_ms)
		loop_stop(&job->loop);
	else
		loop_arm(&job->loop, &job->sweep_timer, clock_monotonic_ms() + SWEEP_MS);
}

void job_begin_shutdown(struct job *job)
{
	job->sweep_timer.fired = kill_remaining_processes;
	if (job->model.facts.told_to_end && job->model.facts.launched)
		kill_remaining_processes(&job->sweep_timer);
	else
		loop_stop(&job->loop);
}

/* The end record is useful, but no work is lost without it: it gets little time, and none after the
 * deadline. */
static int64_t end_record_deadline(const struct job *job)
{
	int64_t until_ms = clock_monotonic_ms() + END_RECORD_MS, end_ms = job_deadline_ms(job);

	return end_ms < until_ms ? end_ms : until_ms;
}

/* The webhook comes first, and must leave half of that time for the record. */
static int64_t end_webhook_deadline(const struct job *job)
{
	int64_t now = clock_monotonic_ms();

	return now + (end_record_deadline(job) - now) / 2;
}

/* What it had not saved by then is in no snapshot that counts, however it has ended. */
static void add_successor(const struct job *job, json_t *about, struct cancel *cancel)
{
	uint32_t number = job->resume.attempt.number, newest = number;

	if (job->model.snapshots.superseded &&
	    storage_superseded(job->resume.storage, number, &newest, cancel, NULL) == 0 &&
	    newest > number)
		json_object_set_new(about, "superseded_by", json_integer(newest));
}

static void record_attempt_end(struct job *job, const struct outcome *outcome, int64_t until_ms)
{
	auto_(cancel_release) struct cancel cancel = {.fd = -1};
	struct err err;
	json_t *about;

	if (job->gang.member > 0)
		return;
	/* An attempt that was preempted during its restore is recorded too: without a record, the
	 * next attempt would take the machine for lost. */
	if (!job->snapshots && (job->model.facts.launched || !job->model.facts.noticed))
		return;
	if (job->hung || !job->resume.storage || job->resume.attempt.number == 0 ||
	    cancel_init(&cancel, &err) < 0)
		return;
	cancel_set_deadline(&cancel, until_ms);
	about = job_end_facts(job, outcome);
	add_successor(job, about, &cancel);
	if (storage_end_attempt(job->resume.storage, job->resume.attempt.number,
				outcome_name(outcome), about, &cancel, &err) < 0 &&
	    err.kind != ERR_EXISTS)
		log_debug("cannot record the end of the attempt: %s", err.text);
	json_decref(about);
}

#define DURABLE_TEXT 200
#define CONTINUE_TEXT 280
/* What was cancelled ends within milliseconds, but for a disk that hangs. */
#define HUNG_MS 3000

static bool has_durable(const struct job *job)
{
	return job->snapshots && !snapshot_id_is_none(snapshot_queue_newest(job->snapshots));
}

/* The newest complete checkpoint is in no snapshot, but in the directory. Of a gang, what one
 * machine has is nothing to go on from. */
static bool has_local(const struct job *job)
{
	return job_has_pending(&job->model) && job->gang.members == 1;
}

/* Where it is, and how to have it; "": it is not here. The caller frees. */
static char *local_text(const struct job *job)
{
	const char *directory = job->workspace.directory;
	char step[40] = "";

	if (!has_local(job))
		return text_copy("");
	if (job->model.newest.step >= 0)
		snprintf(step, sizeof(step), " (step %lld)", (long long)job->model.newest.step);
	if (job->model.snapshots.superseded)
		return text_format(". Its newest checkpoint%s lies in %s; the attempt that has "
				   "taken "
				   "over goes on without it",
				   step, directory);
	return text_format(". Its newest checkpoint%s lies in %s: the same command goes on from it "
			   "there, and `reprieve save %s --job %s --store %s` makes it durable",
			   step, directory, directory, job->name.text, job->store);
}

/* "000001-000012 (step 160, 3.0 s before the end; 15 steps later are lost)", or "nothing". */
static void format_durable(const struct job *job, char text[DURABLE_TEXT])
{
	struct snapshot_id newest =
		job->snapshots ? snapshot_queue_newest(job->snapshots) : (struct snapshot_id){0};
	bool restored = snapshot_id_compare(newest, job->resume.from) == 0 ||
			job->model.durable.as_of_start;
	int64_t end_ms =
		job->model.flush.began_ms > 0 ? job->model.flush.began_ms : clock_monotonic_ms();
	struct durable_age durable = {
		.restored = restored,
		.age_ms = end_ms -
			  (restored ? job->model.launched_ms : job->model.durable.written_ms),
		.step = job->model.durable.step,
		.reported = job->model.durable.reported_step,
		.last = job_reported_step(job),
		.newest = job->model.any_complete ? job->model.newest.step : -1,
		.local = has_local(job),
	};
	char id[SNAPSHOT_ID_TEXT], age[160];

	snapshot_id_format(newest, id);
	if (snapshot_id_is_none(newest))
		text_set(text, DURABLE_TEXT, "nothing");
	else if (job->model.facts.launched && job->model.newest.curves_only &&
		 job->gang.members == 1 && job->resume.kind == RESUME_FRESH)
		snprintf(text, DURABLE_TEXT,
			 "%s (only files that are written all the time, as curves; no checkpoint "
			 "was complete)",
			 id);
	else if (!job->model.facts.launched || (!restored && job->model.durable.written_ms == 0))
		text_set(text, DURABLE_TEXT, id);
	else
		snprintf(text, DURABLE_TEXT, "%s (%s)", id,
			 recovery_point_format_age(&durable, age, sizeof(age)));
}

/* Why it is in no snapshot, and what helps; "": it is not because of how the job writes. */
static const char *written_over_text(const struct job *job)
{
	const struct job_model *model = &job->model;
	bool fixed = job->tracker && (!model->any_complete || model->newest.step < 0 ||
				      tracker_holds_less(job->tracker));

	if ((model->any_complete && !job_has_pending(model)) || !fixed ||
	    !tracker_lacks_newest(job->tracker))
		return "";
	return ": its files are written all the time, so that no snapshot holds all of them; save "
	       "under numbered names, or write beside them and rename all at the end, or let a "
	       "signal ask for the save (--checkpoint-signal)";
}

static void log_not_durable(const struct job *job, const struct outcome *outcome,
			    const char *durable)
{
	bool pending = job_has_pending(&job->model);
	auto_(torn_files_release) struct torn_files torn = {0};
	auto_free char *local = local_text(job);
	char why[80] = "", patience[32];

	if (!pending)
		tracker_find_torn(job->tracker, &torn);
	if (job->model.flush.given_up && job->gang.members > 1)
		snprintf(why, sizeof(why), ": nothing came of it at all members within %s",
			 text_duration(job->options->flush_ms, patience, sizeof(patience)));
	else if (job->model.flush.given_up)
		snprintf(why, sizeof(why), ": the store accepted nothing for %s (--flush-time)",
			 text_duration(job->options->flush_ms, patience, sizeof(patience)));
	else if (pending && job->model.flush.refused)
		text_set(why, sizeof(why), ": the store has refused it, and would again");
	log_warn("the job has exited, but %s in %s is NOT durable%s%s; durable: %s (exit %d)%s",
		 torn.first ? torn.first : "its newest checkpoint", job->workspace.directory, why,
		 written_over_text(job), durable, outcome->exit_code, local);
}

/* Why the job does not count as finished although it exited with 0. */
static void log_restart_reason(const struct job *job, const struct outcome *outcome)
{
	if (job->model.facts.torn)
		log_note("the job has exited without an error, but its last files are in no "
			 "snapshot: it does not count as finished, and the same command starts it "
			 "again (exit %d)",
			 outcome->exit_code);
	else if (outcome_may_be_leaving(&job->model.facts))
		log_note("the job has exited soon after it was asked for a checkpoint, so it may "
			 "not have finished: the same command starts it again (exit %d)",
			 outcome->exit_code);
}

static void log_torn_files(struct job *job)
{
	auto_(torn_files_release) struct torn_files torn = {0};
	char more[40] = "";

	tracker_find_torn(job->tracker, &torn);
	if (!torn.first)
		return;
	if (torn.count > 1)
		snprintf(more, sizeof(more), " and %zu more", torn.count - 1);
	log_warn("%s%s in %s %s in no snapshot (%s%s); the next start there may move %s aside",
		 torn.first, more, job->workspace.directory, torn.count > 1 ? "are" : "is",
		 torn.count > 1 ? "of the first: " : "", torn.why, torn.count > 1 ? "them" : "it");
}

/* Another directory helps only a job that saves in another one. */
static void log_nothing_written(const struct job *job, const char *end,
				const struct outcome *outcome)
{
	const char *elsewhere = job->save_place.elsewhere, *directory = job->workspace.directory;
	char place[512];

	if (elsewhere)
		log_error("%s, and the newest work is NOT durable: nothing was written to %s, but "
			  "to %s; set --checkpoint-dir to where the job saves (exit %d)",
			  end, directory, save_place_directory(elsewhere, place, sizeof(place)),
			  outcome->exit_code);
	else
		log_error("%s, and the newest work is NOT durable: the job has not saved yet, as "
			  "far "
			  "as was seen: nothing was written to %s (exit %d)",
			  end, directory, outcome->exit_code);
}

/* `durable`: format_durable(). */
static void log_lost_work(const struct job *job, const struct outcome *outcome, const char *durable)
{
	const char *end = job->model.facts.noticed ? "preempted" : "ended";
	const char *directory = job->workspace.directory;
	auto_free char *local = local_text(job);

	if (job->model.gang.lost)
		log_error("the job has finished here, but what the members have left in the end is "
			  "NOT durable, because the parts of all did not come together; durable: "
			  "%s. Start all members again (exit %d)",
			  durable, outcome->exit_code);
	else if (!job->model.facts.noticed && job->model.facts.all_durable)
		log_error("the job has finished, but --strict turns the failure above into an "
			  "error; durable: %s (exit %d)",
			  durable, outcome->exit_code);
	else if (!has_durable(job) && !job->model.any_complete &&
		 (!file_exists(directory) || file_directory_is_empty(directory)))
		log_nothing_written(job, end, outcome);
	else
		log_error("%s, and the newest work is NOT durable%s; durable: %s (exit %d)%s", end,
			  written_over_text(job), durable, outcome->exit_code, local);
}

/* A scheduler that starts this job again keeps its name; a new submission has another one. */
static const char *how_to_continue(const struct job *job, char text[CONTINUE_TEXT])
{
	if (job->name.of_scheduler)
		snprintf(text, CONTINUE_TEXT,
			 "Another start of this job continues from there, and so does the same "
			 "command with --job %s",
			 job->name.text);
	else
		text_set(text, CONTINUE_TEXT, "Run the same command again to continue from there");
	return text;
}

static void log_outcome(struct job *job, const struct outcome *outcome)
{
	char id[SNAPSHOT_ID_TEXT], durable[DURABLE_TEXT], again[CONTINUE_TEXT];
	bool any = has_durable(job);

	if (any)
		snapshot_id_format(snapshot_queue_newest(job->snapshots), id);
	format_durable(job, durable);
	event_log_add(&job->events, "ended", "{s:s, s:i, s:s?}", "outcome", outcome_name(outcome),
		      "exit_code", outcome->exit_code, "durable", any ? id : NULL);
	if (outcome->kind == OUTCOME_PREEMPTED && !job->model.facts.noticed)
		log_note("the job has exited soon after it was asked for a checkpoint, so it may "
			 "not have finished; durable: %s. %s (exit %d)",
			 durable, how_to_continue(job, again), outcome->exit_code);
	else if (outcome->kind == OUTCOME_PREEMPTED)
		log_note("preempted; durable: %s. %s (exit %d)", durable,
			 how_to_continue(job, again), outcome->exit_code);
	else if (outcome->kind == OUTCOME_NOT_DURABLE)
		log_lost_work(job, outcome, durable);
	else if (job->model.facts.managed && job->model.facts.launched &&
		 !job->model.facts.all_durable)
		log_not_durable(job, outcome, durable);
	else if (outcome->kind == OUTCOME_FINISHED && job->model.facts.launched)
		log_restart_reason(job, outcome);
}

/* The facts that are known only now, after job and uploads have ended. */
static void complete_outcome_facts(struct job *job)
{
	struct job_view view = job_look(job, false);
	struct outcome_facts *facts = &job->model.facts;
	auto_(torn_files_release) struct torn_files torn = {0};
	enum unsaved_work unsaved = UNSAVED_NOTHING;

	tracker_find_torn(job->tracker, &torn);
	if (torn.first)
		unsaved = torn.went_on ? UNSAVED_SAVES : UNSAVED_CUT;
	*facts = job_outcome_facts(&job->model, &job->rules, &view, unsaved);
	/* Whoever starts the job again starts all members, and has what this time was lost. */
	facts->strict_failed =
		(job->options->strict && (job->ours_failed || !facts->all_durable)) ||
		job->model.gang.lost;
}

static struct outcome decide_outcome(const struct job *job)
{
	struct outcome outcome = outcome_of(&job->model.facts);

	if (job->model.refusal && !job->model.facts.launched)
		outcome = (struct outcome){OUTCOME_REFUSED, job->model.refusal};
	if (job->done)
		outcome = (struct outcome){OUTCOME_FINISHED, 0};
	outcome.exit_code = exit_policy_code(job->options->exit_policy, &outcome);
	return outcome;
}

/* Whoever still waits for a checkpoint is told that none will come. */
static void answer_last_clients(struct job *job, const struct outcome *outcome)
{
	auto_free char *why = text_format("the job has ended (%s): what it saved after this "
					  "request is not durable",
					  outcome_name(outcome));
	auto_(job_effects_release) struct job_effects effects = {0};
	auto_json json_t *reply = job_failure_reply(why);

	job_end_requests(&job->model, &effects);
	for (size_t i = 0; i < effects.count; i++)
		if (effects.items[i].kind == JOB_DO_REPLY)
			job_reply_to_client(&effects.items[i], reply);
}

static void on_requeueing(void *arg, const char *id)
{
	struct job *job = arg;

	event_log_add(&job->events, "requeue", "{s:s}", "id", id);
}

static void requeue(struct job *job, const struct outcome *outcome)
{
	const struct notice *stop = notices_stop(&job->notices);
	char durable[RESUME_POINT_TEXT];
	struct slurm_requeue_run run = {
		.facts =
			{
				.wanted = job->rules.requeues,
				.preempted = outcome->kind == OUTCOME_PREEMPTED,
				.lost = outcome->kind == OUTCOME_NOT_DURABLE &&
					job->model.facts.noticed,
				.durable = job_format_resume_point(job, durable)[0] != '\0',
				.at_limit = notices_are_slurm_limit(&job->notices),
				.script_ended = job_slurm_script_ended(job),
			},
		.storage = job->resume.storage,
		.seen_ms = stop ? stop->seen_ms : 0,
		.deadline_ms = stop ? stop->deadline_ms : CLOCK_NEVER,
		.requeueing = on_requeueing,
		.arg = job,
	};

	if (job->model.facts.noticed)
		slurm_task_barrier_leave(job->resume.storage);
	slurm_requeue_run(&run);
}

/* The notice sources still post to these workers, so they are not freed yet. Only one thread may
 * use the storage: a cancelled snapshot has to end before it. */
static void end_workers(struct job *job)
{
	if (job->tracker && !tracker_end_within(job->tracker, HUNG_MS))
		job->hung = true;
	if (!workers_end_within(job->workers, HUNG_MS))
		job->hung = true;
	if (!job->hung)
		return;
	log_warn("%s does not answer: what reads it is left behind", job->workspace.directory);
	observers_set_store(&job->observers, NULL, 0);
}

int job_finish(struct job *job)
{
	struct outcome outcome;
	int64_t until_ms;

	job_display_end(job);
	job_look_for_last_commit(job);
	complete_outcome_facts(job);
	outcome = decide_outcome(job);
	retention_worker_stop(job->retention_worker);
	if (job->snapshots)
		snapshot_queue_stop_early(job->snapshots);
	/* Log first: the rest may wait for a store that does not answer. */
	if (job->model.facts.launched)
		log_torn_files(job);
	job_say_where_it_saved(job, outcome.kind == OUTCOME_NOT_DURABLE);
	log_outcome(job, &outcome);
	answer_last_clients(job, &outcome);
	job_tell_watchers(job, &outcome);
	job_tell_why(job, &outcome);
	end_workers(job);
	job_tell_gang_not_started(job);
	if (job->model.facts.noticed || outcome.exit_code != 0)
		observers_notify_end(&job->observers, outcome_name(&outcome), outcome.exit_code,
				     end_webhook_deadline(job));
	until_ms = end_record_deadline(job);
	record_attempt_end(job, &outcome, until_ms);
	observers_record_end(&job->observers, outcome.exit_code, until_ms);
	requeue(job, &outcome);
	job_acknowledge_notice(job, &outcome);
	return outcome.exit_code;
}
