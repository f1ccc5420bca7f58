/* Signals and watchers -> notices. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "signal_name.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- telling --- */

static void write_notice_file(struct job *job, const struct notice *notice, const char *deadline)
{
	auto_free char *path = session_path(&job->session, SESSION_NOTICE);
	auto_free char *text = NULL;
	json_t *about;

	if (!path)
		return;
	if (notice->kind == NOTICE_CANCELLED) {
		unlink(path);
		return;
	}
	about = json_pack("{s:s, s:s, s:s, s:s?}", "kind",
		notice->kind == NOTICE_STOP ? "stop" : "advice", "source", notice->source, "reason",
		notice->reason, "deadline", deadline);
	text = json_dumps(about, JSON_COMPACT);
	json_decref(about);
	if (text)
		file_write(path, text, strlen(text), NULL);
}

static void tell(struct job *job, const struct notice *notice)
{
	static const char *const kinds[] = {[NOTICE_NONE] = "none",
		[NOTICE_ADVICE] = "advice",
		[NOTICE_STOP] = "stop",
		[NOTICE_CANCELLED] = "cancelled"};
	char deadline[32], left_text[32];
	bool timed = notice->deadline_ms != CLOCK_NEVER && notice->kind != NOTICE_CANCELLED;
	int64_t left = timed ? clock_left_ms(notice->deadline_ms) : 0;

	clock_format(clock_wall_ms() + left, deadline, sizeof(deadline));
	text_duration(left, left_text, sizeof(left_text));
	if (notice->kind == NOTICE_STOP)
		log_note("preemption notice from %s (%s): %s left", notice->source, notice->reason,
			left_text);
	else if (notice->kind == NOTICE_ADVICE)
		log_note("advice from %s: %s; an early checkpoint is taken, the job goes on",
			notice->source, notice->reason);
	else
		log_note("%s withdraws its notice (%s)", notice->source, notice->reason);
	events_add(&job->events, "notice", "{s:s, s:s, s:s, s:s?, s:o}", "kind",
		kinds[notice->kind], "source", notice->source, "reason", notice->reason, "deadline",
		timed ? deadline : NULL, "seconds_left",
		timed ? json_real((double)left / 1000) : json_null());
	write_notice_file(job, notice, timed ? deadline : NULL);
}

void job_take_notice(struct job *job, const struct notice *notice)
{
	switch (notices_add(&job->notices, notice)) {
	case NOTICE_NOTHING_NEW:
		return;
	case NOTICE_NEW_ADVICE:
		tell(job, notice);
		if (job->state == JOB_RUNNING)
			job_request(job, "advice");
		return;
	case NOTICE_FIRST_STOP:
	case NOTICE_EARLIER_DEADLINE:
		tell(job, notice);
		job->facts.by_signal_only =
			text_equal(notices_stop(&job->notices)->source, "sigterm") &&
			job->notices.count == 1;
		job_write_notice_message(job);
		job_feed(job, EV_NOTICE);
		return;
	case NOTICE_ALL_CANCELLED:
		tell(job, notice);
		job_withdraw_notice_message(job);
		job_feed(job, EV_CANCELLED);
		return;
	}
}

/* --- watchers: on their threads, brought over to the loop --- */

struct parcel {
	struct job *job;
	struct notice notice;
	struct source_state state;
};

static void deliver_notice(void *arg)
{
	struct parcel *parcel = arg;

	job_take_notice(parcel->job, &parcel->notice);
}

static void notice_seen(void *arg, const struct notice *notice)
{
	struct job *job = arg;
	struct parcel *parcel = memory_new(sizeof(*parcel));

	parcel->job = job;
	parcel->notice = *notice;
	workers_post_owned(job->workers, deliver_notice, parcel);
}

static void deliver_health(void *arg)
{
	struct parcel *parcel = arg;
	const struct source_state *state = &parcel->state;

	events_add(&parcel->job->events, "source", "{s:s, s:s, s:s}", "name", state->name, "health",
		source_health_name(state->health), "why", state->why);
	if (state->health == SOURCE_ARMED && forecast_window_of(state->name) > 0)
		text_set(parcel->job->pace.cloud, sizeof(parcel->job->pace.cloud), state->name);
	if (state->health == SOURCE_ARMED)
		log_note("notices from %s: armed (%s)", state->name, state->endpoint);
	else if (state->health == SOURCE_UNKNOWN)
		log_warn("notices from %s: unknown: %s", state->name, state->why);
	else if (state->health == SOURCE_UNAVAILABLE)
		log_note("notices from %s: unavailable: %s", state->name, state->why);
}

static void health_changed(void *arg, const struct source_state *state)
{
	struct job *job = arg;
	struct parcel *parcel = memory_new(sizeof(*parcel));

	parcel->job = job;
	parcel->state = *state;
	workers_post_owned(job->workers, deliver_health, parcel);
}

int job_start_watching(struct job *job, struct err *err)
{
	struct cloud_options options = {.sources = job->options->notice,
		.notice = notice_seen,
		.health = health_changed,
		.arg = job};
	struct err why;

	if (cloud_watch_start(&options, &job->watch, &why) == 0)
		return 0;
	if (why.kind == ERR_INVALID)
		return err_set(err, why.kind, "--notice: %s", why.text);
	job_failed(job, "no preemption notice but SIGTERM will be seen", &why);
	return 0;
}

/* --- signals --- */

static bool is_managed(const struct job *job)
{
	return job->facts.managed || job_asks_by_flag(job);
}

static void reaped(void *arg, pid_t pid, int status)
{
	struct job *job = arg;

	if (ask_reaped(&job->ask, pid, status))
		return;
	if (job->tracker && pid != job->child.pid)
		tracker_process_ended(job->tracker, pid, status);
}

/* Saving and leaving because it was asked to: what it wrote last is complete. A crash between two files is not. */
static enum tracker_end how_it_ended(const struct job *job)
{
	bool was_asked = job->facts.told_to_end || job->request.sent_ms > 0;
	int code;

	if (WIFSIGNALED(job->child.status))
		return TRACKER_CRASHED;
	code = WEXITSTATUS(job->child.status);
	/* 75 is EX_TEMPFAIL of sysexits(3): nobody crashes with it. */
	if (code == 0 || code == EXIT_PREEMPTED)
		return TRACKER_CLEAN;
	if (!was_asked)
		return TRACKER_CRASHED;
	/* 42: TensorFlow, 255: sys.exit(-1) of submitit. */
	if (code == 128 + SIGTERM || code == 128 + job->ask.signal || code == 42 || code == 255 ||
		profile_resumes(job->profile.profile, code))
		return TRACKER_CLEAN;
	/* 1 is what launchers and sys.exit(1) give after a save, and also what an exception in the midst of it gives. */
	return outcome_is_crash(job->child.status) && code > 128 ? TRACKER_CRASHED
								 : TRACKER_DOUBTFUL;
}

static void child_ended(struct job *job)
{
	int status = job->child.status;
	bool killed = WIFSIGNALED(status);
	char name[SIGNAL_NAME_SIZE];

	events_add(&job->events, "child_exited", "{s:o, s:o}", "code",
		killed ? json_null() : json_integer(WEXITSTATUS(status)), "signal",
		killed ? json_string(signal_name_format(WTERMSIG(status), name)) : json_null());
	job->facts.wait_status = status;
	if (job->tracker)
		tracker_job_ended(job->tracker, how_it_ended(job));
	job_feed(job, EV_CHILD_EXITED);
}

static void terminate(struct job *job, const struct signalfd_siginfo *info)
{
	struct notice notice = {.kind = NOTICE_STOP,
		.source = "sigterm",
		.identity = "sigterm",
		.reason = "SIGTERM",
		.seen_ms = clock_monotonic_ms()};

	/* Nothing to save: be an init and nothing else. */
	if (job->state != JOB_RESTORING && !is_managed(job)) {
		job->facts.noticed = job->facts.by_signal_only = true;
		shield_let_go(&job->shield);
		child_forward(&job->child, info);
		return;
	}
	notice.deadline_ms = notice.seen_ms + job->options->grace_ms;
	job_take_notice(job, &notice);
}

/* Ctrl-C: there is nobody else to end. What nohup ignores stays ignored. The rest is for the job, when it is there. */
static void signal_while_restoring(struct job *job, int signal)
{
	if (sigismember(&job->inherited->ignored, signal) == 1)
		return;
	if (signal == SIGINT || signal == SIGQUIT || signal == SIGHUP) {
		job->refusal = 128 + signal;
		job_feed(job, EV_RESTORE_FAILED);
	} else {
		sigaddset(&job->early_signals, signal);
	}
}

void job_signal_received(void *arg, const struct signalfd_siginfo *info)
{
	struct job *job = arg;
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD) {
		if (child_reap(&job->child, reaped, job) && job->state != JOB_OVER)
			child_ended(job);
		return;
	}
	if (signal == SIGTERM && sigismember(&job->inherited->ignored, SIGTERM) != 1) {
		terminate(job, info);
		return;
	}
	if (signal == SIGUSR1 && job_can_ask(job)) {
		if (job->state == JOB_RUNNING)
			job_request(job, "request");
		return;
	}
	if (job->state == JOB_RESTORING)
		signal_while_restoring(job, signal);
	else
		child_forward(&job->child, info);
}
