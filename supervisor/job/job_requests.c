/* Checkpoint requests: clients that wait for one, how the job is asked, and the tracker's
 * callbacks. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"
#include "telemetry/telemetry.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The previous request was withdrawn, but its save goes on. Another signal now would interrupt the
 * job's handler and run it a second time. */
static bool is_still_saving(const struct job *job)
{
	return job->request.sent_ms > 0 && !job->request.answered && job->rank_progress.count > 0 &&
	       rank_progress_saving(&job->rank_progress) > 0 && job->tracker &&
	       tracker_is_saving(job->tracker);
}

/* A request makes this framework save and exit. Intervals, advice and clients must not use it. */
static bool ends_when_asked(const struct job *job)
{
	return job->options->ask_ends_job && !job_requests_by_flag(job);
}

/* --- clients --- */

void job_reply_to_clients(struct job *job, json_t *reply, bool last)
{
	for (size_t i = 0; i < job->waiting_count; i++) {
		control_request_reply(job->waiting[i].request, json_incref(reply));
		if (last)
			control_request_finish(job->waiting[i].request);
	}
	if (last)
		job->waiting_count = 0;
	json_decref(reply);
}

static void release_client(struct job *job, size_t index)
{
	struct control_request *request = job->waiting[index].request;

	job->waiting[index] = job->waiting[--job->waiting_count];
	control_request_finish(request);
}

/* The job has been asked: clients that wait only for that are done. */
static void release_clients_until_asked(struct job *job)
{
	for (size_t i = job->waiting_count; i > 0; i--)
		if (job->waiting[i - 1].until_asked)
			release_client(job, i - 1);
}

static void refuse_client(struct control_request *request, const char *why)
{
	control_request_reply(request, json_pack("{s:s, s:s}", "event", "failed", "error", why));
	control_request_finish(request);
}

static void add_client(struct job *job, struct control_request *request, bool wait)
{
	/* A request that is out serves this client too: the job is not asked again. */
	bool is_out = job->request.active && job->request.sent_ms > 0;

	job->waiting[job->waiting_count].request = request;
	job->waiting[job->waiting_count++].until_asked = !wait;
	job_request_checkpoint(job, "request");
	if (!wait && (is_out || is_still_saving(job))) {
		control_request_reply(request, json_pack("{s:s, s:[]}", "event", "asked", "pids"));
		release_client(job, job->waiting_count - 1);
	}
}

static void reply_with_checkpoints(struct job *job, struct control_request *request)
{
	json_t *reply = job_status_json(job);

	json_object_set_new(reply, "checkpoints",
			    job->tracker ? tracker_checkpoints_json(job->tracker) : json_array());
	control_request_reply(request, reply);
	control_request_finish(request);
}

static void handle_client_request(void *arg, struct control_request *request, json_t *message)
{
	struct job *job = arg;
	const char *what = json_string_value(json_object_get(message, "do"));

	if (text_equal(what, "status")) {
		control_request_reply(request, job_status_json(job));
		control_request_finish(request);
	} else if (text_equal(what, "checkpoints")) {
		reply_with_checkpoints(job, request);
	} else if (!text_equal(what, "checkpoint")) {
		refuse_client(request, "unknown request");
	} else if (job->superseded) {
		refuse_client(request, "superseded by a newer attempt: this one uploads no more "
				       "checkpoints");
	} else if (job->state != JOB_RUNNING) {
		refuse_client(request, "the job is not running");
	} else if (ends_when_asked(job)) {
		refuse_client(request, "this job saves and exits when it is asked, so it is asked "
				       "only at a stop notice");
	} else if (!job_can_request(job)) {
		refuse_client(request, "this job cannot be asked: start it with "
				       "--checkpoint-signal or --checkpoint-command");
	} else if (job->waiting_count == sizeof(job->waiting) / sizeof(job->waiting[0])) {
		refuse_client(request, "too many requests at once");
	} else {
		add_client(job, request, json_true_or(message, "wait", true));
	}
}

static void remove_client(void *arg, struct control_request *request)
{
	struct job *job = arg;

	for (size_t i = 0; i < job->waiting_count; i++) {
		if (job->waiting[i].request != request)
			continue;
		job->waiting[i] = job->waiting[--job->waiting_count];
		return;
	}
}

void job_open_control(struct job *job)
{
	struct control_handler handler = {
		.asked = handle_client_request,
		.gone = remove_client,
		.arg = job,
	};
	auto_free char *path = session_path(&job->session, SESSION_CONTROL);
	struct err err;

	if (path && control_socket_open(&job->loop, path, &handler, &job->control, &err) < 0)
		job_report_failure(job, "`reprieve checkpoint` cannot reach this job", &err);
}

/* --- asking --- */

static void on_request_sending(void *arg)
{
	struct job *job = arg;

	job->request.sent_ms = clock_monotonic_ms();
	if (job->tracker)
		tracker_requested(job->tracker);
	job_begin_rank_progress(job);
}

static void on_request_sent(void *arg, const struct rank *ranks, size_t count, size_t expected)
{
	struct job *job = arg;
	bool more = job->rank_progress.count > 0;
	const char *how = job->ask.by_flag                     ? "flag"
			  : job->ask.method == REQUEST_COMMAND ? "command"
							       : "signal";
	char buffer[SIGNAL_NAME_SIZE];
	const char *name =
		text_equal(how, "signal") ? signal_name_format(job->ask.signal, buffer) : NULL;
	auto_free char *command = job->ask.command ? redact_word("-c", job->ask.command) : NULL;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(ranks[i].pid));
	if (more)
		log_debug("asked %zu more", count);
	else if (job->ask.by_flag)
		log_note("asked for a checkpoint: raised the flag that %zu %s", expected,
			 expected == 1 ? "process polls" : "processes poll");
	else if (!name)
		log_note("asked for a checkpoint (%s)", command);
	else if (count == 1)
		log_note("asked process %d for a checkpoint (%s)", (int)ranks[0].pid, name);
	else
		log_note("asked %zu processes for a checkpoint (%s)", count, name);
	event_log_add(&job->events, "asked", "{s:s, s:s?, s:O, s:s, s:b}", "how", how, "signal",
		      name, "pids", list, "reason", job->request.reason, "again", more);
	job_reply_to_clients(job,
			     json_pack("{s:s, s:o, s:b}", "event", "asked", "pids", list, "again",
				       more),
			     false);
	job_add_rank_progress(job, ranks, count, expected);
	release_clients_until_asked(job);
}

static void on_request_failed(void *arg, const char *why)
{
	struct job *job = arg;
	const struct notice *stop = notices_stop(&job->notices);

	/* No process handles SIGTERM: forward it as an init would. */
	if (job->options->ask == REQUEST_AUTO && stop && text_equal(stop->source, "sigterm")) {
		checkpoint_request_stop(&job->ask);
		if (!job_defer_sigterm(job))
			job_forward_sigterm(job);
		return;
	}
	log_warn("cannot ask the job for a checkpoint: %s%s", why,
		 job->ask.method == REQUEST_COMMAND ? "" : "; retrying");
	event_log_add(&job->events, "request_failed", "{s:s}", "why", why);
	if (job->state == JOB_RUNNING) {
		job_reply_to_clients(job, json_pack("{s:s, s:s}", "event", "failed", "error", why),
				     true);
		job_end_request(job);
	}
}

static size_t list_recent_writers(void *arg, pid_t *pids, size_t most)
{
	struct job *job = arg;
	const struct recent_writers *known = job->tracker ? tracker_writers(job->tracker) : NULL;
	size_t count = known ? known->count : 0;

	if (count > most)
		count = most;
	for (size_t i = 0; i < count; i++)
		pids[i] = known->items[i].pid;
	return count;
}

static size_t count_polling_processes(void *arg)
{
	struct job *job = arg;
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;

	return page ? progress_page_count_polling(page) : 0;
}

static void raise_request_flag(void *arg)
{
	struct job *job = arg;
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;

	if (page)
		progress_page_request(page);
}

static void lower_request_flag(struct job *job, bool answered)
{
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;

	if (page)
		progress_page_end_request(page, answered, clock_monotonic_ms());
}

/* A job that polls reprieve_requested() expects the flag, unless the user has chosen another way.
 */
static bool may_use_flag(const struct job *job)
{
	return job->options->ask == REQUEST_AUTO || !job->options->ask_chosen;
}

bool job_requests_by_flag(const struct job *job)
{
	struct progress_page *page = job->tracker ? tracker_page(job->tracker) : NULL;

	return job->options->ask == REQUEST_FLAG ||
	       (may_use_flag(job) && page && progress_page_count_polling(page) > 0);
}

bool job_can_request(const struct job *job)
{
	return job->options->ask == REQUEST_SIGNAL || job->options->ask == REQUEST_COMMAND ||
	       job_requests_by_flag(job);
}

/* The profile knows which ranks handle its own signal. For a signal that the user has chosen, all
 * ranks are asked. */
static enum profile_target select_target(const struct job *job)
{
	const struct profile *profile = job->profile.profile;
	bool by_profile = profile && profile->ask == PROFILE_ASK_SIGNAL &&
			  (job->options->ask != REQUEST_SIGNAL ||
			   job->options->checkpoint_signal == profile->signal);

	return by_profile ? profile->whom : PROFILE_TARGET_ALL;
}

void job_prepare_requests(struct job *job)
{
	job->ask = (struct checkpoint_request){
		.loop = &job->loop,
		.method = job->options->ask == REQUEST_COMMAND || job->options->ask == REQUEST_FLAG
				  ? job->options->ask
				  : REQUEST_SIGNAL,
		.signal = job->options->ask == REQUEST_SIGNAL ? job->options->checkpoint_signal
							      : SIGTERM,
		.may_flag = may_use_flag(job),
		.whom = select_target(job),
		.command = job->options->checkpoint_command,
		.environment = (const char *const *)job->environment,
		.inherited = job->inherited,
		.callbacks =
			{
				.on_request_sending = on_request_sending,
				.asked = on_request_sent,
				.on_request_failed = on_request_failed,
				.writers = list_recent_writers,
				.count_polling_processes = count_polling_processes,
				.raise = raise_request_flag,
				.arg = job,
			},
	};
	job_begin_interval(job);
}

void job_request_checkpoint(struct job *job, const char *reason)
{
	bool notice = text_equal(reason, "notice");
	/* Without a profile, SIGTERM is the only request, and it may end the job: not for advice.
	 */
	bool may_ask = job_can_request(job) || (notice && job->options->ask == REQUEST_AUTO);

	if (!may_ask || (!notice && ends_when_asked(job))) {
		log_debug("no checkpoint request (%s): no way to ask this job is known", reason);
		return;
	}
	if (job->request.active && job->request.sent_ms > 0) {
		/* One save at a time: the one under way serves this request too. */
		text_set(job->request.reason, sizeof(job->request.reason), reason);
		return;
	}
	job->request.active = true;
	text_set(job->request.reason, sizeof(job->request.reason), reason);
	if (is_still_saving(job)) {
		log_note("the job is still saving for the previous request: that save is used");
		return;
	}
	job->request.sent_ms = 0;
	job->request.answered = job->request.forwarded = false;
	checkpoint_request_start(&job->ask, job->child.pid);
}

void job_end_request(struct job *job)
{
	checkpoint_request_stop(&job->ask);
	job_cancel_sigterm_deferral(job);
	job_end_rank_progress(job);
	lower_request_flag(job, false);
	job->request.active = false;
}

/* --- the tracker's callbacks --- */

void job_on_save_started(void *arg, const char *path)
{
	struct job *job = arg;

	job->facts.managed = true;
	job_note_write(job, path);
	if (job->request.active && job->request.sent_ms > 0)
		log_note("the job is saving %s", path);
	job_note_save_started(job);
	event_log_add(&job->events, "saving", "{s:s}", "path", path);
	job_reply_to_clients(job, json_pack("{s:s, s:s}", "event", "saving", "path", path), false);
}

void job_on_checkpoint_complete(void *arg)
{
	struct job *job = arg;
	const struct latest_checkpoint *latest = tracker_latest_checkpoint(job->tracker);
	bool fresh = job->request.active && job->request.sent_ms > 0 && latest->fresh;
	/* One that was asked for is still to be saved: the next snapshot holds both. */
	bool carries = !fresh && job_has_pending(job);
	char reason[sizeof(job->newest_complete.reason)];

	job->facts.managed = true;
	text_set(reason, sizeof(reason), job->newest_complete.reason);
	job->any_complete = true;
	job->newest_complete = (struct checkpoint){
		.generation = latest->generation,
		.step = latest->step,
		.completed_ms = clock_monotonic_ms(),
		.written_ms = latest->written_ms,
		.reported_step = job_reported_step(job),
	};
	text_set(job->newest_complete.reason, sizeof(job->newest_complete.reason),
		 fresh                         ? job->request.reason
		 : carries                     ? reason
		 : job->state == JOB_UPLOADING ? "exit"
					       : "change");
	event_log_add(&job->events, "checkpoint_complete", "{s:o}", "step",
		      job->newest_complete.step >= 0 ? json_integer(job->newest_complete.step)
						     : json_null());
	job_note_save_ended(job);
	job_note_complete(job);
	job_queue_snapshot(job);
	job_note_awaited_save(job);
	if (latest->fresh && job->request.sent_ms > 0 && job->request.first_answer_ms == 0)
		job->request.first_answer_ms = job->newest_complete.completed_ms;
	if (!fresh)
		return;
	job->request.answer_generation = latest->generation;
	lower_request_flag(job, true);
	job_end_request(job);
	job->request.answered = true;
	log_note("the job has saved, %.1f s after it was asked",
		 (double)(clock_monotonic_ms() - job->request.sent_ms) / 1000);
	job_reply_to_clients(job, json_pack("{s:s}", "event", "saved"), false);
	job_settle(job);
}
