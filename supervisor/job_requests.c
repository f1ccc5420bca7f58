/* Checkpoints on request, and who waits for them. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "signal_name.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* --- clients --- */

void job_tell_clients(struct job *job, json_t *reply, bool last)
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

static void client_asked(void *arg, struct control_request *request, json_t *message)
{
	struct job *job = arg;
	const char *what = json_string_value(json_object_get(message, "do"));

	if (text_equal(what, "status")) {
		control_reply(request, job_status(job));
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
	job_tell_clients(job, json_pack("{s:s, s:o}", "event", "asked", "pids", list), false);
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
		job_tell_clients(
			job, json_pack("{s:s, s:s}", "event", "failed", "error", why), true);
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
	job_tell_clients(job, json_pack("{s:s, s:s}", "event", "saving", "path", path), false);
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
	job_note_sealed(job);
	job_ship(job);
	if (!fresh)
		return;
	job->request.active = false;
	job->request.answered = true;
	log_note("the job has saved, %.1f s after it was asked",
		(double)(clock_monotonic_ms() - job->request.sent_ms) / 1000);
	job_tell_clients(job, json_pack("{s:s}", "event", "saved"), false);
	job_feed(job, EV_SEALED);
}
