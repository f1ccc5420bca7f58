/* What the core says is done. */
#include "base/clock.h"
#include "base/log.h"
#include "job.h"
#include "process/process.h"

#include <signal.h>

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

static void say(struct job *job, enum job_sentence sentence, const struct posted_event *posted)
{
	report_sentence(&job->reports, sentence, posted->text, posted->snapshot);
	if (sentence == SAY_SUPERSEDED)
		next_attempt_release(&job->next_attempt);
	if (sentence == SAY_SAVING || sentence == SAY_SAVING_QUIETLY)
		job_tell_clients(job,
				 json_pack("{s:s, s:s}", "event", "saving", "path", posted->text));
}

/* The snapshot queue is there once an attempt is claimed. */
static void perform_in_store(struct job *job, const struct job_effect *effect)
{
	if (!job->snapshots)
		return;
	if (effect->kind == JOB_DO_CANCEL_SNAPSHOTS)
		snapshot_queue_cancel(job->snapshots);
	else if (effect->kind == JOB_DO_SET_COMMIT_DEADLINE)
		snapshot_queue_set_deadline(job->snapshots, effect->at_ms);
	else if (effect->kind == JOB_DO_HURRY_STORE)
		storage_set_urgent(job->resume.storage);
	else
		storage_clear_urgent(job->resume.storage);
}

/* One case for each kind of effect: what takes one call or two stands in it. */
void job_perform(struct job *job, const struct job_effect *effect,
		 const struct posted_event *posted)
{
	switch (effect->kind) {
	case JOB_DO_LAUNCH:
		return job_launch_child(job);
	case JOB_DO_KEEP_SIGNAL:
		sigaddset(&job->early_signals, posted->event.signal);
		return;
	case JOB_DO_CLAIM:
		return job_claim_attempt_late(job);
	case JOB_DO_PASS_SIGNAL:
		child_forward(&job->child, &posted->signal);
		/* Its terminal is ours again, and nobody else hears it. */
		job->outlived.cut |= job->outlived.waits;
		return job_look_at_outlived(job);
	case JOB_DO_TAKE_FOR_NOTICE:
		return job_add_signal_notice(job, &posted->signal);
	case JOB_DO_TELL_NEXT_ATTEMPT:
		return next_attempt_tell(&job->next_attempt, &job->loop, job->resume.storage,
					 job->resume.attempt.number, effect->at_ms);
	case JOB_DO_ASK:
		checkpoint_request_stop(&job->ask);
		return checkpoint_request_start(&job->ask, job->child.pid);
	case JOB_DO_STOP_TRYING:
		return checkpoint_request_stop(&job->ask);
	case JOB_DO_STOP_ASKING:
		checkpoint_request_stop(&job->ask);
		rank_progress_end(&job->ranks);
		return job_end_flag(job, false);
	case JOB_DO_CONFIRM_FLAG:
		return job_end_flag(job, true);
	case JOB_DO_REPLY:
		return job_reply_to_client(effect, posted->reply);
	case JOB_DO_REFUSE:
		return job_refuse_client(effect);
	case JOB_DO_SHARE_REQUEST:
		return job_share_request(job, effect->request);
	case JOB_DO_FORWARD_SIGTERM:
		job->ask.by_flag = false;
		if (job->tracker)
			tracker_requested(job->tracker);
		return send_sigterm(job, "forwarding SIGTERM to the job");
	case JOB_DO_TERMINATE:
		event_log_add(&job->events, "stopping", "{s:s}", "signal", "TERM");
		return send_sigterm(job, "stopping the job (SIGTERM)");
	case JOB_DO_TERMINATE_REST:
		return job_terminate_rest(job);
	case JOB_DO_KILL:
		job_name_writers(job);
		child_signal(&job->child, SIGKILL);
		kill_tree();
		return job_post_child_exit(job);
	case JOB_DO_HOLD_SIGTERM:
	case JOB_DO_UNHOLD_SIGTERM:
		return sigterm_hold_set_notice(&job->sigterm_hold,
					       effect->kind == JOB_DO_HOLD_SIGTERM);
	case JOB_DO_RELEASE_SIGTERM:
		return sigterm_hold_end(&job->sigterm_hold);
	case JOB_DO_TAKE_SNAPSHOT:
		snapshot_queue_submit(job->snapshots, &job->model.newest);
		return;
	case JOB_DO_CANCEL_RESTORE:
		cancel_raise(&job->cancel);
		return;
	case JOB_DO_CANCEL_SNAPSHOTS:
		perform_in_store(job, effect);
		cancel_raise(&job->cancel);
		return;
	case JOB_DO_SET_COMMIT_DEADLINE:
	case JOB_DO_HURRY_STORE:
	case JOB_DO_CALM_STORE:
		return perform_in_store(job, effect);
	case JOB_DO_START_RETENTION:
		retention_worker_start(job->retention_worker);
		if (!retention_worker_is_busy(job->retention_worker))
			job_post(job, (struct job_event){.kind = JOB_EV_RETENTION_DONE});
		return;
	case JOB_DO_STOP_RETENTION:
		return retention_worker_stop(job->retention_worker);
	case JOB_DO_LIMIT_RETENTION:
		return retention_worker_limit_time(job->retention_worker, effect->at_ms);
	case JOB_DO_LEAVE_GANG:
		return job_leave_gang(job);
	case JOB_DO_SAY:
		return say(job, effect->sentence, posted);
	case JOB_DO_END:
		return job_begin_shutdown(job);
	case JOB_EFFECTS:
		return;
	}
}
