/* What the core says is done: one row for each kind of effect. */
#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "process/process.h"

#include <signal.h>

/* An effect, and what it follows from. */
struct performed {
	const struct job_effect *effect;
	const struct posted_event *posted;
};

static void cancel_restore(struct job *job)
{
	cancel_raise(&job->cancel);
}

static void keep_signal(struct job *job, const struct performed *what)
{
	sigaddset(&job->early_signals, what->posted->event.signal);
}

static void pass_signal(struct job *job, const struct performed *what)
{
	child_forward(&job->child, &what->posted->signal);
	/* Its terminal is ours again, and nobody else hears it. */
	job->outlived.cut |= job->outlived.waits;
	job_look_at_outlived(job);
}

static void take_for_notice(struct job *job, const struct performed *what)
{
	job_add_signal_notice(job, &what->posted->signal);
}

static void tell_next_attempt(struct job *job, const struct performed *what)
{
	next_attempt_tell(&job->next_attempt, &job->loop, job->resume.storage,
			  job->resume.attempt.number, what->effect->at_ms);
}

static void ask(struct job *job)
{
	checkpoint_request_stop(&job->ask);
	checkpoint_request_start(&job->ask, job->child.pid);
}

static void stop_trying(struct job *job)
{
	checkpoint_request_stop(&job->ask);
}

static void stop_asking(struct job *job)
{
	checkpoint_request_stop(&job->ask);
	rank_watch_end(&job->ranks);
	job_end_flag(job, false);
}

static void confirm_flag(struct job *job)
{
	job_end_flag(job, true);
}

static void reply(struct job *job, const struct performed *what)
{
	(void)job;
	job_reply_to_client(what->effect, what->posted->reply);
}

static void refuse(struct job *job, const struct performed *what)
{
	(void)job;
	job_refuse_client(what->effect);
}

static void share_request(struct job *job, const struct performed *what)
{
	job_share_request(job, what->effect->request);
}

/* The main process may have ended. */
static void send_sigterm(struct job *job, const char *what)
{
	if (job->profile.profile && job->profile.profile->ends_by_kill) {
		log_note("SIGTERM does not end such a job: killing it (SIGKILL)");
		child_signal(&job->child, SIGKILL);
		kill_tree();
		return;
	}
	log_note("%s", what);
	child_forward_signal(&job->child, SIGTERM);
	if (job->outlived.waits)
		job_terminate_rest(job);
}

static void forward_sigterm(struct job *job)
{
	job->ask.by_flag = false;
	if (job->tracker)
		tracker_requested(job->tracker);
	send_sigterm(job, "forwarding SIGTERM to the job");
}

static void terminate(struct job *job)
{
	event_log_add(&job->events, "stopping", "{s:s}", "signal", "TERM");
	send_sigterm(job, "stopping the job (SIGTERM)");
}

static void kill_job(struct job *job)
{
	job_name_writers(job);
	child_signal(&job->child, SIGKILL);
	kill_tree();
	job_post_child_exit(job);
}

static void hold_sigterm(struct job *job, const struct performed *what)
{
	sigterm_hold_set_notice(&job->sigterm_hold, what->effect->kind == JOB_DO_HOLD_SIGTERM);
}

static void release_sigterm(struct job *job)
{
	sigterm_hold_end(&job->sigterm_hold);
}

static void take_snapshot(struct job *job)
{
	snapshot_queue_submit(job->snapshots, &job->model.newest);
}

static void cancel_snapshots(struct job *job)
{
	if (job->snapshots)
		snapshot_queue_cancel(job->snapshots);
	cancel_raise(&job->cancel);
}

static void set_commit_deadline(struct job *job, const struct performed *what)
{
	if (job->snapshots)
		snapshot_queue_set_deadline(job->snapshots, what->effect->at_ms);
}

static void hurry_store(struct job *job, const struct performed *what)
{
	if (job->snapshots && what->effect->kind == JOB_DO_HURRY_STORE)
		storage_set_urgent(job->resume.storage);
	else if (job->snapshots)
		storage_clear_urgent(job->resume.storage);
}

static void start_retention(struct job *job)
{
	retention_worker_start(job->retention_worker);
	if (!retention_worker_is_busy(job->retention_worker))
		job_post(job, (struct job_event){.kind = JOB_EV_RETENTION_DONE});
}

static void stop_retention(struct job *job)
{
	retention_worker_stop(job->retention_worker);
}

static void limit_retention(struct job *job, const struct performed *what)
{
	retention_worker_limit_time(job->retention_worker, what->effect->at_ms);
}

static void say(struct job *job, const struct performed *what)
{
	enum job_sentence sentence = what->effect->sentence;
	const char *text = what->posted->text;

	report_sentence(&job->reports, sentence, text, what->posted->snapshot);
	if (sentence == SAY_SUPERSEDED)
		next_attempt_release(&job->next_attempt);
	if (sentence == SAY_SAVING || sentence == SAY_SAVING_QUIETLY)
		job_tell_clients(job, json_pack("{s:s, s:s}", "event", "saving", "path", text));
}

void job_perform(struct job *job, const struct job_effect *effect,
		 const struct posted_event *posted)
{
	static const struct {
		void (*plain)(struct job *job); /* it is all in the name; or */
		void (*with)(struct job *job, const struct performed *what);
	} rows[JOB_EFFECTS] = {
		[JOB_DO_LAUNCH] = {.plain = job_launch_child},
		[JOB_DO_CANCEL_RESTORE] = {.plain = cancel_restore},
		[JOB_DO_KEEP_SIGNAL] = {.with = keep_signal},
		[JOB_DO_CLAIM] = {.plain = job_claim_attempt_late},
		[JOB_DO_PASS_SIGNAL] = {.with = pass_signal},
		[JOB_DO_TAKE_FOR_NOTICE] = {.with = take_for_notice},
		[JOB_DO_TELL_NEXT_ATTEMPT] = {.with = tell_next_attempt},
		[JOB_DO_ASK] = {.plain = ask},
		[JOB_DO_STOP_TRYING] = {.plain = stop_trying},
		[JOB_DO_STOP_ASKING] = {.plain = stop_asking},
		[JOB_DO_CONFIRM_FLAG] = {.plain = confirm_flag},
		[JOB_DO_REPLY] = {.with = reply},
		[JOB_DO_REFUSE] = {.with = refuse},
		[JOB_DO_SHARE_REQUEST] = {.with = share_request},
		[JOB_DO_FORWARD_SIGTERM] = {.plain = forward_sigterm},
		[JOB_DO_TERMINATE] = {.plain = terminate},
		[JOB_DO_TERMINATE_REST] = {.plain = job_terminate_rest},
		[JOB_DO_KILL] = {.plain = kill_job},
		[JOB_DO_HOLD_SIGTERM] = {.with = hold_sigterm},
		[JOB_DO_UNHOLD_SIGTERM] = {.with = hold_sigterm},
		[JOB_DO_RELEASE_SIGTERM] = {.plain = release_sigterm},
		[JOB_DO_TAKE_SNAPSHOT] = {.plain = take_snapshot},
		[JOB_DO_CANCEL_SNAPSHOTS] = {.plain = cancel_snapshots},
		[JOB_DO_SET_COMMIT_DEADLINE] = {.with = set_commit_deadline},
		[JOB_DO_HURRY_STORE] = {.with = hurry_store},
		[JOB_DO_CALM_STORE] = {.with = hurry_store},
		[JOB_DO_START_RETENTION] = {.plain = start_retention},
		[JOB_DO_STOP_RETENTION] = {.plain = stop_retention},
		[JOB_DO_LIMIT_RETENTION] = {.with = limit_retention},
		[JOB_DO_LEAVE_GANG] = {.plain = job_leave_gang},
		[JOB_DO_SAY] = {.with = say},
		[JOB_DO_END] = {.plain = job_begin_shutdown},
	};

	if (rows[effect->kind].plain)
		rows[effect->kind].plain(job);
	else
		rows[effect->kind].with(job, &(struct performed){effect, posted});
}
