/* Turns signals and what the notice sources report into notices; and the SIGCHLD of the child into
 * its exit. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"
#include "telemetry/telemetry.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- a notice arrives --- */

/* The file exists while a stop notice stands, and not for advice: a job that exits when it sees the
 * file must not exit for advice. */
static void write_notice_file(struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);
	auto_free char *path = session_path(&job->session, SESSION_NOTICE);
	auto_json json_t *about = NULL;
	auto_free char *text = NULL;

	if (!path)
		return;
	if (!stop) {
		unlink(path);
		return;
	}
	about = notice_format_json(stop);
	json_object_del(about, "seconds_left");
	text = json_dumps(about, JSON_COMPACT);
	if (text)
		file_replace(path, text, strlen(text), NULL);
}

static void announce_notice(struct job *job, const struct notice *notice)
{
	auto_json json_t *about = notice_format_json(notice);
	char text[320];

	log_note("%s%s", notice_format(notice, text, sizeof(text)),
		 notice->kind == NOTICE_ADVICE && !notices_stop(&job->notices)
			 ? "; an early checkpoint is taken, the job continues"
			 : "");
	event_log_add(&job->events, "notice", "o", json_incref(about));
	write_notice_file(job);
}

void job_add_notice(struct job *job, const struct notice *notice)
{
	switch (notices_add(&job->notices, notice)) {
	case NOTICE_NOTHING_NEW:
		return;
	case NOTICE_NEW_ADVICE:
		announce_notice(job, notice);
		if (job->state == JOB_RUNNING)
			job_request_checkpoint(job, SAVED_ON_ADVICE);
		return;
	case NOTICE_FIRST_STOP:
	case NOTICE_EARLIER_DEADLINE:
		announce_notice(job, notice);
		job->facts.by_signal_only =
			notice_origin(notices_stop(&job->notices)) == NOTICE_BY_SIGTERM &&
			job->notices.count == 1;
		job_write_notice_message(job);
		job_post_event(job, EV_NOTICE);
		job_notify_next_attempt(job);
		return;
	case NOTICE_LATER_DEADLINE:
		announce_notice(job, notice);
		job_write_notice_message(job);
		job_post_event(job, EV_NOTICE);
		job_notify_next_attempt(job);
		return;
	case NOTICE_ALL_CANCELLED:
		announce_notice(job, notice);
		job_withdraw_notice_message(job);
		job_post_event(job, EV_CANCELLED);
		job_notify_next_attempt(job);
		return;
	case NOTICE_WITHDRAWN:
		announce_notice(job, notice);
		return;
	}
}

/* --- notice sources: they call on their own threads, which post to the loop --- */

struct posted_notice {
	struct job *job;
	struct notice notice;
	struct source_state state;
};

static void deliver_notice(void *arg)
{
	struct posted_notice *posted = arg;

	job_add_notice(posted->job, &posted->notice);
}

static void post_notice(void *arg, const struct notice *notice)
{
	struct job *job = arg;
	struct posted_notice *posted = memory_new(sizeof(*posted));

	posted->job = job;
	posted->notice = *notice;
	workers_post_owned(job->workers, deliver_notice, posted);
}

static void deliver_health(void *arg)
{
	struct posted_notice *posted = arg;
	const struct source_state *state = &posted->state;
	char text[480];

	event_log_add(&posted->job->events, "source", "{s:s, s:s, s:s}", "name", state->name,
		      "health", source_health_name(state->health), "why", state->why);
	if (state->health == SOURCE_ARMED && preemption_forecast_window_of(state->name) > 0)
		text_set(posted->job->pace.cloud, sizeof(posted->job->pace.cloud), state->name);
	notice_format_source(state, text, sizeof(text));
	/* An armed source may lack something, which `why` says. */
	if (state->health == SOURCE_UNKNOWN || (state->health == SOURCE_ARMED && state->why[0]))
		log_warn("%s", text);
	else if (state->health != SOURCE_STARTING)
		log_note("%s", text);
}

static void post_health(void *arg, const struct source_state *state)
{
	struct job *job = arg;
	struct posted_notice *posted = memory_new(sizeof(*posted));

	posted->job = job;
	posted->state = *state;
	workers_post_owned(job->workers, deliver_health, posted);
}

int job_start_notice_watch(struct job *job, struct err *err)
{
	auto_free char *shared = session_shared_directory();
	struct cloud_options options = {
		.sources = job->options->notice,
		.deadline = job->options->deadline,
		.deadline_notice_ms = job->options->deadline_notice_ms,
		.shared_directory = shared,
		.notice = post_notice,
		.health = post_health,
		.arg = job,
	};
	struct err why;

	if (cloud_watch_start(&options, &job->watch, &why) == 0)
		return 0;
	if (why.kind == ERR_INVALID)
		return err_set(err, why.kind, "--notice or --deadline: %s", why.text);
	job_report_failure(job, "no preemption notice except SIGTERM will be seen", &why);
	return 0;
}

json_t *job_sources_json(const struct job *job)
{
	struct source_state states[CLOUD_SOURCES_MOST];
	json_t *sources = json_array();
	size_t count = job->watch ? cloud_watch_states(job->watch, states, CLOUD_SOURCES_MOST) : 0;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(sources, notice_format_source_json(&states[i]));
	return sources;
}

json_t *job_notice_json(const struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);

	return stop ? notice_format_json(stop) : NULL;
}

#define ACKNOWLEDGE_MS 2000

void job_acknowledge_notice(struct job *job, const struct outcome *outcome)
{
	const struct notice *stop = notices_stop(&job->notices);
	struct err err;

	/* An approved event starts at once, so it is approved only after the last commit. */
	if (!job->options->acknowledge || !stop || !job->watch ||
	    outcome->kind != OUTCOME_PREEMPTED || !job_is_durable(job))
		return;
	if (!stop->approvable)
		log_note("the notice of %s is not acknowledged: it affects other machines too, has "
			 "already started, or cannot be acknowledged",
			 stop->source);
	else if (cloud_watch_approve(job->watch, stop, clock_monotonic_ms() + ACKNOWLEDGE_MS,
				     &err) < 0)
		log_warn("cannot acknowledge the notice of %s: %s", stop->source, err.text);
	else
		log_note("acknowledged: %s may take this machine now", stop->source);
	event_log_add(&job->events, "acknowledged", "{s:s, s:b}", "source", stop->source,
		      "approvable", stop->approvable);
}

/* --- signals --- */

static bool manages_checkpoints(const struct job *job)
{
	return job->facts.managed || job_requests_by_flag(job);
}

static void on_process_reaped(void *arg, pid_t pid, int status)
{
	struct job *job = arg;

	if (checkpoint_request_reaped(&job->ask, pid, status))
		return;
	if (job->tracker && pid != job->child.pid)
		tracker_process_ended(job->tracker, pid, status);
}

/* Is what the job wrote last complete? It is if the job saved and exited because it was asked to;
 * it is not if it crashed between two files. */
static enum tracker_end classify_child_exit(const struct job *job)
{
	bool was_asked = job->facts.told_to_end || job->request.sent_ms > 0;
	int code;

	if (WIFSIGNALED(job->child.status))
		return TRACKER_ENDED_CRASHED;
	code = WEXITSTATUS(job->facts.wait_status);
	/* 75 is EX_TEMPFAIL of sysexits(3): nobody crashes with it. */
	if (code == 0 || code == EXIT_PREEMPTED)
		return TRACKER_ENDED_CLEAN;
	if (!was_asked)
		return TRACKER_ENDED_CRASHED;
	/* After a save, TensorFlow exits with 42, and submitit with sys.exit(-1), which is 255. */
	if (code == 128 + SIGTERM || code == 128 + job->ask.signal || code == 42 || code == 255 ||
	    profile_is_resume_code(job->profile.profile, code))
		return TRACKER_ENDED_CLEAN;
	/* 1 is ambiguous: launchers and sys.exit(1) give it after a save, and an exception in the
	 * middle of a save gives it too. */
	return outcome_is_crash(job->child.status) && code > 128
		       ? TRACKER_ENDED_CRASHED
		       : TRACKER_ENDED_AMBIGUOUS;
}

static void on_child_exited(struct job *job)
{
	int status;
	bool killed;
	char name[SIGNAL_NAME_SIZE];

	if (job_adopt_detached(job))
		return;
	if (job->detached.status != 0)
		job->child.status = job->detached.status;
	status = job->child.status;
	killed = WIFSIGNALED(status);

	event_log_add(&job->events, "child_exited", "{s:o, s:o}", "code",
		      killed ? json_null() : json_integer(WEXITSTATUS(status)), "signal",
		      killed ? json_string(signal_name_format(WTERMSIG(status), name))
			     : json_null());
	job->facts.wait_status = signal_rules_map_wait_status(&job->options->signal_rules, status);
	if (job->tracker)
		tracker_job_ended(job->tracker, classify_child_exit(job));
	if (job->tracker)
		job->snapshots_due.ended_running = tracker_running_generation(job->tracker);
	job_post_event(job, EV_CHILD_EXITED);
}

/* SIGTERM, or under Slurm SIGUSR1, which `sbatch --signal=B:USR1@SECONDS` sends before the time
 * limit. */
static void handle_stop_signal(struct job *job, const struct signalfd_siginfo *info)
{
	bool by_term = info->ssi_signo == SIGTERM;
	bool repeated = by_term && !stop_wish_begins(&job->stop_wish, clock_monotonic_ms());
	struct notice notice = {.kind = NOTICE_STOP, .seen_ms = clock_monotonic_ms()};

	text_set(notice.source, sizeof(notice.source), by_term ? "sigterm" : "slurm");
	text_set(notice.identity, sizeof(notice.identity), by_term ? "sigterm" : "sigusr1");
	text_set(notice.reason, sizeof(notice.reason), by_term ? "SIGTERM" : "SIGUSR1 (--signal)");
	/* There is nothing to save: only forward each signal, as an init does. */
	if (job->state != JOB_RESTORING && !manages_checkpoints(job)) {
		job->facts.noticed = job->facts.by_signal_only = true;
		sigterm_hold_end(&job->sigterm_hold);
		child_forward(&job->child, info);
		return;
	}
	if (repeated)
		return;
	/* A later SIGTERM ends the wait for the save under way. */
	if (by_term && job_end_sigterm_deferral(job))
		return;
	notice.deadline_ms = notice.seen_ms + job->options->grace_ms;
	job_add_notice(job, &notice);
	job_query_slurm_deadline(job, &notice);
}

/* No job is running yet: Ctrl-C and the like end the supervisor itself, except for signals that
 * nohup ignores. All others are kept for the job. */
static void signal_while_restoring(struct job *job, int signal)
{
	if (sigismember(&job->inherited->ignored, signal) == 1)
		return;
	if (signal == SIGINT || signal == SIGQUIT || signal == SIGHUP) {
		job->refusal = 128 + signal;
		cancel_raise(&job->cancel);
		job_post_event(job, EV_RESTORE_FAILED);
	} else {
		sigaddset(&job->early_signals, signal);
	}
}

static void handle_signal(struct job *job, const struct signalfd_siginfo *info)
{
	int signal = signal_rules_map(&job->options->signal_rules, (int)info->ssi_signo);
	struct signalfd_siginfo as;

	if (signal != (int)info->ssi_signo) {
		as = *info;
		as.ssi_signo = (uint32_t)signal;
		info = &as;
	}
	if (signal == 0)
		return;
	if (signal == SIGCHLD) {
		if (child_reap(&job->child, on_process_reaped, job) && job->state != JOB_OVER)
			on_child_exited(job);
		return;
	}
	if (signal == SIGTERM && sigismember(&job->inherited->ignored, SIGTERM) != 1) {
		handle_stop_signal(job, info);
		return;
	}
	if (signal == SIGUSR1 && job_is_requeued_by_us(job) && manages_checkpoints(job)) {
		handle_stop_signal(job, info);
		return;
	}
	if (signal == SIGUSR1 && job_can_request(job)) {
		if (job->state == JOB_RUNNING)
			job_request_checkpoint(job, SAVED_ON_REQUEST);
		return;
	}
	if (job->state == JOB_RESTORING)
		signal_while_restoring(job, signal);
	else
		child_forward(&job->child, info);
}

void job_on_signal(void *arg, const struct signalfd_siginfo *info)
{
	struct job *job = arg;

	handle_signal(job, info);
	if (info->ssi_signo != SIGCHLD)
		child_resume(&job->child);
}
