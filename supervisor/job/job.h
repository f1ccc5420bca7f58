// clang-format off
/*
 * One job from restore to exit. Owns all other parts, turns what they report into the events of a
 * small table (lifecycle.h) and performs the table's actions. Read lifecycle.c first: it is one
 * page, and most legs of the walk below end in one of its rows.
 *
 * THE WALK: HOW A NOTICE BECOMES EXIT 75. "->" is a call. "~>" is a hand-over to the loop or to
 * another thread: a debugger does not show who came before. Files without a folder are in this one.
 *
 *  1  The notice is seen. A source's thread (cloud/file_source.c, cloud/aws.c, ...) ->
 *     watcher_notice() (cloud/watcher.c) -> post_notice() (job_notices.c) ~> the loop:
 *     deliver_notice() -> job_add_notice(). A SIGTERM arrives on the loop: job_on_signal() ->
 *     handle_stop_signal() -> job_add_notice().
 *  2  It is merged with the standing notices. notices_add() (cloud/notice.c) says whether the
 *     deadline is new. If so: announce_notice() logs it and writes the notice file, job_tell_why()
 *     writes the termination message, job_post_event(EV_NOTICE), job_notify_next_attempt()
 *     (job_handover.c).
 *  3  The table decides. job_post_event() (job.c) -> lifecycle_step(): in RUNNING, NOTICE gives the
 *     action REQUEST_CHECKPOINT and the state CHECKPOINTING -> perform_action() -> plan_deadline().
 *  4  The time is divided. job_deadline_ms() (job_forecast.c) -> deadline_budget_split()
 *     (planning/) -> job_update_plan() (job_forecast.c) -> preemption_forecast_choose()
 *     (planning/), logged -> snapshot_queue_set_deadline().
 *  5  Ask now, wait for a save, or finish an upload first? job_request_at_notice() (job.c) ->
 *     job_upload_before_asking() (job_forecast.c), or job_defer_sigterm() (job_last_save.c), or
 *     job_request_checkpoint() (job_requests.c) -> request_table_step(): who is answered by the
 *     next checkpoint.
 *  6  The job is asked. checkpoint_request_start() (request/checkpoint_request.c) ->
 *     select_ranks() -> process_tree_read() (process/), rank_selection.c ->
 *     on_request_sending() (job_requests.c): from here on, a checkpoint may be the answer ->
 *     kill(2) -> on_request_sent().
 *  7  The progress of each rank is observed every 250 ms until the request ends:
 *     job_rank_progress.c.
 *  8  arm_budget() (job.c) arms the timer that ends the wait: on_budget_spent() ->
 *     EV_BUDGET_SPENT.
 *  9  The job writes. inotify (monitor/inotify_watch.c) and the shim (monitor/shim_channel.c) ~>
 *     the loop: handle_directory_event(), handle_shim_message() (completion/tracker.c) ->
 *     detector_kernel.c, detector_shim.c -> detector_touch(). The first file opened for writing
 *     -> job_on_save_started() (job_requests.c).
 * 10  Is it complete? A timer -> decide_completeness() (completion/tracker.c) ->
 *     detector_next_decided() -> verdict_of() (completion/verdict.c).
 * 11  The files are read and checked. content_check_worker.c, for many files on a thread:
 *     content_check.c -> detector_note_findings() (all in completion/).
 * 12  It is complete. apply_verdict() (completion/tracker.c) -> job_on_checkpoint_complete()
 *     (job_requests.c), which begins legs 13 and 16.
 * 13  The snapshot is begun when it is due. job_queue_snapshot() -> job_pace_snapshots()
 *     (job_snapshots.c) -> snapshot_pacing_wait_ms() (planning/) -> snapshot_queue_submit()
 *     (upload/snapshot_queue.c) -> tracker_plan(): what it may hold ~> a worker:
 *     take_snapshot_worker().
 * 14  storage_save() (storage/snapshots/snapshot_save.c) opens all files, and then asks the loop
 *     whether the plan is still good: confirm_snapshot() (job_snapshots.c) -> tracker_confirm().
 * 15  The bytes are sent (storage/transfer/: file_reader.c, packer.c, pack_uploader.c), and
 *     commit_manifest() writes the manifest. From then on the checkpoint is durable.
 * 16  Meanwhile, on the loop, the job is told to end once its directory has settled.
 *     job_step_requests() (job_requests.c) answers the clients; job_settle() (job_last_save.c) ->
 *     job_post_event(EV_CHECKPOINT_COMPLETE): the action STOP_CHILD, the state STOPPING ->
 *     stop_child() (job.c) -> child_forward_signal(SIGTERM) (process/child.c), sigterm_hold_end()
 *     (request/).
 * 17  The job exits. SIGCHLD: job_on_signal() -> handle_signal() -> child_reap() ->
 *     on_child_exited() (job_notices.c) -> tracker_job_ended() -> EV_CHILD_EXITED: FLUSH_SNAPSHOTS,
 *     UPLOADING -> job_flush() (job_flush.c).
 * 18  The commit is reported. The worker ~> the loop: on_snapshot_done() (upload/snapshot_queue.c)
 *     -> on_snapshot_finished() -> on_snapshot_durable() (job_snapshots.c) -> job_flush() ->
 *     EV_UPLOADED: OVER -> job_begin_shutdown() (job_end.c) -> kill_tree() (process/) ->
 *     loop_stop().
 * 19  loop_run() returns to job_run() (job.c) -> job_finish() (job_end.c): outcome_of()
 *     (scheduler/outcome.c) gives "preempted", exit_policy_code() gives 75. The outcome is logged
 *     and recorded, slurm_requeue_run() (scheduler/) requeues a job of Slurm's -> cmd_run()
 *     (cli/) -> main().
 *
 * THE MODULES. For other folders:
 *
 *	job.h			job_run(), and why a start would be refused
 *	job_config.h		what the user chose; the command line fills it
 *
 * Of this folder only: the table, and the method files of struct job, by subject:
 *
 *	lifecycle.h		PURE: (state, event) -> (action, next state)
 *	stop_wish.h		PURE: which SIGTERMs are one wish that the job end
 *	request_table.h		PURE: who asked for a checkpoint, and what each of them is told
 *	job.c			drives the table: whether and how the job is asked at a notice, timers
 *	job_start.c		up to the launch: open, restore, start the child
 *	job_directory.c		may the job use this checkpoint directory?
 *	job_precedent.c		what earlier attempts mean for this one
 *	job_save_place.c	says when the job saves elsewhere; save_place.h decides, PURE
 *	job_detached.c		what a command that detaches leaves behind becomes the job
 *	child_environment.c	the variables that the job gets: REPRIEVE_*, profile, tracker
 *	job_notices.c		signals and notice sources -> notices; the exit of the child
 *	job_handover.c		asks the next attempt, through the store, to wait
 *	job_slurm_deadline.c	under Slurm: asks scontrol for the deadline
 *	job_forecast.c		the deadline in force; what a preemption would cost; the plan at a
 *				notice
 *	job_requests.c		drives the table of requests; how the job is asked; the tracker's
 *				callbacks
 *	job_clients.c		the control socket: `reprieve checkpoint`, `reprieve status`
 *	job_interval.c		requests at intervals (--every)
 *	job_last_save.c		delays a SIGTERM until the save under way, or the next, is complete
 *	job_rank_progress.c	the progress of a request, rank by rank
 *	job_snapshots.c		uploads, retention
 *	job_status.c		what `reprieve status` tells
 *	job_flush.c		after the job's exit: waits for the store, up to a limit
 *	job_end.c		outcome, exit code, last log lines, and who is told
 */
// clang-format on
#ifndef JOB_H
#define JOB_H

#include "base/cancel.h"
#include "base/loop.h"
#include "base/workers.h"
#include "cloud/cloud.h"
#include "completion/completion.h"
#include "control/control.h"
#include "core/core.h"
#include "frameworks/frameworks.h"
#include "job_config.h"
#include "planning/planning.h"
#include "process/process.h"
#include "request/request.h"
#include "restore/restore.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"
#include "upload/upload.h"
#include "workspace/workspace.h"

#define RESUME_POINT_TEXT OBSERVED_DURABLE_TEXT

/* scontrol is asked for the deadline after a signal: job_slurm_deadline.c. */
struct slurm_deadline {
	struct workers *workers; /* NULL: never asked yet */
	bool asking;             /* while true, the worker owns the members below */
	struct notice notice;    /* made from the signal */
	struct storage *storage; /* to tell the other tasks; NULL: not open yet */
	enum slurm_query_result asked;
	struct slurm_job answer;
};

/* At a notice, the next attempt is asked to wait for this one: job_handover.c. */
struct next_attempt {
	struct workers *workers; /* NULL: no message was needed yet */
	struct cancel cancel;
	/* this attempt may commit until then; 0: it is not preempted. And as the last message said
	 */
	int64_t until_ms, told_ms;
	uint32_t messages;
	bool sending, failed;
	struct err err;
	struct timer again; /* the heartbeat, while this attempt saves */
	bool due;           /* for a heartbeat */
};

/*
 * THE START. What the run has to itself (the lock on the checkpoint directory, the job's name in
 * the store, an attempt) it takes before the command starts if checkpoints are expected: an option
 * says so (--store, --job, --checkpoint-dir, --checkpoint-signal, --restore ...), the command is
 * recognised as training, or the directory has files already, or the store knows the job. Any other
 * command may be `make` or `ls`: it is started at once, nothing is made on the disk, and all of
 * this is taken when the command first writes below the checkpoint directory, before that
 * checkpoint is complete. Of two runs in one directory the later one is not started (exit 70); or,
 * if it has started already, it is told at its first write that nothing of it will be saved.
 */
enum expectation {
	EXPECT_NOTHING,    /* as far as can be seen, the command may be anything */
	EXPECT_BY_COMMAND, /* it was recognised as training */
	EXPECT_BY_OPTION,
};

/* One event that waits for its step, with what only the shell needs of it. */
struct posted_event {
	struct posted_event *next;
	struct job_event event;
	json_t *reply; /* for the clients that this answers; owned; may be NULL */
	char *text;    /* a path, or a reason; owned; may be NULL */
	struct snapshot_outcome *snapshot; /* owned; may be NULL */
	struct signalfd_siginfo signal;
};

/* runner.c */
struct runner {
	struct posted_event *first, **last;
	struct timer steps; /* armed while an event waits */
	struct timer due;   /* the soonest of the model's timers */
	struct job_effects effects;
};

/* There is one: its members are ordered by subject. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct job {
	const struct job_config *options;
	const struct signals_inherited *inherited;
	struct job_name name;
	struct profile_choice profile;
	const char *store;         /* URL; NULL: no store is available */
	struct err no_store;       /* why the store is unavailable; cleared once logged */
	bool store_is_needed;      /* the user chose it: without it the job is not started */
	enum expectation expected; /* checkpoints, when the job starts */

	/* what is decided */
	struct job_rules rules;
	struct job_model model;
	struct runner runner;

	/* the parts */
	struct loop loop;
	struct signals signals;
	sigset_t early_signals; /* received during the restore; sent to the job after its launch */
	struct workers *workers;
	struct cancel cancel; /* of the restore and of the claim */
	struct session session;
	struct observers observers;
	struct control_socket *control;
	struct event_log events;
	struct workspace workspace;
	struct tracker *tracker;
	struct notices notices;
	struct cloud_watch *watch;
	char cloud[16]; /* the notice source that is armed; "": none */
	struct slurm_deadline slurm_deadline;
	struct next_attempt next_attempt;
	struct child child;
	struct checkpoint_request ask;
	struct sigterm_hold sigterm_hold;
	struct rank_progress rank_progress; /* of the newest request */
	struct timer rank_progress_timer;
	struct snapshot_queue *snapshots;          /* NULL until an attempt is claimed */
	struct retention_worker *retention_worker; /* NULL until then, and without --keep-* */
	json_t *snapshot_about;                    /* added to every manifest; NULL: nothing */
	struct timer sweep_timer; /* kills the remaining processes of a preempted job */
	char **environment;       /* "NAME=value", added for the job; NULL-terminated; owned */

	struct resume_request resume_request;
	struct resume_result resume;
	struct err resume_err;
	bool resume_failed;
	bool done; /* not started: an earlier attempt has finished it */

	struct {
		char *elsewhere; /* the first file that was saved outside the directory; owned */
		bool saved_here; /* the checkpoint directory was written to */
		bool said_elsewhere, said_nowhere;
		struct timer timer;
	} save_place;
	struct {
		int64_t since_ms;    /* when `child` became another process; 0: it has not */
		uint64_t left_until; /* see struct detachment; 0: nothing has detached */
		int status;          /* of the first that failed, as waitpid() gave it */
	} detached;

	/* what was said */
	bool reported_removal, reported_skipped_files;
	struct path_list reported_patterns; /* --exclude and --running that took a file */
	bool retention_failed;              /* logged once */
	bool ours_failed; /* any failure of ours, which --strict turns into an error */
	struct termination_message message;
};

/*
 * Runs the whole life of the job: restore, launch, save, exit. The caller fills `options`,
 * `inherited`, `name`, `profile` and the store's members of a zeroed struct. Blocks until the end;
 * returns the exit code.
 */
int job_run(struct job *job);

/* --- between the files of this folder; nothing blocks unless it says so --- */

/* runner.c */
/* Whatever happens is posted: its step is taken by the loop, soon, in the order of the posts. */
void job_post(struct job *job, struct job_event event);
/* The same, with what is handed to those who perform its effects. Takes ownership. */
void job_post_with(struct job *job, struct job_event event, char *text, json_t *reply);
void job_post_snapshot(struct job *job, const struct snapshot_outcome *outcome, json_t *reply);
void job_post_signal(struct job *job, struct job_event event, const struct signalfd_siginfo *info);
/* Takes all steps now. Not for those who perform an effect. */
void job_take_steps(struct job *job);
/* `client` has hung up: nothing is sent to it any more, from now on. */
void job_forget_client(struct job *job, void *client);
/* What the parts say just now. `about_stop`: also what takes a look at all processes. */
struct job_view job_look(const struct job *job, bool about_stop);
/* Logs a failure of ours, which --strict turns into an error. */
void job_report_failure(struct job *job, const char *what, const struct err *err);
/* The rules, from the options and the profile. */
struct job_rules job_rules_from(const struct job *job);

/* perform.c */
void job_perform(struct job *job, const struct job_effect *effect,
		 const struct posted_event *posted);

/* say.c */
void job_say(struct job *job, enum job_sentence sentence, const struct posted_event *posted);
/* "a preemption now would lose 14 min"; returns `buffer`. */
const char *job_forecast_loss(const struct job *job, char *buffer, size_t capacity);

/* job_end.c */
/*
 * Stops the loop. A job that was told to end leaves no process behind, because a process that
 * keeps writing here would meet the next attempt: the loop stops when all are gone. Orphans of any
 * other job are left alone, as by any init.
 */
void job_begin_shutdown(struct job *job);
/*
 * After the loop: decides, logs and records the outcome; returns the exit code. Blocks for a
 * cancelled snapshot, and for each receiver of the outcome up to its own time limit.
 */
int job_finish(struct job *job);
/* At the notice, on a worker: slurm_task_barrier_join(). */
void job_join_slurm_barrier(struct storage *storage);

/* job_directory.c */
/* 0, or the exit code with which the job is not started in this directory; the reason is logged. */
int job_check_directory(struct job *job);

/* job_start.c */
/* -1: the supervisor cannot work at all. What it can do without is only reported. */
int job_open(struct job *job, struct err *err);
/* Restores on a worker, then posts RESTORED or RESTORE_FAILED. */
void job_begin_resume(struct job *job);
/* Claims an attempt for a job that runs already, on a worker, then posts CLAIMED. */
void job_claim_attempt_late(struct job *job);
/* Tells the next run who writes to the directory, if the supervisor alone is killed. */
void job_write_child_to_lock(const struct job *job);
/* Starts the tracker and the child, then posts LAUNCHED or LAUNCH_FAILED. */
void job_launch_child(struct job *job);
void job_close(struct job *job);

/* child_environment.c */
/* REPRIEVE_*, and the variables of profile and identity. Needs to know if there is a tracker. */
void child_environment_build(struct job *job);
/* Preloads the shim. On -1 the job can run without it. */
int child_environment_add_shim(struct job *job, struct err *err);
void child_environment_free(struct job *job);

/* job_precedent.c */
/* Logs what earlier attempts mean for this one. True: the job is not started. */
bool job_apply_restart_rules(struct job *job, int *code);
struct restart_rules job_restart_rules(const struct job *job);
/* Why a start now would be refused, in the words of the log; NULL: it would not be, or the store
 * cannot be read. The caller frees. Blocks for the store. */
char *job_explain_restart_decision(const struct job *job, struct storage *storage);
/* The caller owns both. The command is redacted. */
json_t *job_command_json(const struct job *job);
json_t *job_end_facts(const struct job *job, const struct outcome *outcome);

/* job_notices.c */
/* Every signal that the supervisor receives. */
void job_on_signal(void *arg, const struct signalfd_siginfo *info);
/* -1 (ERR_INVALID) only for a list of sources or a deadline that cannot be parsed. */
int job_start_notice_watch(struct job *job, struct err *err);
/* Merges the notice, and posts what it changes. */
void job_add_notice(struct job *job, const struct notice *notice);
/* The signal that came is a stop notice. */
void job_add_signal_notice(struct job *job, const struct signalfd_siginfo *info);
/* --acknowledge: after the last commit, lets the cloud proceed at once. Blocks for 2 s at most. */
void job_acknowledge_notice(struct job *job, const struct outcome *outcome);
/* The earliest deadline of the standing notices, on the monotonic clock; CLOCK_NEVER: none. */
int64_t job_deadline_ms(const struct job *job);
/* For `reprieve status`: the sources; the standing notice (NULL: none). The caller owns them. */
json_t *job_sources_json(const struct job *job);
json_t *job_notice_json(const struct job *job);
/* The termination message: why it is to end, or (with `outcome`) has ended. */
void job_tell_why(struct job *job, const struct outcome *outcome);

/* job_requests.c */
/* After the launch: how this job is asked. */
void job_prepare_requests(struct job *job);
/* Lowers the flag that the job polls. */
void job_end_flag(struct job *job, bool answered);
/* The newest request reached `pid` as a SIGTERM, later than `since_ms`. */
bool job_has_sent_sigterm(const struct job *job, pid_t pid, int64_t since_ms);

/* job_tracker.c */
void job_start_tracker(struct job *job);
/* The newest step that the job has reported; -1: none. */
int64_t job_reported_step(const struct job *job);

/* job_clients.c */
void job_open_control(struct job *job);
/* Sends news of the asking to all clients whose request it serves. Takes ownership. */
void job_tell_clients(struct job *job, json_t *reply);
json_t *job_failure_reply(const char *why);                               /* owned by the caller */
void job_reply_to_client(const struct job_effect *effect, json_t *reply); /* borrows `reply` */
void job_refuse_client(const struct job_effect *effect);

/* job_save_place.c */
void job_expect_save(struct job *job); /* after the launch */
/* The tracker's callback: tracker.h. */
void job_on_saved_elsewhere(void *arg, const char *path);
/* Something was written to this path in the directory. False: by a run that the command has
 * started. */
bool job_note_write(struct job *job, const char *path);
/* At the end. `nothing_is_said`: that nothing was written has been logged. */
void job_say_where_it_saved(struct job *job, bool nothing_is_said);

/* job_detached.c */
/* The process in job->child has ended. True: another one has taken its place, and the job goes on.
 * Reads /proc. */
bool job_adopt_detached(struct job *job);

/* job_rank_progress.c */
void job_begin_rank_progress(struct job *job);
void job_add_rank_progress(struct job *job, const struct rank *ranks, size_t count,
			   size_t expected);
/* Observes once more, then stops. The result stays readable. */
void job_end_rank_progress(struct job *job);
json_t *job_rank_progress_json(const struct job *job); /* owned by the caller; NULL: none asked */

/* job_snapshots.c */
/* Once an attempt is claimed. */
int job_start_snapshot_queue(struct job *job, struct err *err);
/* The tracker's callback: closed files of a checkpoint that is being written are sent early. */
bool job_on_files_closed(void *arg);

/* job_status.c */
/* Event log in the store, metrics, webhook. */
int job_open_observers(struct job *job, struct err *err);
json_t *job_status_json(const struct job *job); /* owned by the caller */
/* "3-12, step 1200": what a start now would resume from; "": nothing. Returns `text`. */
const char *job_format_resume_point(const struct job *job, char text[RESUME_POINT_TEXT]);

/* job_slurm_deadline.c */
/* After a signal from Slurm: asks scontrol on a worker, and adds a notice if the job ends before
 * `notice` says. */
void job_query_slurm_deadline(struct job *job, const struct notice *notice);

/* job_handover.c */
/* Until when this attempt may commit (monotonic); 0: it is not preempted. */
void job_notify_next_attempt(struct job *job, int64_t until_ms);
void job_stop_notifying_next_attempt(struct job *job);

#endif
