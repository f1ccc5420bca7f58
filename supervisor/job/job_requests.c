/* Asking the job: how it is done, and what its callbacks post. */
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

/* --- asking --- */

/* The tracker learns it before the job does, so that what is written from now on may answer. */
static void on_request_sending(void *arg)
{
	struct job *job = arg;
	const struct profile *profile = job->profile.profile;

	job_post(job, (struct job_event){.kind = JOB_EV_SENDING, .by_flag = job->ask.by_flag});
	if (job->tracker)
		tracker_requested(job->tracker);
	rank_progress_begin(&job->ranks,
			    RANK_PROGRESS_PATIENCE_MS + (profile ? profile->patience_ms : 0),
			    clock_monotonic_ms());
}

static void on_request_sent(void *arg, const struct rank *ranks, size_t count, size_t expected)
{
	struct job *job = arg;
	bool more = job->ranks.count > 0;
	bool by_signal = !job->ask.by_flag && job->ask.method != REQUEST_COMMAND;
	const char *how = job->ask.by_flag ? "flag" : by_signal ? "signal" : "command";
	char buffer[SIGNAL_NAME_SIZE];
	const char *name = by_signal ? signal_name_format(job->ask.signal, buffer) : NULL;
	auto_free char *command = job->ask.command ? redact_script(job->ask.command) : NULL;
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
		      save_reason_name(request_table_cause(&job->model.requests)), "again", more);
	job_post_with(job, (struct job_event){.kind = JOB_EV_ASKED}, NULL,
		      json_pack("{s:s, s:o, s:b}", "event", "asked", "pids", list, "again", more));
	rank_progress_follow(&job->ranks, ranks, count, expected);
}

json_t *job_rank_progress_json(const struct job *job)
{
	bool asking = job_is_asking(&job->model);

	return rank_progress_json(&job->ranks, asking, !asking && job->model.asking.answered,
				  clock_monotonic_ms());
}

static void on_rank_news(void *arg, const char *line)
{
	struct job *job = arg;
	const struct rank_progress *ranks = &job->ranks;
	json_t *reply = job_rank_progress_json(job);

	event_log_add(&job->events, "rank_progress", "{s:s, s:I, s:I, s:I}", "text", line, "asked",
		      (json_int_t)ranks->count, "expected", (json_int_t)ranks->expected, "saving",
		      (json_int_t)rank_progress_saving(ranks));
	json_object_set_new(reply, "event", json_string("rank_progress"));
	job_tell_clients(job, reply);
}

static void on_request_failed(void *arg, const char *why)
{
	job_post_with(arg, (struct job_event){.kind = JOB_EV_CANNOT_ASK}, text_copy(why),
		      control_failure(why));
}

/* Has it written to a save that is complete? Before there is any, nobody has. */
static bool has_saved(const struct job *job, const struct recent_writer *writer)
{
	return !job->model.any_complete || writer->first_ms <= job->model.newest.completed_ms;
}

size_t job_list_writers(void *arg, pid_t *pids, size_t most, size_t *savers)
{
	struct job *job = arg;
	const struct recent_writers *known = job->tracker ? tracker_writers(job->tracker) : NULL;
	size_t count = 0;

	*savers = 0;
	for (int newcomers = 0; newcomers <= 1; newcomers++)
		for (size_t i = 0; known && i < known->count && count < most; i++)
			if (has_saved(job, &known->items[i]) != newcomers) {
				pids[count++] = known->items[i].pid;
				*savers += !newcomers;
			}
	return count;
}

void job_end_flag(struct job *job, bool answered)
{
	if (job->ask.page)
		progress_page_end_request(job->ask.page, answered, clock_monotonic_ms());
}

bool job_has_sent_sigterm(const struct job *job, pid_t pid, int64_t since_ms)
{
	if (!job_asked_by_sigterm(&job->model, &job->rules))
		return false;
	/* The core learns a moment after a request that it was sent: its time is too late here. It
	 * decides itself when to forward, so that is no later than the signal. */
	return job->model.asking.forwarded
		       ? job->model.asking.sent_ms > since_ms && child_forwards_to(&job->child, pid)
		       : checkpoint_request_has_signalled(&job->ask, pid, since_ms);
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
	job->ranks = (struct rank_progress){
		.loop = &job->loop,
		.tracker = job->tracker,
		.signal = job->rules.request_signal,
		.news = on_rank_news,
		.arg = job,
	};
	job->ask = (struct checkpoint_request){
		.loop = &job->loop,
		.method = job->options->ask == REQUEST_COMMAND || job->options->ask == REQUEST_FLAG
				  ? job->options->ask
				  : REQUEST_SIGNAL,
		.signal = job->rules.request_signal,
		.may_flag = job->rules.may_flag,
		.whom = select_target(job),
		.command = job->options->checkpoint_command,
		.environment = (const char *const *)job->environment.pairs,
		.page = job->tracker ? tracker_page(job->tracker) : NULL,
		.sending = on_request_sending,
		.sent = on_request_sent,
		.failed = on_request_failed,
		.writers = job_list_writers,
		.arg = job,
	};
}
