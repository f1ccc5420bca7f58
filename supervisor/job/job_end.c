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
	struct cancel cancel = CANCEL_AT(until_ms);
	struct run_facts run = job_facts(job, LOOK_AT_MODEL);
	struct err err;
	json_t *about;

	/* One member records it for all. An attempt that was preempted during its restore is
	 * recorded too: without a record, the next attempt would take the machine for lost. */
	if (!gang_view_is_first(&job->in_gang.feed.view, job->gang.member) ||
	    (!job->snapshots && (job->model.facts.launched || !job->model.facts.noticed)))
		return;
	if (job->hung || !job->resume.storage || job->resume.attempt.number == 0)
		return;
	about = end_record(&run, outcome);
	add_successor(job, about, &cancel);
	if (storage_end_attempt(job->resume.storage, job->resume.attempt.number,
				outcome_name(outcome), about, &cancel, &err) < 0 &&
	    err.kind != ERR_EXISTS)
		log_debug("cannot record the end of the attempt: %s", err.text);
	json_decref(about);
}

/* What was cancelled ends within milliseconds, but for a disk that hangs. */
#define HUNG_MS 3000

/* The facts that are known only now, after job and uploads have ended. */
static void complete_outcome_facts(struct job *job, const struct torn_files *torn)
{
	struct job_view view = job_look(job, false);
	struct outcome_facts *facts = &job->model.facts;
	enum unsaved_work unsaved = UNSAVED_NOTHING;

	if (torn->first)
		unsaved = torn->went_on ? UNSAVED_SAVES : UNSAVED_CUT;
	*facts = job_outcome_facts(&job->model, &job->rules, &view, unsaved);
	if (torn->first && job->outlived.lost)
		facts->all_durable = false;
	/* Whoever starts the job again starts all members, and has what this time was lost. */
	facts->strict_failed =
		(job->options->strict && (job->reports.failed || !facts->all_durable)) ||
		job->model.gang.lost;
}

/* Whoever still waits for a checkpoint is told that none will come. */
static void answer_last_clients(struct job *job, const struct outcome *outcome)
{
	auto_free char *why = text_format("the job has ended (%s): what it saved after this "
					  "request is not durable",
					  outcome_name(outcome));
	auto_(job_effects_release) struct job_effects effects = {0};
	auto_json json_t *reply = control_failure(why);

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
	struct run_facts known = job_facts(job, LOOK_AT_MODEL);
	const struct notice *stop = known.stop;
	char durable[RESUME_POINT_TEXT];
	struct slurm_requeue_run run = {
		.facts =
			{
				.wanted = job->rules.requeues,
				.preempted = outcome->kind == OUTCOME_PREEMPTED ||
					     (outcome->kind == OUTCOME_NOT_DURABLE &&
					      !job->model.facts.launched),
				.lost = outcome->kind == OUTCOME_NOT_DURABLE &&
					job->model.facts.noticed && job->model.facts.launched,
				.durable = run_facts_resume_point(&known, durable)[0] != '\0',
				.at_limit = notices_are_slurm_limit(&job->notices),
				.script_ended = job_slurm_script_ended(job),
				.exit_code = outcome->exit_code,
			},
		/* The members of a gang have saved together. */
		.deadline_ms = stop && job->gang.members == 1 ? stop->deadline_ms : 0,
		.requeueing = on_requeueing,
		.arg = job,
	};

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

/* Asked to stop before the launch: the restore was cancelled, and what it had come to is known once
 * its worker has ended. */
static void end_restore(struct job *job)
{
	struct job_model *model = &job->model;

	end_workers(job);
	if (job->hung || snapshot_id_is_none(job->resume.from) || job->resume.newer_than_store)
		return;
	model->attempt = ATTEMPT_CLAIMED;
	model->facts.managed = model->snapshots.any_durable = true;
}

/* Said to a job that has left nothing at all. */
static bool is_directory_empty(const struct job *job)
{
	const char *directory = job->workspace.directory;

	return !job->model.any_complete &&
	       (!file_exists(directory) || file_directory_is_empty(directory));
}

static void say_end(struct job *job, const struct torn_files *torn, const struct outcome *outcome)
{
	struct run_facts run = job_facts(job, LOOK_AT_PARTS);
	struct end_facts end = {
		.outcome = *outcome,
		.torn = torn,
		.lacks_newest = job->tracker && tracker_lacks_newest(job->tracker),
		.directory_is_empty =
			outcome->kind == OUTCOME_NOT_DURABLE && is_directory_empty(job),
	};

	report_end(&job->reports, &run, &end);
}

int job_finish(struct job *job)
{
	auto_(torn_files_release) struct torn_files torn = {0};
	struct outcome outcome;
	int64_t now_ms, until_ms;

	display_end(&job->reports);
	job_look_for_last_commit(job);
	tracker_find_torn(job->tracker, &torn);
	if (!job->model.facts.launched)
		end_restore(job);
	complete_outcome_facts(job, &torn);
	outcome = outcome_of(&job->model.facts);
	outcome.exit_code = exit_policy_code(job->options->exit_policy, &outcome);
	retention_worker_stop(job->retention_worker);
	if (job->snapshots)
		snapshot_queue_stop_early(job->snapshots);
	/* Log first: the rest may wait for a store that does not answer. */
	say_end(job, &torn, &outcome);
	answer_last_clients(job, &outcome);
	job_tell_outcome(job, &outcome, false);
	job_tell_why(job, &outcome);
	if (job->model.facts.launched)
		end_workers(job);
	gang_feed_say_last_word(&job->in_gang.feed);
	job_tell_gang_not_started(job);
	now_ms = clock_monotonic_ms();
	/* The webhook comes first, and must leave half of that time for the record. */
	if (job->model.facts.noticed || outcome.exit_code != 0)
		observers_notify_end(&job->observers, outcome_name(&outcome), outcome.exit_code,
				     now_ms + (end_record_deadline(job) - now_ms) / 2);
	until_ms = end_record_deadline(job);
	record_attempt_end(job, &outcome, until_ms);
	observers_record_end(&job->observers, outcome.exit_code, until_ms);
	requeue(job, &outcome);
	job_acknowledge_notice(job, &outcome);
	/* Those that have connected since. */
	job_tell_outcome(job, &outcome, true);
	return outcome.exit_code;
}
