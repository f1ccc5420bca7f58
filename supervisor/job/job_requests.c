/* Checkpoint requests: how the job is asked, the effects of the table of requests, and the
 * tracker's callbacks. */
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

#define SAVE_OVER_CHECK_MS 20

/* The previous request was withdrawn, but its save goes on. Another signal now would interrupt the
 * job's handler and run it a second time. */
static bool is_still_saving(const struct job *job)
{
	return job->request.sent_ms > 0 && !job->request.answered && job->rank_progress.count > 0 &&
	       rank_progress_saving(&job->rank_progress) > 0 && job->tracker &&
	       tracker_is_saving(job->tracker);
}

/* A request makes this framework save and exit. Intervals, advice and clients must not use it. */
bool job_ends_when_asked(const struct job *job)
{
	return job->options->ask_ends_job && !job_requests_by_flag(job);
}

/* --- asking --- */

static void on_request_sending(void *arg)
{
	struct job *job = arg;

	job->request.sent_ms = clock_monotonic_ms();
	job->facts.told_to_end |= job->state == JOB_CHECKPOINTING;
	job_step_requests(job, (struct request_event){.kind = REQUEST_EV_SENDING}, NULL);
	if (job->tracker)
		tracker_requested(job->tracker);
	job_begin_rank_progress(job);
}

static void on_request_sent(void *arg, const struct rank *ranks, size_t count, size_t expected)
{
	struct job *job = arg;
	bool more = job->rank_progress.count > 0;
	bool by_signal = !job->ask.by_flag && job->ask.method != REQUEST_COMMAND;
	const char *how = job->ask.by_flag ? "flag" : by_signal ? "signal" : "command";
	char buffer[SIGNAL_NAME_SIZE];
	const char *name = by_signal ? signal_name_format(job->ask.signal, buffer) : NULL;
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
		      name, "pids", list, "reason",
		      save_reason_name(request_table_cause(&job->requests)), "again", more);
	job_step_requests(job, (struct request_event){.kind = REQUEST_EV_SENT},
			  json_pack("{s:s, s:o, s:b}", "event", "asked", "pids", list, "again",
				    more));
	job_add_rank_progress(job, ranks, count, expected);
}

static void on_request_failed(void *arg, const char *why)
{
	struct job *job = arg;
	const struct notice *stop = notices_stop(&job->notices);

	/* No process handles SIGTERM: forward it as an init would. */
	if (job->options->ask == REQUEST_AUTO && stop && notice_origin(stop) == NOTICE_BY_SIGTERM) {
		checkpoint_request_stop(&job->ask);
		if (!job_defer_sigterm(job))
			job_forward_sigterm(job);
		return;
	}
	log_warn("cannot ask the job for a checkpoint: %s%s", why,
		 job->ask.method == REQUEST_COMMAND ? "" : "; retrying");
	event_log_add(&job->events, "request_failed", "{s:s}", "why", why);
	if (job->state == JOB_RUNNING)
		job_step_requests(job, (struct request_event){.kind = REQUEST_EV_NOT_ASKED},
				  job_failure_reply(why));
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

/* --- the table of requests --- */

/* The job is asked anew, after what was asked before. */
static void ask(struct job *job)
{
	checkpoint_request_stop(&job->ask);
	job->request.sent_ms = 0;
	job->request.answered = job->request.forwarded = false;
	checkpoint_request_start(&job->ask, job->child.pid);
}

static void stop_asking(struct job *job)
{
	checkpoint_request_stop(&job->ask);
	job_cancel_sigterm_deferral(job);
	job_end_rank_progress(job);
	lower_request_flag(job, false);
}

static void on_save_over_check(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, request_timer);
	struct request_event event = {.kind = REQUEST_EV_SAVE_OVER, .saving = job_is_saving(job)};

	if (job->state == JOB_RUNNING)
		job_step_requests(job, event, NULL);
}

static void perform_effect(struct job *job, const struct request_effect *effect, json_t *reply)
{
	switch (effect->kind) {
	case REQUEST_DO_ASK:
		ask(job);
		break;
	case REQUEST_DO_STOP_ASKING:
		stop_asking(job);
		break;
	case REQUEST_DO_USE_SAVE:
		log_note("the job is still saving for the previous request: that save is used");
		break;
	case REQUEST_DO_BEGIN_LATER:
		job->request_timer.fired = on_save_over_check;
		loop_arm(&job->loop, &job->request_timer,
			 clock_monotonic_ms() + SAVE_OVER_CHECK_MS);
		break;
	case REQUEST_DO_REPLY_ASKED:
	case REQUEST_DO_REPLY_SAVED:
	case REQUEST_DO_REPLY_DURABLE:
	case REQUEST_DO_REPLY_FAILED:
		job_reply_to_client(effect, reply);
		break;
	case REQUEST_EFFECTS:
		break;
	}
}

void job_step_requests(struct job *job, struct request_event event, json_t *reply)
{
	auto_(request_effects_release) struct request_effects effects = {0};

	request_table_step(&job->requests, &event, &effects);
	for (size_t i = 0; i < effects.count; i++)
		perform_effect(job, &effects.items[i], reply);
	json_decref(reply);
}

bool job_is_asking(const struct job *job)
{
	return job->requests.asking != ASKING_NONE &&
	       (job->state == JOB_RUNNING || job->state == JOB_CHECKPOINTING);
}

void job_make_request(struct job *job, enum save_reason cause, void *client, bool until_asked)
{
	bool asked = job->requests.asking == ASKING_SENT;
	struct request_event event = {
		.kind = REQUEST_EV_MADE,
		.cause = cause,
		.client = client,
		.until_asked = until_asked,
		.saving = asked ? job_is_saving(job) : is_still_saving(job),
	};

	job_step_requests(job, event, json_pack("{s:s, s:[]}", "event", "asked", "pids"));
}

void job_request_checkpoint(struct job *job, enum save_reason cause)
{
	bool notice = cause == SAVED_AT_NOTICE;
	/* Without a profile, SIGTERM is the only request, and it may end the job: not for advice.
	 */
	bool may_ask = job_can_request(job) || (notice && job->options->ask == REQUEST_AUTO);

	if (!may_ask || (!notice && job_ends_when_asked(job)))
		log_debug("no checkpoint request (%s): no way to ask this job is known",
			  save_reason_name(cause));
	else
		job_make_request(job, cause, NULL, false);
}

/* --- the tracker's callbacks --- */

void job_on_save_started(void *arg, const char *path)
{
	struct job *job = arg;

	job->facts.managed = true;
	job_note_write(job, path);
	if (job->requests.asking == ASKING_SENT)
		log_note("the job is saving %s", path);
	job_note_save_started(job);
	event_log_add(&job->events, "saving", "{s:s}", "path", path);
	job_tell_clients(job, json_pack("{s:s, s:s}", "event", "saving", "path", path));
}

void job_on_checkpoint_complete(void *arg)
{
	struct job *job = arg;
	const struct latest_checkpoint *latest = tracker_latest_checkpoint(job->tracker);
	bool fresh = job->requests.asking == ASKING_SENT && latest->fresh;
	/* One that was asked for is still to be saved: the next snapshot holds both. */
	bool carries = !fresh && job_has_pending(job);
	enum save_reason reason = job->newest_complete.reason;

	job->facts.managed = true;
	job->any_complete = true;
	job->newest_complete = (struct checkpoint){
		.generation = latest->generation,
		.step = latest->step,
		.completed_ms = clock_monotonic_ms(),
		.written_ms = latest->written_ms,
		.reported_step = job_reported_step(job),
	};
	job->newest_complete.reason =
		fresh                         ? request_table_cause(&job->requests)
		: carries                     ? reason
		: job->state == JOB_UPLOADING ? SAVED_AT_EXIT
					      : SAVED_BY_ITSELF;
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
	lower_request_flag(job, true);
	job->request.answered = true;
	job->request.answers++;
	job_step_requests(job,
			  (struct request_event){.kind = REQUEST_EV_COMPLETE,
						 .generation = latest->generation},
			  json_pack("{s:s}", "event", "saved"));
	log_note("the job has saved, %.1f s after it was asked",
		 (double)(clock_monotonic_ms() - job->request.sent_ms) / 1000);
	job_settle(job);
}
