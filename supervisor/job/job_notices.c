/* Turns signals and what the notice sources report into notices. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "process/process.h"
#include "telemetry/telemetry.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* --- a notice arrives --- */

static void announce_notice(struct job *job, const struct notice *notice)
{
	auto_free char *path = session_path(&job->session, SESSION_NOTICE);
	char text[320];

	log_note("%s%s", notice_format(notice, text, sizeof(text)),
		 notice->kind == NOTICE_ADVICE && !notices_stop(&job->notices)
			 ? "; an early checkpoint is taken, the job continues"
			 : "");
	event_log_add(&job->events, "notice", "o", notice_format_json(notice));
	notice_format_write_file(path, notices_stop(&job->notices));
}

int64_t job_deadline_ms(const struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);

	return stop ? stop->deadline_ms : CLOCK_NEVER;
}

static void post_stop(struct job *job)
{
	bool by_sigterm = notice_origin(notices_stop(&job->notices)) == NOTICE_BY_SIGTERM;
	struct stop_event stop = {
		.deadline_ms = job_deadline_ms(job),
		.by_sigterm = by_sigterm,
		.alone = job->notices.count == 1,
	};

	job_post(job, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED, .stop = stop});
}

void job_tell_why(struct job *job, const struct outcome *outcome)
{
	struct run_facts run = job_facts(job, LOOK_AT_MODEL);
	const struct notice *stop = run.stop;
	char durable[RESUME_POINT_TEXT];
	struct termination_facts facts = {
		.durable = run_facts_resume_point(&run, durable),
		.source = stop ? stop->source : NULL,
		.reason = stop ? stop->reason : NULL,
		.outcome = outcome ? outcome_name(outcome) : NULL,
		.exit_code = outcome ? outcome->exit_code : 0,
	};

	if (outcome && outcome->exit_code == 0)
		termination_message_withdraw(&job->message);
	else
		termination_message_tell(&job->message, &facts);
}

void job_add_notice(struct job *job, const struct notice *notice)
{
	const struct notice *stop = notices_stop(&job->notices);
	struct notice before = stop ? *stop : (struct notice){0};

	switch (notices_add(&job->notices, notice)) {
	case NOTICE_NOTHING_NEW:
		return;
	case NOTICE_NEW_ADVICE:
		announce_notice(job, notice);
		job_post(job, (struct job_event){.kind = JOB_EV_ADVICE});
		return;
	case NOTICE_FIRST_STOP:
	case NOTICE_EARLIER_DEADLINE:
	case NOTICE_LATER_DEADLINE:
		announce_notice(job, notice);
		job_tell_why(job, NULL);
		job_tell_gang(job, notices_stop(&job->notices));
		post_stop(job);
		return;
	case NOTICE_ALL_CANCELLED:
		announce_notice(job, notice);
		if (job_keep_told_notice(job, &before))
			return;
		termination_message_withdraw(&job->message);
		job_post(job, (struct job_event){.kind = JOB_EV_STOP_CANCELLED});
		return;
	case NOTICE_WITHDRAWN:
		announce_notice(job, notice);
		return;
	}
}

/* --- notice sources: they call on their own threads, which post to the loop --- */

struct source_report {
	struct job *job;
	struct notice notice;
	struct source_state state;
};

static void deliver_notice(void *arg)
{
	struct source_report *posted = arg;

	job_add_notice(posted->job, &posted->notice);
}

static void post_notice(void *arg, const struct notice *notice)
{
	struct job *job = arg;
	struct source_report *posted = memory_new(sizeof(*posted));

	posted->job = job;
	posted->notice = *notice;
	workers_post_owned(job->workers, deliver_notice, posted);
}

/* Of a command that nobody expects to save, and that has not: it has nothing to lose yet. */
static bool has_nothing_to_save(const struct job *job)
{
	return job->resume_request.if_known && job->model.attempt != ATTEMPT_CLAIMED;
}

void job_say_unsaid(struct job *job)
{
	if (*job->unsaid)
		log_note("%s", job->unsaid);
	job->unsaid[0] = '\0';
}

static void deliver_health(void *arg)
{
	struct source_report *posted = arg;
	const struct source_state *state = &posted->state;
	char text[480];

	event_log_add(&posted->job->events, "source", "{s:s, s:s, s:s}", "name", state->name,
		      "health", source_health_name(state->health), "why", state->why);
	if (state->health == SOURCE_ARMED && preemption_forecast_window_of(state->name) > 0)
		text_set(posted->job->cloud, sizeof(posted->job->cloud), state->name);
	notice_format_source(state, text, sizeof(text));
	if (state->optional && state->health == SOURCE_UNAVAILABLE)
		log_debug("%s", text);
	/* An armed source may lack something, which `why` says. */
	else if (state->health == SOURCE_UNKNOWN ||
		 (state->health == SOURCE_ARMED && state->why[0]))
		log_warn("%s", text);
	else if (state->health == SOURCE_UNAVAILABLE && has_nothing_to_save(posted->job))
		text_set(posted->job->unsaid, sizeof(posted->job->unsaid), text);
	else if (state->health != SOURCE_STARTING)
		log_note("%s", text);
}

static void post_health(void *arg, const struct source_state *state)
{
	struct job *job = arg;
	struct source_report *posted = memory_new(sizeof(*posted));

	posted->job = job;
	posted->state = *state;
	workers_post_owned(job->workers, deliver_health, posted);
}

int job_start_notice_watch(struct job *job, struct err *err)
{
	struct cloud_options options = {
		.sources = job->options->notice,
		.deadline = job->options->deadline,
		.deadline_notice_ms = job->options->deadline_notice_ms,
		.notice = post_notice,
		.health = post_health,
		.arg = job,
	};
	struct err why;

	if (cloud_watch_start(&options, &job->watch, &why) == 0)
		return 0;
	if (why.kind == ERR_INVALID)
		return err_set(err, why.kind, "--notice or --deadline: %s", why.text);
	report_our_failure(&job->reports, "no preemption notice except SIGTERM will be seen", &why);
	return 0;
}

#define ACKNOWLEDGE_MS 2000

void job_acknowledge_notice(struct job *job, const struct outcome *outcome)
{
	const struct notice *stop = notices_stop(&job->notices);
	struct err err;

	/* An approved event starts at once, so it is approved only after the last commit. */
	if (!job->options->acknowledge || !stop || !job->watch ||
	    outcome->kind != OUTCOME_PREEMPTED || !job->model.facts.all_durable)
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

bool job_slurm_script_ended(const struct job *job)
{
	return job->slurm_script > 0 && getppid() != job->slurm_script;
}

/* Slurm knows better than its signal. After its script's end, nobody ends us but ourselves. */
static void on_slurm_deadline(void *arg, int64_t deadline_ms, const char *reason)
{
	struct job *job = arg;
	struct notice notice = job->signal_notice;

	if (job->loop.stopped || !notices_stop(&job->notices) || job_slurm_script_ended(job))
		return;
	notice.deadline_ms = deadline_ms;
	text_set(notice.reason, sizeof(notice.reason), reason);
	job_add_notice(job, &notice);
}

static void query_slurm(struct job *job)
{
	job->slurm_deadline.loop = &job->loop;
	job->slurm_deadline.earlier = on_slurm_deadline;
	job->slurm_deadline.arg = job;
	slurm_deadline_query(&job->slurm_deadline, job->signal_notice.deadline_ms);
}

static void name_notice(struct notice *notice, const char *source, const char *identity)
{
	text_set(notice->source, sizeof(notice->source), source);
	text_set(notice->identity, sizeof(notice->identity), identity);
}

void job_add_signal_notice(struct job *job, const struct signalfd_siginfo *info)
{
	bool by_script = (pid_t)info->ssi_pid == job->slurm_script && job_slurm_script_ended(job);
	const struct batch_scheduler *batch = batch_scheduler_find(getenv);
	struct notice notice = {.kind = NOTICE_STOP, .seen_ms = clock_monotonic_ms()};
	char signal[SIGNAL_NAME_SIZE];

	signal_name_format((int)info->ssi_signo, signal);
	text_set(notice.reason, sizeof(notice.reason), signal);
	if (by_script) {
		name_notice(&notice, "slurm", "script");
		text_set(notice.reason, sizeof(notice.reason),
			 "the script that started reprieve has ended: use exec, or srun and "
			 "--signal without B:");
	} else if (info->ssi_signo == SIGTERM || !batch) {
		name_notice(&notice, "sigterm", "sigterm");
	} else {
		name_notice(&notice, batch->name, signal);
		snprintf(notice.reason, sizeof(notice.reason), "%s (%s)", signal, batch->option);
	}
	notice.deadline_ms = notice.seen_ms + job->options->grace_ms;
	job_add_notice(job, &notice);
	job->signal_notice = notice;
	if (!job->loop.stopped)
		query_slurm(job);
}

void job_on_signal(void *arg, const struct signalfd_siginfo *info)
{
	struct job *job = arg;
	int signal = signal_rules_map(&job->options->signal_rules, (int)info->ssi_signo);
	struct signalfd_siginfo as = *info;

	as.ssi_signo = (uint32_t)signal;
	if (signal == SIGCHLD)
		job_reap_children(job);
	else if (signal != 0)
		job_post_signal(job,
				(struct job_event){
					.kind = JOB_EV_SIGNAL,
					.signal = signal,
					.ignored =
						sigismember(&job->inherited->ignored, signal) == 1,
				},
				&as);
}
