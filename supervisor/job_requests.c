/* Checkpoints on request, what becomes of a complete one, and who waits for it. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "signal_name.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define STORE_AGAIN_MS 10000
#define FLUSH_AGAIN_MS 500
#define FLUSH_TRIES 3

/* --- clients --- */

static void reply_all(struct job *job, json_t *reply, bool last)
{
	for (size_t i = 0; i < job->waiting_count; i++) {
		control_reply(job->waiting[i], json_incref(reply));
		if (last)
			control_finish(job->waiting[i]);
	}
	if (last)
		job->waiting_count = 0;
	json_decref(reply);
}

static void refuse_client(struct control_request *request, const char *why)
{
	control_reply(request, json_pack("{s:s, s:s}", "event", "failed", "error", why));
	control_finish(request);
}

static json_t *status_of(const struct job *job)
{
	char id[SNAPSHOT_ID_TEXT];
	bool any = job->snapshots && !snapshot_id_is_none(snapshots_newest(job->snapshots));

	return json_pack("{s:s, s:s, s:i, s:i, s:s?, s:I, s:s}", "job", job->name.text, "state",
		job_state_name(job->state), "attempt", (int)job->resume.attempt.number, "pid",
		(int)job->child.pid, "durable",
		any ? snapshot_id_format(snapshots_newest(job->snapshots), id) : NULL, "step",
		(json_int_t)job->durable_step, "store", job->store ? job->store : "");
}

static void client_asked(void *arg, struct control_request *request, json_t *message)
{
	struct job *job = arg;
	const char *what = json_string_value(json_object_get(message, "do"));

	if (text_equal(what, "status")) {
		control_reply(request, status_of(job));
		control_finish(request);
	} else if (!text_equal(what, "checkpoint")) {
		refuse_client(request, "unknown request");
	} else if (job->superseded) {
		refuse_client(
			request, "another attempt has taken over: this one publishes no more");
	} else if (job->state != JOB_RUNNING) {
		refuse_client(request, "the job is not running");
	} else if (job->options->ask != ASK_SIGNAL && job->options->ask != ASK_COMMAND) {
		refuse_client(request, "this job cannot be asked: it was started without "
				       "--checkpoint-signal or --checkpoint-command");
	} else if (job->waiting_count == sizeof(job->waiting) / sizeof(job->waiting[0])) {
		refuse_client(request, "too many requests at once");
	} else {
		job->waiting[job->waiting_count++] = request;
		job_request(job, "request");
	}
}

static void client_gone(void *arg, struct control_request *request)
{
	struct job *job = arg;

	for (size_t i = 0; i < job->waiting_count; i++) {
		if (job->waiting[i] != request)
			continue;
		job->waiting[i] = job->waiting[--job->waiting_count];
		return;
	}
}

void job_open_control(struct job *job)
{
	struct control_handler handler = {.asked = client_asked, .gone = client_gone, .arg = job};
	auto_free char *path = session_path(&job->session, SESSION_CONTROL);
	struct err err;

	if (path && control_open(&job->loop, path, &handler, &job->control, &err) < 0)
		job_failed(job, "`reprieve checkpoint` will not find this job", &err);
}

/* --- asking --- */

static void asking(void *arg)
{
	struct job *job = arg;

	job->request.sent_ms = clock_monotonic_ms();
	if (job->tracker)
		tracker_requested(job->tracker);
}

static void asked(void *arg, const pid_t *pids, size_t count)
{
	struct job *job = arg;
	const char *how = job->ask.method == ASK_COMMAND ? "command" : "signal";
	char buffer[SIGNAL_NAME_SIZE];
	const char *name =
		job->ask.method == ASK_COMMAND ? NULL : signal_name_format(job->ask.signal, buffer);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(pids[i]));
	if (!name)
		log_note("asked for a checkpoint (%s)", job->ask.command);
	else if (count == 1)
		log_note("asked process %d for a checkpoint (%s)", (int)pids[0], name);
	else
		log_note("asked %zu processes for a checkpoint (%s)", count, name);
	events_add(&job->events, "asked", "{s:s, s:s?, s:O, s:s}", "how", how, "signal", name,
		"pids", list, "reason", job->request.reason);
	reply_all(job, json_pack("{s:s, s:o}", "event", "asked", "pids", list), false);
}

static void hindered(void *arg, const char *why)
{
	struct job *job = arg;
	const struct notice *stop = notices_stop(&job->notices);

	/* Nobody handles SIGTERM: then it goes where an init would send it. */
	if (job->options->ask == ASK_AUTO && stop && text_equal(stop->source, "sigterm")) {
		ask_stop(&job->ask);
		job_forward_sigterm(job);
		return;
	}
	log_warn("the job cannot be asked for a checkpoint: %s%s", why,
		job->ask.method == ASK_COMMAND ? "" : "; trying again");
	events_add(&job->events, "hindered", "{s:s}", "why", why);
	if (job->state == JOB_RUNNING) {
		reply_all(job, json_pack("{s:s, s:s}", "event", "failed", "error", why), true);
		job_end_request(job);
	}
}

static size_t writers(void *arg, pid_t *pids, size_t most)
{
	struct job *job = arg;

	return job->tracker ? tracker_writers(job->tracker, pids, most) : 0;
}

static void every(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, every_timer);

	if (job->state == JOB_RUNNING)
		job_request(job, "interval");
	loop_arm(&job->loop, timer, clock_monotonic_ms() + job->options->every_ms);
}

void job_prepare_asking(struct job *job)
{
	job->ask = (struct ask){
		.loop = &job->loop,
		.method = job->options->ask == ASK_COMMAND ? ASK_COMMAND : ASK_SIGNAL,
		.signal =
			job->options->ask == ASK_SIGNAL ? job->options->checkpoint_signal : SIGTERM,
		.command = job->options->checkpoint_command,
		.environment = (const char *const *)job->environment,
		.inherited = job->inherited,
		.callbacks = {.asking = asking,
			.asked = asked,
			.hindered = hindered,
			.writers = writers,
			.arg = job},
	};
	job->every_timer.fired = every;
	if (job->options->every_ms > 0)
		loop_arm(&job->loop, &job->every_timer,
			clock_monotonic_ms() + job->options->every_ms);
}

void job_request(struct job *job, const char *reason)
{
	bool notice = text_equal(reason, "notice");
	/* Without a profile the only common request is SIGTERM, and that may end the job: not for a mere advice. */
	bool may_ask = job->options->ask == ASK_SIGNAL || job->options->ask == ASK_COMMAND ||
		       (notice && job->options->ask == ASK_AUTO);

	if (!may_ask) {
		log_debug("no checkpoint is asked for (%s): no way to ask was given", reason);
		return;
	}
	if (job->request.active && job->request.sent_ms > 0) {
		/* One save at a time: the one under way will serve. */
		text_set(job->request.reason, sizeof(job->request.reason), reason);
		return;
	}
	job->request.active = true;
	job->request.sent_ms = 0;
	text_set(job->request.reason, sizeof(job->request.reason), reason);
	ask_start(&job->ask, job->child.pid);
}

void job_end_request(struct job *job)
{
	ask_stop(&job->ask);
	job->request.active = false;
}

/* --- what the tracker sees --- */

void job_checkpoint_saving(void *arg, const char *path)
{
	struct job *job = arg;

	job->facts.managed = true;
	if (job->request.active && job->request.sent_ms > 0)
		log_note("the job is saving %s", path);
	events_add(&job->events, "saving", "{s:s}", "path", path);
	reply_all(job, json_pack("{s:s, s:s}", "event", "saving", "path", path), false);
}

static void ship(struct job *job)
{
	if (job->superseded || !job->store)
		return;
	if (job->snapshots)
		snapshots_want(job->snapshots, &job->newest_sealed);
	else if (!job->resuming)
		job_claim_late(job);
}

void job_checkpoint_sealed(void *arg)
{
	struct job *job = arg;
	bool fresh = job->request.active && job->request.sent_ms > 0 &&
		     tracker_sealed_is_fresh(job->tracker);

	job->facts.managed = true;
	job->any_sealed = true;
	job->newest_sealed = (struct sealed){.generation = tracker_sealed_generation(job->tracker),
		.step = tracker_sealed_step(job->tracker),
		.sealed_ms = clock_monotonic_ms()};
	text_set(job->newest_sealed.reason, sizeof(job->newest_sealed.reason),
		fresh                         ? job->request.reason
		: job->state == JOB_UPLOADING ? "exit"
					      : "change");
	events_add(&job->events, "sealed", "{s:o}", "step",
		job->newest_sealed.step >= 0 ? json_integer(job->newest_sealed.step) : json_null());
	ship(job);
	if (!fresh)
		return;
	job->request.active = false;
	job->request.answered = true;
	log_note("the job has saved, %.1f s after it was asked",
		(double)(clock_monotonic_ms() - job->request.sent_ms) / 1000);
	reply_all(job, json_pack("{s:s}", "event", "saved"), false);
	job_feed(job, EV_SEALED);
}

/* --- snapshots --- */

static void retry(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, retry_timer);

	if (!snapshots_busy(job->snapshots) &&
		tracker_is_settled(job->tracker, &job->newest_sealed.generation))
		ship(job);
	else if (job->state == JOB_UPLOADING)
		job_flush(job);
}

static void became_durable(struct job *job, const struct snapshot_report *report)
{
	const struct notice *stop = notices_stop(&job->notices);
	int64_t now = clock_monotonic_ms();
	char id[SNAPSHOT_ID_TEXT], size[24], sent[24], time[32], spare[64] = "", step[40] = "";
	json_t *step_value =
		report->sealed.step >= 0 ? json_integer(report->sealed.step) : json_null();

	job->durable_generation = report->sealed.generation;
	job->durable_step = report->sealed.step;
	job->upload_ms = now - report->sealed.sealed_ms;
	job->flush_tries = 0;
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
	events_add(&job->events, "durable", "{s:s, s:O, s:i, s:I, s:I, s:f, s:s}", "id", id, "step",
		step_value, "files", (int)report->result.files, "bytes",
		(json_int_t)report->result.bytes, "bytes_sent",
		(json_int_t)report->result.bytes_sent, "seconds", (double)job->upload_ms / 1000,
		"reason", report->sealed.reason);
	if (text_equal(report->sealed.reason, "request"))
		reply_all(job,
			json_pack("{s:s, s:s, s:I, s:O, s:f}", "event", "durable", "id", id,
				"bytes", (json_int_t)report->result.bytes, "step", step_value,
				"seconds", (double)job->upload_ms / 1000),
			true);
	json_decref(step_value);
}

static void was_not_durable(struct job *job, const struct snapshot_report *report)
{
	const struct err *err = &report->err;
	int64_t again = job->state == JOB_UPLOADING ? FLUSH_AGAIN_MS : STORE_AGAIN_MS;

	if (err->kind == ERR_NOT_FOUND) /* no file is left there: nothing to make durable */
		job->durable_generation = report->sealed.generation;
	if (err->kind == ERR_NOT_FOUND || err->kind == ERR_CANCELLED)
		return;
	/* Written to again before it could be read: the next seal brings a newer one. Unless it was only a deletion. */
	if (err->kind == ERR_RETRY &&
		!tracker_still_complete(job->tracker, report->sealed.generation)) {
		if (tracker_is_settled(job->tracker, &job->newest_sealed.generation))
			ship(job);
		return;
	}
	events_add(&job->events, "snapshot_failed", "{s:s}", "why", err->text);
	if (text_equal(report->sealed.reason, "request"))
		reply_all(
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
	if (job->state != JOB_UPLOADING || ++job->flush_tries < FLUSH_TRIES)
		loop_arm(&job->loop, &job->retry_timer, clock_monotonic_ms() + again);
}

static void snapshot_finished(void *arg, const struct snapshot_report *report)
{
	struct job *job = arg;

	if (report->durable)
		became_durable(job, report);
	else
		was_not_durable(job, report);
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
		.still_complete = still_complete,
		.torn = torn,
		.finished = snapshot_finished,
		.arg = job,
	};

	job->retry_timer.fired = retry;
	return snapshots_new(&options, &job->snapshots, err);
}

bool job_is_durable(const struct job *job)
{
	bool asked_in_vain = job->facts.noticed && job->request.sent_ms > 0 &&
			     !job->request.answered &&
			     (job->options->ask == ASK_SIGNAL || job->options->ask == ASK_COMMAND);

	if (job->any_sealed && job->durable_generation != job->newest_sealed.generation)
		return false;
	if (asked_in_vain || !job->snapshots)
		return !job->facts.managed;
	return !snapshot_id_is_none(snapshots_newest(job->snapshots)) || !job->facts.noticed;
}

/* The job is gone. Ends the uploading state once nothing more can be done for what it left. */
void job_flush(struct job *job)
{
	bool missing = job->any_sealed && job->durable_generation != job->newest_sealed.generation;

	if (job->snapshots && snapshots_busy(job->snapshots))
		return;
	if (job->resuming || job->retry_timer.armed)
		return;
	if (missing && !job->superseded && job->store && !job->flushed) {
		job->flushed =
			true; /* once more for a store that failed before; then retries, counted */
		ship(job);
		if (job->resuming || (job->snapshots && snapshots_busy(job->snapshots)))
			return;
	}
	job_feed(job, EV_UPLOADED);
}
