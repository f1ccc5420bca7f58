/*
 * One job from restore to exit: owns the parts, feeds events to the job machine (lifecycle.h) and
 * carries its actions out.
 *
 *	job.c            the machine's driver: actions and timers
 *	job_end.c        the end: nothing is left running, the exit code, who is told
 *	job_start.c      up to the launch: session, resume, child
 *	child_environment.c  what the job sees of us
 *	job_precedent.c  what earlier attempts mean for this one, and what this one leaves for later
 *	                 ones
 *	job_notices.c    signals and watchers -> notices
 *	job_requests.c   checkpoints on request, and who waits for them
 *	job_interval.c   requests at intervals
 *	job_forecast.c   what a preemption would cost, and the plan at a notice
 *	job_last_save.c  a SIGTERM that would only end the job waits for the save under way
 *	job_receipts.c   what came of a request, rank by rank
 *	job_snapshots.c  snapshots, retention, the recovery point
 *	job_observers.c  the ledger in the store, metrics, webhook
 *	job_message.c    the reason of the end, for who only sees an ended container
 *	job_handover.c   at a notice: for the next attempt, which may start early
 *	job_slurm_end.c  under Slurm, after its signal: how much time is left
 *	job_slurm_tasks.c  under Slurm, several tasks: who is through
 *	job_requeue.c    under Slurm, after the end: start me again
 *	job_flush.c      after the job's end: until everything is durable, or given up
 */
#ifndef JOB_H
#define JOB_H

#include "base/cancel.h"
#include "base/loop.h"
#include "base/workers.h"
#include "cloud/cloud.h"
#include "completion/completion.h"
#include "control/control.h"
#include "frameworks/frameworks.h"
#include "job_config.h"
#include "lifecycle.h"
#include "planning/planning.h"
#include "process/process.h"
#include "request/request.h"
#include "restore/restore.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"
#include "upload/upload.h"
#include "workspace/workspace.h"

#define RESUME_POINT_TEXT 80

/* What scontrol is asked after a signal: job_slurm_end.c. */
struct slurm_deadline {
	struct workers *workers; /* NULL: it never was */
	bool asking;             /* then what follows is the worker's */
	struct notice notice;    /* the signal's */
	struct storage *storage; /* where the other tasks are told; NULL: not yet */
	enum slurm_query_result asked;
	struct slurm_job answer;
};

/* What the next attempt is told at a notice: job_handover.c. */
struct next_attempt {
	struct workers *workers; /* NULL: nothing was told */
	struct cancel cancel;
	int64_t told_ms; /* until when this one may commit; 0: it is not preempted */
	uint32_t messages;
	bool sending, failed;
	struct err err;
	struct timer again; /* for as long as it saves */
	bool due;
};

/* Who else learns what happens: job_observers.c. */
struct observers {
	struct workers *workers;
	struct cancel cancel;
	struct counters counters;
	struct event_buffer event_buffer;
	struct bytes part; /* of the ledger, on its way */
	struct err err;    /* the last one */
	struct timer timer;
	unsigned parts; /* of the ledger, in the store */
	bool putting, put_failed, textfile_failed;
	struct pending_webhook *pending_webhooks; /* notifications, sent and unsent */
	struct metrics_server *server;
};

struct job {
	const struct job_config *options;
	const struct signals_inherited *inherited;
	struct job_name name;
	struct profile_choice profile;
	const char *store;    /* URL; NULL: none can be had */
	struct err no_store;  /* why there is none, until it has been said */
	bool store_is_needed; /* the user chose it: without it the job is not started */
	enum job_state state;
	sigset_t early_signals; /* came while it was restored: the job gets them once it is there */

	struct loop loop;
	struct signals signals;
	struct workers *workers;
	struct cancel cancel; /* of restoring and claiming */
	struct session session;
	struct observers observers;
	struct control_socket *control;
	struct event_log events;
	struct workspace workspace;
	struct tracker *tracker;
	struct cloud_watch *watch;
	struct slurm_deadline slurm_deadline;
	struct next_attempt next_attempt;
	struct child child;
	struct checkpoint_request ask;
	struct sigterm_hold sigterm_hold;
	struct snapshot_queue *snapshots;          /* NULL until an attempt is claimed */
	struct retention_worker *retention_worker; /* likewise, and without --keep-* */
	json_t *snapshot_about;                    /* of every snapshot's manifest; NULL: nothing */

	struct timer budget_timer;
	struct timer sweep_timer; /* kills what is left of a preempted job */
	struct deadline_budget budget;
	struct {
		struct timer timer;
		int64_t began_ms; /* 0: the job has not ended */
		unsigned tries;
		bool once_more; /* everything was tried again after the job's end */
		bool given_up;  /* --flush-time is over */
	} flush;

	struct resume_request resume_request;
	struct resume_result resume;
	struct err resume_err;
	bool resuming, resume_failed;

	struct notices notices;
	struct {
		bool active;     /* a request is out, and its checkpoint has not been sealed */
		int64_t sent_ms; /* when the job was asked; 0: not yet */
		bool forwarded;  /* it was SIGTERM as it comes, to whom it concerns */
		bool answered;   /* some request was followed by a complete checkpoint */
		/* the first time, also when it was withdrawn by then; 0: never */
		int64_t first_answer_ms;
		char reason[16];
	} request;
	struct {
		bool awaited; /* the job gets its SIGTERM after it */
		struct timer timer;
	} sigterm_deferral;
	struct rank_progress rank_progress; /* of the newest request */
	struct timer rank_progress_timer;
	struct timer every_timer;
	struct timer risk_timer;
	struct {
		/* every_ms 0: nothing is asked for by itself */
		struct checkpoint_interval interval;
		int64_t save_ms;   /* what a save takes, smoothed; -1 */
		int64_t saving_ms; /* since when one is being written; 0: none is */
		char cloud[16];    /* whose notices are watched; "" */
		bool warned;       /* once, that a save does not fit its notice */
		bool planned;      /* at this notice */
		bool deferred;     /* the job is asked once what is on its way is durable */
		enum preemption_plan plan;
		/* the newest commit, and from the one before to it; 0 unknown */
		int64_t point_ms, gap_ms;
		unsigned risk_said; /* since then */
	} pace;
	struct timer retry_timer; /* a snapshot that the store refused is tried again */

	struct checkpoint newest_complete; /* if any_complete */
	uint64_t durable_generation;       /* of the newest durable one */
	int64_t durable_step;
	/* when what is durable was last written to, or the restored checkpoint was
	 * put in place; 0: nothing is */
	int64_t durable_ms;
	struct recovery_point point;
	struct timer point_timer;
	bool reported_removal, reported_skipped_files, reported_log_files;
	int64_t upload_ms; /* from seal to commit, last time; -1 */
	bool any_complete;
	bool store_failing;    /* said once per outage */
	bool retention_failed; /* said once */
	bool ours_failed;      /* anything that --strict turns into an error */
	bool killed;           /* SIGKILL was sent */
	int64_t told_ms;       /* when it got the SIGTERM that it is to end by */
	bool superseded;       /* another attempt has taken over: publish no more */

	/* Clients of `reprieve checkpoint`. */
	struct {
		struct control_request *request;
		bool until_asked; /* it does not wait for the checkpoint */
	} waiting[8];
	size_t waiting_count;

	struct outcome_facts facts;
	int refusal;                         /* exit code when the job was never started */
	char message[TERMINATION_LINE_SIZE]; /* our line in the termination message; "" not yet */
	bool done; /* it was not, because an earlier attempt has finished it */
	int64_t launched_ms;
	char **environment; /* "NAME=value", what the job sees of us; NULL-terminated */
};

/* Runs the whole life; returns the exit code. */
int job_run(struct job *job);

/* --- between the parts of this module --- */

/* job.c */
void job_post_event(struct job *job, enum job_event event);
void job_forward_sigterm(struct job *job); /* at once */
/* The newest request went to `pid` as a SIGTERM, and after `since_ms`. */
bool job_has_sent_sigterm(const struct job *job, pid_t pid, int64_t since_ms);
void job_request_at_notice(struct job *job);
/* says it once, counts for --strict */
void job_report_failure(struct job *job, const char *what, const struct err *err);

/* job_end.c */
/* When the machine will be gone by the notices that stand; CLOCK_NEVER. */
int64_t job_deadline_ms(const struct job *job);
/*
 * A preempted job leaves nothing running: what goes on writing here would meet the next attempt.
 * Otherwise orphans are none of our business, as with any init. Stops the loop, at once or when
 * they are gone.
 */
void job_begin_shutdown(struct job *job);
/* After the loop: the outcome, said to all who are to know; returns the exit code. Blocks for the
 * snapshot that was given up, and as long as each that is told may take. */
int job_finish(struct job *job);

/* job_directory.c */
bool job_check_directory(struct job *job); /* false: the job is not to begin, and it is said why */

/* job_start.c */
int job_open(struct job *job, struct err *err);
void job_begin_resume(struct job *job);
void job_claim_attempt_late(struct job *job);
void job_launch_child(struct job *job);
void job_close(struct job *job);

/* child_environment.c */
/* REPRIEVE_*, and what the profile and the identity add; once it is known whether
 * there is a tracker. */
void child_environment_build(struct job *job);
/* Puts the shim into it; on -1 the job runs without. */
int child_environment_add_shim(struct job *job, struct err *err);
void child_environment_free(struct job *job);

/* job_precedent.c */
/* What earlier attempts mean for this one, said. True: the job is not started. */
bool job_apply_restart_rules(struct job *job);
struct restart_rules job_restart_rules(const struct job *job);
/* Why it would not be started now, in the same words; NULL where it would, or nobody can say. The
 * caller frees. Blocks. */
char *job_explain_restart_decision(const struct job *job, struct storage *storage);
json_t *job_command_json(const struct job *job); /* without secrets */
json_t *job_end_facts(const struct job *job, const struct outcome *outcome);

/* job_notices.c */
void job_on_signal(void *arg, const struct signalfd_siginfo *info);
/* -1 only for a list of sources that makes no sense. */
int job_start_notice_watch(struct job *job, struct err *err);
void job_add_notice(struct job *job, const struct notice *notice);
/* --acknowledge: after the last commit, the cloud need not wait any more. Blocks for a moment. */
void job_acknowledge_notice(struct job *job, const struct outcome *outcome);
/* What `reprieve status` shows of the sources and of the notice that stands. The
 * caller releases. */
json_t *job_sources_json(const struct job *job);
json_t *job_notice_json(const struct job *job); /* NULL: none */

/* job_requests.c */
void job_request_checkpoint(struct job *job, const char *reason);
void job_prepare_requests(struct job *job);
void job_end_request(struct job *job);
bool job_requests_by_flag(const struct job *job); /* a request now would go out so */
bool job_can_request(const struct job *job);      /* by more than a SIGTERM that may end it */
void job_on_save_started(void *arg, const char *path);
void job_on_checkpoint_complete(void *arg);
bool job_on_files_closed(void *arg);
void job_open_control(struct job *job);
void job_reply_to_clients(struct job *job, json_t *reply, bool last); /* takes over `reply` */

/* job_interval.c */
void job_begin_interval(struct job *job);
void job_note_save_started(struct job *job);
void job_note_save_ended(struct job *job);

/* job_forecast.c */
struct preemption_facts job_forecast(const struct job *job);
/* Or has just done so, and it is not known yet whether that is all. */
bool job_is_saving(const struct job *job);
/* where nobody can be asked, that is the plan */
bool job_plans_to_await_save(const struct job *job);
bool job_has_pending(const struct job *job); /* a complete checkpoint that is not durable */
const char *job_forecast_loss(const struct job *job, char *buffer, size_t capacity);
void job_update_plan(struct job *job); /* at a notice; says it when it is another one than before */
bool job_upload_before_asking(struct job *job); /* the plan is to ask later: job_continue_plan() */
void job_continue_plan(struct job *job);        /* a snapshot has ended */
void job_reset_plan(struct job *job);           /* the notice was withdrawn */
void job_arm_risk_warning(struct job *job);
void job_note_durable(struct job *job); /* something became durable */
void job_warn_if_window_too_short(struct job *job);

/* job_last_save.c */
/* True: the SIGTERM that the job was to get now is forwarded later. */
bool job_defer_sigterm(struct job *job);
/* The save is complete, or is not to be waited for: forwards SIGTERM, if that was
 * still to be done. */
bool job_end_sigterm_deferral(struct job *job);
void job_cancel_sigterm_deferral(struct job *job); /* it is not forwarded any more */

/* job_receipts.c */
void job_begin_rank_progress(struct job *job);
void job_add_rank_progress(struct job *job, const struct rank *ranks, size_t count,
			   size_t expected);
void job_end_rank_progress(struct job *job);           /* looks no more; what was seen stays */
json_t *job_rank_progress_json(const struct job *job); /* NULL: nobody was asked */

/* job_snapshots.c */
int job_start_snapshot_queue(struct job *job, struct err *err);
void job_queue_snapshot(struct job *job); /* the newest complete checkpoint */
void job_note_complete(struct job *job);
bool job_is_durable(const struct job *job);
json_t *job_status_json(const struct job *job);

/* job_observers.c */
int observers_open(struct job *job, struct err *err);
int observers_open_metrics(struct job *job, struct err *err); /* once there is a session */
/* After the end record. Blocks until `until_ms` at most. */
/* The last webhook; blocks until then at most. */
void observers_notify_end(struct job *job, const struct outcome *outcome, int64_t until_ms);
void observers_record_end(struct job *job, const struct outcome *outcome, int64_t until_ms);
void observers_close(struct job *job);
json_t *observers_labels(const struct job *job); /* the caller owns it */

/* job_message.c: both block for a small file's write. */
/* "3-12, step 1200", what a start now would resume from; "" nothing. Returns `text`. */
const char *job_format_resume_point(const struct job *job, char text[RESUME_POINT_TEXT]);
void job_write_notice_message(struct job *job);
/* The notice was withdrawn, or the job has finished all the same: our line goes,
 * the job's own words stay. */
void job_withdraw_notice_message(struct job *job);
void job_write_end_message(struct job *job, const struct outcome *outcome);
/* job_requeue.c */
bool job_is_requeued_by_us(const struct job *job); /* --requeue auto, and Slurm runs us */
/* After the end is recorded. Runs scontrol and waits for it, for 20 s each; what
 * goes wrong is said. */
void job_requeue(struct job *job, const struct outcome *outcome);

/* job_slurm_tasks.c */
/* At the notice, on a worker: this task is there. Blocks for a put, at most 5 s.
 * `storage` may be NULL. */
void job_join_slurm_barrier(struct storage *storage);
/* At its end, likewise: it is through. Nothing where there was no notice. */
void job_leave_slurm_barrier(struct job *job);
/* Blocks until those that were there are through, or the deadline is near; says for whom. */
void job_await_slurm_barrier(struct job *job);

/* job_slurm_end.c */
/* After a signal of Slurm's: has scontrol asked, in the background, whether the job ends before
 * `notice` says; then that is taken. */
void job_query_slurm_deadline(struct job *job, const struct notice *notice);

/* job_handover.c */
/* Whenever the standing stop may have changed; does nothing where it has not. */
void job_notify_next_attempt(struct job *job);
void job_stop_notifying_next_attempt(struct job *job);

/* job_flush.c */
void job_flush(struct job *job);
/* A snapshot failed: arms the next try, or returns false where there is none. */
bool job_retry_flush(struct job *job, enum err_kind kind);

#endif
