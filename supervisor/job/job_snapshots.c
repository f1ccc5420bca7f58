/* A complete checkpoint becomes a durable snapshot: uploads, retention after them, warnings when
 * uploads fall behind. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "upload/upload.h"

#include <stdlib.h>
#include <string.h>

#define STORE_RETRY_MS 10000
/* Fixed names that are being written are waited for: without them a snapshot would hold less than
 * the one before it. */
#define REPLACING_MOST_MS 30000
/* What was opened changed before it could be read: the next try, and each further one later. */
#define CHANGED_RETRY_MS 100
#define CHANGED_TRIES 3
/* Snapshots that follow each other within a minute are logged so often, and then once a minute. */
#define LOGGED_FIRST 5
#define LOGGED_EVERY_MS 60000

/* --- the recovery point --- */

static void on_upload_behind(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, point_timer);
	int64_t now = clock_monotonic_ms();
	char text[160], loss[120];

	if (job->superseded || !job->store || !recovery_point_is_behind(&job->point, now))
		return;
	job->point.said = true;
	recovery_point_format(&job->point, job->durable_step, job->durable_ms, now, text,
			      sizeof(text));
	log_warn("%s; %s", text, job_forecast_loss(job, loss, sizeof(loss)));
	event_log_add(&job->events, "upload_behind", "{s:f}", "seconds",
		      (double)(now - job->point.waiting_ms) / 1000);
}

static void arm_recovery_point_timer(struct job *job)
{
	int64_t due_ms = job->point.said ? CLOCK_NEVER : recovery_point_due_ms(&job->point);

	job->point_timer.fired = on_upload_behind;
	if (due_ms == CLOCK_NEVER)
		loop_disarm(&job->loop, &job->point_timer);
	else
		loop_arm(&job->loop, &job->point_timer, due_ms);
}

void job_note_complete(struct job *job)
{
	recovery_point_note_complete(&job->point, job->newest_complete.completed_ms);
	arm_recovery_point_timer(job);
}

static void note_durable(struct job *job, const struct checkpoint *checkpoint)
{
	bool newest = checkpoint->generation == job->newest_complete.generation;

	job->durable_ms = checkpoint->written_ms;
	job->durable_step = checkpoint->step;
	job->durable_reported_step = checkpoint->reported_step;
	recovery_point_note_durable(&job->point, checkpoint->completed_ms, newest,
				    clock_monotonic_ms());
	arm_recovery_point_timer(job);
}

int64_t job_reported_step(const struct job *job)
{
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;

	return page ? progress_page_last_step(page) : -1;
}

/* --- retention --- */

/* Logged once: from then on, about as many snapshots are removed as are added. */
static void log_removed_snapshots(struct job *job, const struct forget_result *result)
{
	if (job->reported_removal || result->forgotten == 0)
		return;
	job->reported_removal = true;
	log_note("removed %u snapshot%s that no --keep rule keeps; %u %s left", result->forgotten,
		 result->forgotten == 1 ? "" : "s", result->kept, result->kept == 1 ? "is" : "are");
}

static void on_retention_finished(void *arg, bool worked, const struct forget_result *result,
				  const struct err *err)
{
	struct job *job = arg;

	if (worked && (result->forgotten > 0 || result->collected.packs_removed > 0)) {
		log_debug("removed %u snapshots, freed %llu bytes", result->forgotten,
			  (unsigned long long)result->collected.bytes_removed);
		log_removed_snapshots(job, result);
		event_log_add(&job->events, "snapshots_removed", "{s:i, s:i, s:I}", "snapshots",
			      (int)result->forgotten, "kept", (int)result->kept, "bytes_freed",
			      (json_int_t)result->collected.bytes_removed);
	}
	/* Stopped for a save, or because new attempts keep starting: the next commit starts it
	 * again. */
	if (!worked && err->kind != ERR_CANCELLED && err->kind != ERR_RETRY &&
	    !job->retention_failed) {
		job->retention_failed = true;
		job_report_failure(job, "cannot remove old snapshots", err);
	}
	if (job->state == JOB_UPLOADING)
		job_flush(job);
}

static void start_retention(struct job *job)
{
	if (!job->retention_worker || job->superseded || notices_stop(&job->notices) ||
	    snapshot_queue_is_busy(job->snapshots))
		return;
	retention_worker_start(job->retention_worker);
}

/* --- snapshots --- */

/* There is a checkpoint, or the running files are all that the job writes. */
static bool has_only_running_files(const struct job *job)
{
	return !job->any_complete && job_has_running_tail(job) &&
	       tracker_has_only_running_files(job->tracker);
}

bool job_has_running_tail(const struct job *job)
{
	uint64_t generation = job->snapshots_due.ended_running;

	if (generation == 0 && job->tracker)
		generation = tracker_running_generation(job->tracker);
	return generation > job->snapshots_due.durable_running;
}

static void begin_snapshot(struct job *job)
{
	int64_t now_ms = clock_monotonic_ms();

	/* The next one that is complete begins it. */
	if (job->any_complete && tracker_holds_less(job->tracker))
		return;
	if (!job->any_complete)
		job->newest_complete = (struct checkpoint){
			.step = -1,
			.reason = SAVED_BY_ITSELF,
			.completed_ms = now_ms,
			.written_ms = now_ms,
			.reported_step = job_reported_step(job),
		};
	snapshot_pacing_note_begun(&job->snapshots_due.pacer, now_ms,
				   job->options->snapshot_interval_ms);
	job->snapshots_due.begun_ms = now_ms;
	job->snapshots_due.pending_ms = 0;
	job->snapshots_due.begun_generation = job->newest_complete.generation;
	retention_worker_stop(job->retention_worker);
	snapshot_queue_submit(job->snapshots, &job->newest_complete);
}

static void on_snapshot_due(struct timer *timer)
{
	job_pace_snapshots(container_of(timer, struct job, snapshots_due.timer));
}

/* At a notice: half of the time that is left. */
static int64_t replacing_most_ms(const struct job *job)
{
	int64_t left_ms = clock_left_ms(job_deadline_ms(job)) / 2;

	if (!job->tracker || !tracker_is_replacing(job->tracker))
		return 0;
	return left_ms > 0 && left_ms < REPLACING_MOST_MS ? left_ms : REPLACING_MOST_MS;
}

void job_pace_snapshots(struct job *job)
{
	bool ended = job->state == JOB_UPLOADING;
	struct snapshot_pacing_facts facts = {
		.now_ms = clock_monotonic_ms(),
		.interval_ms = job->options->snapshot_interval_ms,
		.pending_ms = job->snapshots_due.pending_ms,
		.last_write_ms = job->tracker && !ended ? tracker_last_write_ms(job->tracker) : 0,
		.replacing_most_ms = ended ? 0 : replacing_most_ms(job),
		.urgent = notices_stop(&job->notices) || ended ||
			  request_table_awaits(&job->requests),
		.last = ended,
		.only_running = has_only_running_files(job),
		.launched_ms = job->launched_ms,
		.begun_ms = job->snapshots_due.begun_ms,
	};
	int64_t wait_ms = snapshot_pacing_wait_ms(&job->snapshots_due.pacer, &facts);

	job->snapshots_due.timer.fired = on_snapshot_due;
	if (!job->snapshots || job->superseded || snapshot_queue_is_busy(job->snapshots) ||
	    job->retry_timer.armed)
		return;
	if (wait_ms == 0)
		begin_snapshot(job);
	else if (wait_ms != SNAPSHOT_PACING_NEVER)
		loop_arm(&job->loop, &job->snapshots_due.timer, facts.now_ms + wait_ms);
}

void job_on_running_files(void *arg, const char *path)
{
	struct job *job = arg;

	job->facts.managed = true;
	job_note_write(job, path);
	if (!job->any_complete && !job->snapshots_due.timer.armed)
		job_pace_snapshots(job);
}

/* Reported with the first checkpoint, because a job without checkpoints needs no store. */
static void report_missing_store(struct job *job)
{
	if (!job->no_store.kind)
		return;
	job_report_failure(job, "the job has written a checkpoint, and it will not be saved",
			   &job->no_store);
	job->no_store = (struct err){0};
}

void job_queue_snapshot(struct job *job)
{
	report_missing_store(job);
	if (job->superseded || !job->store)
		return;
	if (job->snapshots_due.pending_ms == 0)
		job->snapshots_due.pending_ms = clock_monotonic_ms();
	if (job->snapshots)
		job_pace_snapshots(job);
	else if (!job->resuming)
		job_claim_attempt_late(job);
}

static void on_snapshot_retry_due(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, retry_timer);

	if (!snapshot_queue_is_busy(job->snapshots) &&
	    (job_has_pending(job) || job_has_running_tail(job)))
		begin_snapshot(job);
	if (job->state == JOB_UPLOADING && !snapshot_queue_is_busy(job->snapshots))
		job_flush(job);
}

/* Each is reported once, because most jobs have the same files in all of their checkpoints. */
static void report_skipped_files(struct job *job, const struct snapshot_outcome *report)
{
	if (!job->reported_skipped_files)
		skipped_files_report(&report->result, job->workspace.directory);
	job->reported_skipped_files |= report->result.left_out > 0;
	for (char **matched = report->matched; matched && *matched; matched++) {
		size_t length = strcspn(*matched, "(");
		bool said = false;

		for (size_t i = 0; i < job->reported_patterns.count; i++)
			said |= strncmp(job->reported_patterns.paths[i], *matched, length) == 0;
		if (said)
			continue;
		path_list_add(&job->reported_patterns, *matched);
		log_note("%s) %s", *matched,
			 text_starts(*matched, "--exclude")
				 ? "leaves files out of the snapshots: they stay on this machine"
				 : "takes files as running files: they delay no checkpoint");
	}
}

/* A job that saves all the time gets a line for each of its first snapshots, and then one a minute.
 */
static bool logs_this_one(struct job *job, const struct snapshot_outcome *report)
{
	int64_t now_ms = clock_monotonic_ms();
	bool frequent = job->snapshots_due.logged >= LOGGED_FIRST &&
			now_ms - job->snapshots_due.logged_ms < LOGGED_EVERY_MS &&
			report->checkpoint.reason == SAVED_BY_ITSELF;

	if (!frequent) {
		job->snapshots_due.logged++;
		job->snapshots_due.logged_ms = now_ms;
	}
	return !frequent;
}

/* It holds what else is complete. */
static void on_snapshot_without_newest(struct job *job)
{
	log_debug("the newest checkpoint is being written over: the snapshot is without it");
	job->store_failing = false;
	job->flush.tries = 0;
	if (job->state != JOB_UPLOADING)
		loop_arm(&job->loop, &job->retry_timer, clock_monotonic_ms() + STORE_RETRY_MS);
	start_retention(job);
}

static void on_snapshot_durable(struct job *job, const struct snapshot_outcome *report)
{
	const struct notice *stop = notices_stop(&job->notices);
	int64_t now = clock_monotonic_ms();
	char id[SNAPSHOT_ID_TEXT], size[24], sent[24], time[32], spare[64] = "", step[40] = "";
	json_t *step_value =
		report->checkpoint.step >= 0 ? json_integer(report->checkpoint.step) : json_null();

	job->snapshots_due.durable_running = report->running_generation;
	if (report->lacks_newest) {
		on_snapshot_without_newest(job);
		return;
	}
	job->durable_generation = report->checkpoint.generation;
	note_durable(job, &report->checkpoint);
	job->upload_ms = now - report->checkpoint.completed_ms;
	job->flush.tries = 0;
	snapshot_id_format(report->id, id);
	if (report->checkpoint.step >= 0)
		snprintf(step, sizeof(step), ", step %lld", (long long)report->checkpoint.step);
	if (stop)
		snprintf(spare, sizeof(spare), ", %.1f s before the deadline",
			 (double)clock_left_ms(stop->deadline_ms) / 1000);
	text_bytes(report->result.bytes, size, sizeof(size));
	text_bytes(report->result.bytes_sent, sent, sizeof(sent));
	text_duration(job->upload_ms, time, sizeof(time));
	if (job->store_failing)
		log_note("the store works again");
	job->store_failing = false;
	if (logs_this_one(job, report))
		log_note("durable: %s%s, %s (%s written) in %s%s", id, step, size, sent, time,
			 spare);
	report_skipped_files(job, report);
	event_log_add(&job->events, "durable", "{s:s, s:O, s:i, s:I, s:I, s:f, s:f, s:s}", "id", id,
		      "step", step_value, "files", (int)report->result.files, "bytes",
		      (json_int_t)report->result.bytes, "bytes_sent",
		      (json_int_t)report->result.bytes_sent, "seconds",
		      (double)job->upload_ms / 1000, "age",
		      (double)(clock_monotonic_ms() - report->checkpoint.written_ms) / 1000,
		      "reason", save_reason_name(report->checkpoint.reason));
	job_step_requests(job,
			  (struct request_event){.kind = REQUEST_EV_DURABLE,
						 .generation = report->checkpoint.generation},
			  json_pack("{s:s, s:s, s:I, s:O, s:f}", "event", "durable", "id", id,
				    "bytes", (json_int_t)report->result.bytes, "step", step_value,
				    "seconds", (double)job->upload_ms / 1000));
	json_decref(step_value);
	job_warn_if_window_too_short(job);
	job_note_durable(job);
	start_retention(job);
}

/* Whoever waits for that checkpoint is told. It may become durable yet, by another try. */
static void answer_lost(struct job *job, uint64_t generation, const char *why)
{
	job_step_requests(job,
			  (struct request_event){.kind = REQUEST_EV_LOST, .generation = generation},
			  job_failure_reply(why));
}

static void on_snapshot_failed(struct job *job, const struct snapshot_outcome *report)
{
	const struct err *err = &report->err;

	/* No file of it is left, so there is nothing to make durable. */
	if (report->result.empty && !report->lacks_newest) {
		job->durable_generation = report->checkpoint.generation;
		answer_lost(job, report->checkpoint.generation, err->text);
		return;
	}
	if (err->kind == ERR_CANCELLED || report->result.empty)
		return;
	/* What is in it was written to before it could be read: it is planned again. */
	if (report->result.changed) {
		loop_arm(&job->loop, &job->retry_timer, clock_monotonic_ms() + CHANGED_RETRY_MS);
		return;
	}
	event_log_add(&job->events, "snapshot_failed", "{s:s}", "why", err->text);
	answer_lost(job, report->checkpoint.generation, err->text);
	if (err->kind == ERR_EXISTS) {
		job->superseded = true;
		job_step_requests(job, (struct request_event){.kind = REQUEST_EV_ENDED},
				  job_failure_reply(err->text));
		job_report_failure(
			job, "superseded by a newer attempt: no further checkpoints are uploaded",
			err);
		return;
	}
	if (!job->store_failing)
		job_report_failure(job, "a checkpoint is not durable; the job continues, retrying",
				   err);
	job->store_failing = true;
	if (job->state == JOB_UPLOADING)
		job_retry_flush(job, err->kind);
	else
		loop_arm(&job->loop, &job->retry_timer, clock_monotonic_ms() + STORE_RETRY_MS);
}

static void on_snapshot_finished(void *arg, const struct snapshot_outcome *report)
{
	struct job *job = arg;

	if (report->durable)
		on_snapshot_durable(job, report);
	else
		on_snapshot_failed(job, report);
	job_continue_plan(job);
	if (job->state == JOB_UPLOADING)
		job_flush(job);
	else
		job_pace_snapshots(job);
}

/* The newest checkpoint may be newer than the one that the snapshot was begun for. */
static void plan_snapshot(void *arg, struct snapshot_plan *plan, struct checkpoint *checkpoint)
{
	struct job *job = arg;

	tracker_plan(job->tracker, plan);
	*checkpoint = job->newest_complete;
	job->snapshots_due.begun_generation = checkpoint->generation;
	job->snapshots_due.pending_ms = 0;
}

static bool confirm_snapshot(void *arg, struct snapshot_plan *plan, unsigned tries)
{
	struct job *job = arg;

	return tracker_confirm(job->tracker, plan, tries >= CHANGED_TRIES);
}

static json_t *list_signatures(void *arg)
{
	struct job *job = arg;

	return tracker_signatures(job->tracker);
}

int job_start_snapshot_queue(struct job *job, struct err *err)
{
	struct snapshot_queue_options options = {
		.loop = &job->loop,
		.workers = job->workers,
		.storage = job->resume.storage,
		.attempt = job->resume.attempt.number,
		.parent = job->resume.from,
		.workspace = &job->workspace,
		.job = job->name.text,
		.profile = job->profile.profile,
		.patterns = &job->options->patterns,
		.plan = plan_snapshot,
		.confirm = confirm_snapshot,
		.signatures = list_signatures,
		.finished = on_snapshot_finished,
		.arg = job,
	};
	struct retention_worker_options retention_worker = {
		.workers = job->workers,
		.storage = job->resume.storage,
		.policy = retention_policy(&job->options->retention),
		.finished = on_retention_finished,
		.arg = job,
	};

	if (job->options->tag && !job->snapshot_about)
		job->snapshot_about = json_pack("{s:s}", "tag", job->options->tag);
	options.about = job->snapshot_about;
	if (notices_stop(&job->notices))
		storage_set_urgent(job->resume.storage);
	job->retry_timer.fired = on_snapshot_retry_due;
	if (job->resume.kind == RESUME_RESTORED) {
		job->durable_ms = clock_monotonic_ms();
		job->durable_step = job->resume.step;
	}
	if (retention_is_set(&job->options->retention))
		job->retention_worker = retention_worker_new(&retention_worker);
	return snapshot_queue_new(&options, &job->snapshots, err);
}

bool job_is_durable(const struct job *job)
{
	/* Only the job knows whether SIGTERM asks it to save: it did if a save was begun and is
	 * torn. */
	bool by_term = job->facts.torn && job->rank_progress.count > 0;
	bool asked_in_vain =
		job->facts.noticed && job->request.sent_ms > 0 && !job->request.answered &&
		(job->ask.by_flag || job_can_request(job) || by_term);

	if (job->any_complete && job->durable_generation != job->newest_complete.generation)
		return false;
	/* Running files are all that this job has written, or the last that it wrote. */
	if (job->snapshots && job_has_running_tail(job) &&
	    (!job->any_complete || !job->facts.noticed))
		return false;
	/* Its metrics are saved; but of its checkpoints, none was complete. */
	if (!job->any_complete && job->facts.torn && job->facts.noticed)
		return false;
	if (asked_in_vain || !job->snapshots || !job->facts.managed)
		return !job->facts.managed;
	return !snapshot_id_is_none(snapshot_queue_newest(job->snapshots)) || !job->facts.noticed;
}

/* While a checkpoint is being written, its closed files are uploaded early, and the parts by which
 * open files have grown. */
bool job_on_files_closed(void *arg)
{
	struct job *job = arg;

	if (!job->snapshots || job->superseded || !snapshot_queue_is_idle(job->snapshots))
		return false;
	snapshot_queue_upload_early(job->snapshots, tracker_closed(job->tracker),
				    tracker_open(job->tracker));
	return true;
}
