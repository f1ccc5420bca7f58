/* What becomes of a complete checkpoint: snapshots, retention behind them, and how far durability is behind the work. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "upload/upload.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORE_AGAIN_MS 10000

/* --- the recovery point --- */

static void fell_behind(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, point_timer);
	int64_t now = clock_monotonic_ms();
	char text[160], loss[120];

	if (job->superseded || !job->store || !recovery_point_is_behind(&job->point, now))
		return;
	job->point.said = true;
	recovery_point_format(
		&job->point, job->durable_step, job->durable_ms, now, text, sizeof(text));
	log_warn("%s; %s", text, job_forecast_loss(job, loss, sizeof(loss)));
	events_add(&job->events, "behind", "{s:f}", "seconds",
		(double)(now - job->point.waiting_ms) / 1000);
}

static void watch_recovery_point(struct job *job)
{
	int64_t due_ms = job->point.said ? CLOCK_NEVER : recovery_point_due_ms(&job->point);

	job->point_timer.fired = fell_behind;
	if (due_ms == CLOCK_NEVER)
		loop_disarm(&job->loop, &job->point_timer);
	else
		loop_arm(&job->loop, &job->point_timer, due_ms);
}

void job_note_sealed(struct job *job)
{
	recovery_point_sealed(&job->point, job->newest_sealed.sealed_ms);
	watch_recovery_point(job);
}

static void note_durable(struct job *job, const struct sealed *sealed)
{
	bool newest = sealed->generation == job->newest_sealed.generation;

	job->durable_ms = sealed->written_ms;
	job->durable_step = sealed->step;
	recovery_point_durable(&job->point, sealed->sealed_ms, newest, clock_monotonic_ms());
	watch_recovery_point(job);
}

static void add_age(json_t *status, const char *name, int64_t since_ms)
{
	if (since_ms > 0)
		json_object_set_new(
			status, name, json_real((double)(clock_monotonic_ms() - since_ms) / 1000));
}

/* What the job reports by reprieve_progress(). */
static void add_training(const struct job *job, json_t *status)
{
	struct report_page *page = job->tracker ? tracker_page(job->tracker) : NULL;
	struct report_progress progress;
	json_t *training;

	if (!page || !report_page_progress(page, &progress))
		return;
	training = json_pack("{s:I}", "step", (json_int_t)progress.step);
	if (progress.mean_ms > 0)
		json_object_set_new(training, "step_seconds", json_real(progress.mean_ms / 1000));
	add_age(training, "seconds", progress.step_ms);
	json_object_set_new(status, "training", training);
}

json_t *job_status(const struct job *job)
{
	struct snapshot_id newest =
		job->snapshots ? snapshots_newest(job->snapshots) : (struct snapshot_id){0};
	bool any = !snapshot_id_is_none(newest);
	uint64_t bytes_done, bytes_total;
	char id[SNAPSHOT_ID_TEXT], loss[120];
	json_t *status;

	if (!any && job->resume.kind == RESUME_RESTORED)
		newest = job->resume.from;
	any = !snapshot_id_is_none(newest);
	status = json_pack("{s:s, s:s, s:i, s:i, s:i, s:s?, s:I, s:s, s:b, s:b}", "job",
		job->name.text, "state", job_state_name(job->state), "attempt",
		(int)job->resume.attempt.number, "pid", (int)job->child.pid, "supervisor_pid",
		(int)getpid(), "durable", any ? snapshot_id_format(newest, id) : NULL, "step",
		(json_int_t)job->durable_step, "store", job->store ? job->store : "", "waiting",
		job->point.waiting_ms > 0, "behind",
		recovery_point_is_behind(&job->point, clock_monotonic_ms()));
	add_age(status, "durable_seconds", job->durable_ms);
	json_object_set_new(status, "counters", counters_json(&job->observers.counters));
	json_object_set_new(status, "labels", job_labels(job));
	if (job->snapshots && job->launched_ms > 0) {
		json_object_set_new(status, "at_risk_seconds",
			json_real((double)job_forecast(job).behind_ms / 1000));
		json_object_set_new(
			status, "loss", json_string(job_forecast_loss(job, loss, sizeof(loss))));
	}
	add_training(job, status);
	json_object_set_new(status, "sources", job_sources(job));
	if (notices_stop(&job->notices))
		json_object_set_new(status, "notice", job_notice(job));
	if (job->receipts.count > 0)
		json_object_set_new(status, "receipts", job_receipts(job));
	if (job->any_sealed) {
		json_object_set_new(status, "newest_step", json_integer(job->newest_sealed.step));
		add_age(status, "newest_seconds", job->newest_sealed.sealed_ms);
	}
	if (job->snapshots && snapshots_progress(job->snapshots, &bytes_done, &bytes_total))
		json_object_set_new(status, "saving",
			json_pack("{s:I, s:I}", "bytes_done", (json_int_t)bytes_done, "bytes_total",
				(json_int_t)bytes_total));
	return status;
}

/* --- retention --- */

/* Once: from then on about as many go as come. */
static void tell_of_forgetting(struct job *job, const struct forget_result *result)
{
	if (job->told_of_forgetting || result->forgotten == 0)
		return;
	job->told_of_forgetting = true;
	log_note("forgot %u snapshot%s that no --keep rule keeps; %u %s left", result->forgotten,
		result->forgotten == 1 ? "" : "s", result->kept, result->kept == 1 ? "is" : "are");
}

static void tended(
	void *arg, bool worked, const struct forget_result *result, const struct err *err)
{
	struct job *job = arg;

	if (worked && (result->forgotten > 0 || result->swept.packs_removed > 0)) {
		log_debug("forgot %u snapshots, freed %llu bytes", result->forgotten,
			(unsigned long long)result->swept.bytes_removed);
		tell_of_forgetting(job, result);
		events_add(&job->events, "forgot", "{s:i, s:i, s:I}", "snapshots",
			(int)result->forgotten, "kept", (int)result->kept, "bytes_freed",
			(json_int_t)result->swept.bytes_removed);
	}
	/* Stopped for a save, or by attempts that come and go: the next commit begins it anew. */
	if (!worked && err->kind != ERR_CANCELLED && err->kind != ERR_RETRY &&
		!job->tending_failed) {
		job->tending_failed = true;
		job_failed(job, "old snapshots are not forgotten", err);
	}
	if (job->state == JOB_UPLOADING)
		job_flush(job);
}

static void tend(struct job *job)
{
	if (!job->tending || job->superseded || notices_stop(&job->notices) ||
		snapshots_busy(job->snapshots))
		return;
	tending_start(job->tending);
}

/* --- snapshots --- */

static void want(struct job *job)
{
	tending_stop(job->tending);
	snapshots_want(job->snapshots, &job->newest_sealed);
}

/* Not before there is something to lose: a job without checkpoints needs no store. */
static void tell_of_no_store(struct job *job)
{
	if (!job->no_store.kind)
		return;
	job_failed(
		job, "the job has written a checkpoint, and it will not be saved", &job->no_store);
	job->no_store = (struct err){0};
}

void job_ship(struct job *job)
{
	tell_of_no_store(job);
	if (job->superseded || !job->store)
		return;
	if (job->snapshots)
		want(job);
	else if (!job->resuming)
		job_claim_late(job);
}

static void retry(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, retry_timer);

	if (!snapshots_busy(job->snapshots) &&
		tracker_is_settled(job->tracker, &job->newest_sealed.generation))
		want(job);
	else if (job->state == JOB_UPLOADING)
		job_flush(job);
}

/* Each once: most jobs have the same in all of their checkpoints. */
static void tell_of_what_is_missing(struct job *job, const struct snapshot_report *report)
{
	if (!job->told_of_left_out)
		left_out_tell(&report->result, job->workspace.directory);
	job->told_of_left_out |= report->result.left_out > 0;
	if (report->log[0] && !job->told_of_log)
		log_note("logs like %s in %s are no part of the snapshots: they stay on this "
			 "machine",
			report->log, job->workspace.directory);
	job->told_of_log |= report->log[0] != '\0';
}

static void became_durable(struct job *job, const struct snapshot_report *report)
{
	const struct notice *stop = notices_stop(&job->notices);
	int64_t now = clock_monotonic_ms();
	char id[SNAPSHOT_ID_TEXT], size[24], sent[24], time[32], spare[64] = "", step[40] = "";
	json_t *step_value =
		report->sealed.step >= 0 ? json_integer(report->sealed.step) : json_null();

	job->durable_generation = report->sealed.generation;
	note_durable(job, &report->sealed);
	job->upload_ms = now - report->sealed.sealed_ms;
	job->flush.tries = 0;
	snapshot_id_format(report->id, id);
	if (report->sealed.step >= 0)
		snprintf(step, sizeof(step), ", step %lld", (long long)report->sealed.step);
	if (stop)
		snprintf(spare, sizeof(spare), ", %.1f s before the deadline",
			(double)clock_left_ms(stop->deadline_ms) / 1000);
	text_bytes(report->result.bytes, size, sizeof(size));
	text_bytes(report->result.bytes_sent, sent, sizeof(sent));
	text_duration(job->upload_ms, time, sizeof(time));
	if (job->store_failing)
		log_note("the store works again");
	job->store_failing = false;
	log_note("durable: %s%s, %s (%s written) in %s%s", id, step, size, sent, time, spare);
	tell_of_what_is_missing(job, report);
	events_add(&job->events, "durable", "{s:s, s:O, s:i, s:I, s:I, s:f, s:f, s:s}", "id", id,
		"step", step_value, "files", (int)report->result.files, "bytes",
		(json_int_t)report->result.bytes, "bytes_sent",
		(json_int_t)report->result.bytes_sent, "seconds", (double)job->upload_ms / 1000,
		"age", (double)(clock_monotonic_ms() - report->sealed.written_ms) / 1000, "reason",
		report->sealed.reason);
	if (text_equal(report->sealed.reason, "request"))
		job_tell_clients(job,
			json_pack("{s:s, s:s, s:I, s:O, s:f}", "event", "durable", "id", id,
				"bytes", (json_int_t)report->result.bytes, "step", step_value,
				"seconds", (double)job->upload_ms / 1000),
			true);
	json_decref(step_value);
	job_warn_of_window(job);
	job_note_point(job);
	tend(job);
}

static void was_not_durable(struct job *job, const struct snapshot_report *report)
{
	const struct err *err = &report->err;

	if (err->kind == ERR_NOT_FOUND) /* no file is left there: nothing to make durable */
		job->durable_generation = report->sealed.generation;
	if (err->kind == ERR_NOT_FOUND || err->kind == ERR_CANCELLED)
		return;
	/* Written to again before it could be read: the next seal brings a newer one. Unless it was only a deletion. */
	if (err->kind == ERR_RETRY &&
		!tracker_still_complete(job->tracker, report->sealed.generation)) {
		if (tracker_is_settled(job->tracker, &job->newest_sealed.generation))
			job_ship(job);
		return;
	}
	events_add(&job->events, "snapshot_failed", "{s:s}", "why", err->text);
	if (text_equal(report->sealed.reason, "request"))
		job_tell_clients(
			job, json_pack("{s:s, s:s}", "event", "failed", "error", err->text), true);
	if (err->kind == ERR_EXISTS) {
		job->superseded = true;
		job_failed(job, "this machine's checkpoints are not published any more", err);
		return;
	}
	if (!job->store_failing)
		job_failed(job,
			"a checkpoint is not durable; the job goes on, and it is tried again", err);
	job->store_failing = true;
	if (job->state == JOB_UPLOADING)
		job_flush_again(job, err->kind);
	else
		loop_arm(&job->loop, &job->retry_timer, clock_monotonic_ms() + STORE_AGAIN_MS);
}

static void snapshot_finished(void *arg, const struct snapshot_report *report)
{
	struct job *job = arg;

	if (report->durable)
		became_durable(job, report);
	else
		was_not_durable(job, report);
	job_go_on_with_plan(job);
	if (job->state == JOB_UPLOADING)
		job_flush(job);
}

static bool still_complete(void *arg, uint64_t generation)
{
	struct job *job = arg;

	return tracker_still_complete(job->tracker, generation);
}

static char **torn(void *arg)
{
	struct job *job = arg;

	return tracker_torn(job->tracker);
}

int job_start_snapshots(struct job *job, struct err *err)
{
	struct snapshots_options options = {
		.loop = &job->loop,
		.workers = job->workers,
		.storage = job->resume.storage,
		.attempt = job->resume.attempt.number,
		.parent = job->resume.from,
		.workspace = &job->workspace,
		.job = job->name.text,
		.profile = job->profile.profile,
		.still_complete = still_complete,
		.torn = torn,
		.finished = snapshot_finished,
		.arg = job,
	};
	struct tending_options tending = {
		.workers = job->workers,
		.storage = job->resume.storage,
		.policy = retention_policy(&job->options->retention),
		.finished = tended,
		.arg = job,
	};

	if (job->options->tag && !job->snapshot_about)
		job->snapshot_about = json_pack("{s:s}", "tag", job->options->tag);
	options.about = job->snapshot_about;
	if (notices_stop(&job->notices))
		storage_hurry(job->resume.storage);
	job->retry_timer.fired = retry;
	if (job->resume.kind == RESUME_RESTORED) {
		job->durable_ms = clock_monotonic_ms();
		job->durable_step = job->resume.step;
	}
	if (retention_is_set(&job->options->retention))
		job->tending = tending_new(&tending);
	return snapshots_new(&options, &job->snapshots, err);
}

bool job_is_durable(const struct job *job)
{
	/* Whether a SIGTERM asks for a save only the job knows: it does where one was begun. */
	bool by_term = job->facts.torn && job->receipts.count > 0;
	bool asked_in_vain = job->facts.noticed && job->request.sent_ms > 0 &&
			     !job->request.answered &&
			     (job->ask.by_flag || job_can_ask(job) || by_term);

	if (job->any_sealed && job->durable_generation != job->newest_sealed.generation)
		return false;
	if (asked_in_vain || !job->snapshots)
		return !job->facts.managed;
	return !snapshot_id_is_none(snapshots_newest(job->snapshots)) || !job->facts.noticed;
}

/* A checkpoint is being written: what is closed of it goes out meanwhile, and what open files have grown by. */
bool job_files_closed(void *arg)
{
	struct job *job = arg;

	if (!job->snapshots || job->superseded || !snapshots_idle(job->snapshots))
		return false;
	snapshots_send_ahead(
		job->snapshots, tracker_closed(job->tracker), tracker_open(job->tracker));
	return true;
}
