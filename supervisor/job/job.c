/* Drives the table of lifecycle.h: takes events, performs actions, arms the timer of each state. */
#include "job.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "process/process.h"

#include <signal.h>

/* A job that has saved gets this long to exit after SIGTERM, even if the notice would allow more.
 */
#define STOP_PATIENCE_MS 10000
#define KILL_AGAIN_MS 1000
#define NEXT_SAVE_CHECK_MS 100

void job_report_failure(struct job *job, const char *what, const struct err *err)
{
	job->ours_failed = true;
	log_warn("%s: %s", what, err->text);
}

/* --- timers --- */

static void plan_deadline(struct job *job)
{
	struct deadline_budget_facts facts = {
		.now_ms = clock_monotonic_ms(),
		.deadline_ms = job_deadline_ms(job),
		.upload_ms = job->upload_ms,
	};

	/* From now on the checkpoint comes first: full bandwidth, no retention. */
	if (job->snapshots)
		storage_set_urgent(job->resume.storage);
	retention_worker_stop(job->retention_worker);
	if (facts.deadline_ms == CLOCK_NEVER) {
		/* All notices were withdrawn, or no end is known: nothing is cut short. */
		job->budget.commit_until_ms = CLOCK_NEVER;
	} else {
		job->budget = deadline_budget_split(&facts);
		job_update_plan(job);
	}
	if (job->snapshots)
		snapshot_queue_set_deadline(job->snapshots, job->budget.commit_until_ms);
}

/* The job's checkpoint is complete, or no stop is announced any more. A job that only got a
 * forwarded SIGTERM may still be cleaning up, so it keeps its time. */
static bool needs_no_more_time(const struct job *job)
{
	return job->options->ask != REQUEST_AUTO &&
	       (job->request.answered || !notices_stop(&job->notices));
}

static int64_t kill_time_ms(const struct job *job)
{
	return deadline_budget_kill_ms(&job->budget, job->told_ms, job_has_pending(job));
}

static void arm_budget(struct job *job)
{
	int64_t now = clock_monotonic_ms();
	int64_t at = CLOCK_NEVER;

	if (notices_stop(&job->notices)) {
		if (job->state == JOB_CHECKPOINTING)
			at = job->budget.ask_until_ms;
		else if (job->state == JOB_STOPPING)
			at = kill_time_ms(job);
		else if (job->state == JOB_UPLOADING)
			at = job->budget.commit_until_ms;
	}
	if (job->state == JOB_STOPPING && needs_no_more_time(job) && at > now + STOP_PATIENCE_MS)
		at = now + STOP_PATIENCE_MS;
	/* One SIGKILL ends a process, unless it hangs in the kernel. Children that it has forked
	 * since need another. */
	if (job->killed && job->state == JOB_STOPPING)
		at = now + KILL_AGAIN_MS;
	if (at == CLOCK_NEVER)
		loop_disarm(&job->loop, &job->budget_timer);
	else
		loop_arm(&job->loop, &job->budget_timer, at);
}

static void on_budget_spent(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, budget_timer);
	int64_t now_ms = clock_monotonic_ms(), check_ms = now_ms + NEXT_SAVE_CHECK_MS;

	/* A save is under way: it gets the time that was reserved for exiting. */
	if (job->state == JOB_CHECKPOINTING && job->tracker && tracker_is_saving(job->tracker) &&
	    now_ms < job->budget.stop_until_ms) {
		loop_arm(&job->loop, timer, job->budget.stop_until_ms);
		return;
	}
	/* So does the next save of a job that was not told anything, if it is due by then. */
	if (job->state == JOB_CHECKPOINTING && job->request.sent_ms == 0 &&
	    now_ms < job->budget.stop_until_ms && job_plans_to_await_save(job, NULL)) {
		loop_arm(&job->loop, timer,
			 check_ms < job->budget.stop_until_ms ? check_ms
							      : job->budget.stop_until_ms);
		return;
	}
	/* The kill was planned early because an upload was pending, which has been committed since.
	 */
	if (job->state == JOB_STOPPING && !job->killed && !needs_no_more_time(job) &&
	    now_ms < kill_time_ms(job)) {
		loop_arm(&job->loop, timer, kill_time_ms(job));
		return;
	}
	job_post_event(job, EV_BUDGET_SPENT);
}

/* --- actions --- */

/* A plain entrypoint does the same: the job decides what SIGTERM means. It may be a request to
 * save, so it counts as one. */
void job_forward_sigterm(struct job *job)
{
	log_note("forwarding SIGTERM to the job");
	job->ask.by_flag = false;
	job->facts.told_to_end = true;
	job->request.forwarded = true;
	job->request.sent_ms = clock_monotonic_ms();
	job_step_requests(job, (struct request_event){.kind = REQUEST_EV_FORWARDED}, NULL);
	if (job->tracker)
		tracker_requested(job->tracker);
	child_forward_signal(&job->child, SIGTERM);
}

/* A job asked through the flag got no signal, whatever its profile says. */
static bool was_asked_by_sigterm(const struct job *job)
{
	return job->request.sent_ms > 0 && !job->ask.by_flag &&
	       (job->request.forwarded ||
		(job->ask.method == REQUEST_SIGNAL && job->ask.signal == SIGTERM));
}

bool job_has_sent_sigterm(const struct job *job, pid_t pid, int64_t since_ms)
{
	return was_asked_by_sigterm(job) && job->request.sent_ms > since_ms &&
	       (job->request.forwarded ? child_forwards_to(&job->child, pid)
				       : checkpoint_request_has_signalled(&job->ask, pid));
}

void job_request_at_notice(struct job *job)
{
	const struct notice *stop = notices_stop(&job->notices);

	job->facts.noticed = true;
	sigterm_hold_set_notice(&job->sigterm_hold, true);
	if (job_upload_before_asking(job))
		return;
	if (job->options->ask == REQUEST_NONE && !job_requests_by_flag(job) &&
	    notice_origin(stop) == NOTICE_BY_SIGTERM) {
		if (!job_defer_sigterm(job))
			job_forward_sigterm(job);
		return;
	}
	if (job->options->ask == REQUEST_NONE && !job_requests_by_flag(job)) {
		log_note("the job is not asked for a checkpoint (--checkpoint-signal none): its "
			 "newest complete checkpoint is used");
		return;
	}
	job_request_checkpoint(job, SAVED_AT_NOTICE);
	/* Until it is asked, an exit is its own decision. */
	job->facts.told_to_end = job->requests.asking == ASKING_SENT;
}

static void stop_child(struct job *job)
{
	bool forwarded = job->facts.told_to_end && was_asked_by_sigterm(job);

	job_step_requests(job, (struct request_event){.kind = REQUEST_EV_STOPPED}, NULL);
	job->facts.told_to_end = true;
	/* A job that was asked by SIGTERM and has answered gets no second one, not even one that
	 * was held back: that kills trainers which restore the default handler after the first. */
	if (forwarded && !job->request.answered)
		sigterm_hold_end(&job->sigterm_hold);
	job->told_ms = forwarded ? job->request.sent_ms : clock_monotonic_ms();
	if (forwarded)
		return;
	job->facts.stopped = true;
	log_note("stopping the job (SIGTERM)");
	event_log_add(&job->events, "stopping", "{s:s}", "signal", "TERM");
	child_forward_signal(&job->child, SIGTERM);
	sigterm_hold_end(&job->sigterm_hold);
}

static void kill_child(struct job *job)
{
	if (!job->killed) {
		log_warn("the job has not exited: killing it (SIGKILL)");
		event_log_add(&job->events, "stopping", "{s:s}", "signal", "KILL");
	}
	job->killed = job->facts.stopped = true;
	child_signal(&job->child, SIGKILL);
	kill_tree();
}

static void withdraw_request(struct job *job)
{
	log_note("the notice was withdrawn: the job continues");
	job_step_requests(job, (struct request_event){.kind = REQUEST_EV_WITHDRAWN}, NULL);
	job_cancel_sigterm_deferral(job);
	job_reset_plan(job);
	sigterm_hold_set_notice(&job->sigterm_hold, false);
	job->facts.noticed = false;
	job->facts.told_to_end = false;
	if (job->snapshots)
		storage_clear_urgent(job->resume.storage);
	if (job->snapshots)
		snapshot_queue_set_deadline(job->snapshots, CLOCK_NEVER);
}

static void perform_action(struct job *job, enum job_action action)
{
	switch (action) {
	case DO_NOTHING:
		break;
	case DO_LAUNCH_CHILD:
		job_launch_child(job);
		break;
	case DO_CANCEL_RESTORE:
		job->facts.noticed = true;
		cancel_raise(&job->cancel);
		break;
	case DO_REQUEST_CHECKPOINT:
		plan_deadline(job);
		job_request_at_notice(job);
		break;
	case DO_REPLAN:
		plan_deadline(job);
		break;
	case DO_WITHDRAW_REQUEST:
		withdraw_request(job);
		break;
	case DO_STOP_CHILD:
		stop_child(job);
		break;
	case DO_KILL_CHILD:
		kill_child(job);
		break;
	case DO_FLUSH_SNAPSHOTS:
		sigterm_hold_end(&job->sigterm_hold);
		job_step_requests(job, (struct request_event){.kind = REQUEST_EV_STOPPED}, NULL);
		job_flush(job);
		break;
	case DO_CANCEL_SNAPSHOTS:
		if (!job->flush.given_up)
			log_warn("out of time: the upload under way is cancelled");
		if (job->snapshots)
			snapshot_queue_cancel(job->snapshots);
		cancel_raise(&job->cancel);
		break;
	}
}

void job_post_event(struct job *job, enum job_event event)
{
	struct lifecycle_transition step = lifecycle_step(job->state, event);
	bool moved = step.next != job->state;

	if (job->state == JOB_OVER)
		return;
	if (event == EV_NOTICE && job->state == JOB_UPLOADING && !job->facts.noticed)
		job->facts.noticed_late = true;
	if (moved)
		log_debug("%s -> %s", job_state_name(job->state), job_state_name(step.next));
	job->state = step.next;
	if (event == EV_NOTICE)
		job->facts.noticed = true;
	perform_action(job, step.action);
	/* The action has changed the state again, as when the command cannot be executed. */
	if (job->state != step.next)
		return;
	if (moved || step.action == DO_REPLAN || event == EV_BUDGET_SPENT)
		arm_budget(job);
	if (moved && job->state == JOB_OVER)
		job_begin_shutdown(job);
}

int job_run(struct job *job)
{
	struct err err;
	int code;

	job->state = JOB_RESTORING;
	sigemptyset(&job->early_signals);
	job->upload_ms = job->pace.save_ms = -1;
	job->durable_step = job->durable_reported_step = -1;
	job->point.usual_ms = -1;
	job->budget.commit_until_ms = CLOCK_NEVER;
	job->budget_timer.fired = on_budget_spent;
	if (job_open(job, &err) < 0) {
		log_error("%s", err.text);
		job_close(job);
		return err.kind == ERR_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
	}
	job_begin_resume(job);
	if (job->state != JOB_OVER && loop_run(&job->loop, &err) < 0)
		log_error("%s", err.text);
	code = job_finish(job);
	job_close(job);
	return code;
}
