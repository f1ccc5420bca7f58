// clang-format off
/*
 * One job from restore to exit. The decisions are in core/ (PURE): job_step() takes an event and
 * says what is to be done. Here is what feeds it and what performs it: the parts post what happens,
 * runner.c takes one event after the other, and has a case for each effect. What is said and
 * told follows from that: reporting/ has a row for each sentence, and knows the run by values alone
 * (struct run_facts). No part is called from a callback of another.
 *
 * THE WALK: HOW A NOTICE BECOMES EXIT 75. Each leg begins where runner.c takes an event.
 *
 *  1  cloud/file_source.c (or aws.c, gcp.c ...), on its thread, sees the notice ->
 *     cloud/cloud_watch.c -> job_notices.c: job_add_notice() merges it with those that stand, logs it,
 *     and posts STOP_ANNOUNCED. A SIGTERM: job_on_signal() posts SIGNAL; the core says
 *     TAKE_FOR_NOTICE.
 *  2  STOP_ANNOUNCED -> core/stopping.c: live() asks the table of the job's life, which says
 *     request_at_notice(): the time is divided and the plan is made (planning/planning.c), and
 *     the job is asked, at once or after an upload.
 *     The cases of runner.c: HURRY_STORE, SET_COMMIT_DEADLINE, HOLD_SIGTERM, ASK,
 *     TELL_NEXT_ATTEMPT.
 *  3  ASK -> request/checkpoint_request.c finds the processes and signals them; runner.c
 *     posts SENDING before, and ASKED after it.
 *  4  The job writes. completion/tracker.c sees it through inotify and the shim; job_tracker.c
 *     posts SAVE_STARTED, and COMPLETE when the checkpoint is complete (COMPLETENESS.md).
 *  5  COMPLETE -> core/saving.c: on_complete() has the clients told, and the snapshot begun when
 *     it is due (planning/planning.c): TAKE_SNAPSHOT -> upload/snapshot_queue.c ->
 *     storage/snapshots/snapshot_save.c on its thread: opens all files, sends them, commits.
 *  6  When the directory has settled (TIMER_SETTLING), core/stopping.c tells the job to end:
 *     TERMINATE, RELEASE_SIGTERM -> process/child.c.
 *  7  SIGCHLD -> job_notices.c: reap_children() has its last files judged; their contents are
 *     checked on a thread, and job_post_child_exit() posts CHILD_EXITED then, or at the deadline
 *     -> core/durable.c: flush() waits for what is not durable yet.
 *  8  The commit: job_snapshots.c posts SNAPSHOT_DONE -> on_durable(), flush(): the table says
 *     OVER, END -> job_start.c: job_begin_shutdown() leaves no process behind, and the loop stops.
 *  9  job_start.c: job_run() -> finish() has scheduler/outcome.c say "preempted", 75,
 *     and reporting/end_report.c say it aloud.
 *
 * Every other story is the same with other events: core/core.h lists them, core/step.c is their
 * table. `reprieve run -v` logs each change of state.
 *
 * THE FILES. For other folders:
 *
 *	job.h			job_run(), and why a start would be refused
 *
 * Of this folder only. They drive the core:
 *
 *	runner.c		posts, steps, timers, what the parts say just now, and what the
 *				core says is done; asking the job; `reprieve checkpoint`,
 *				`reprieve status`; what is known, for reporting/ and
 *				telemetry/observers.c
 *
 * They post what happens, and do what is asked of their part:
 *
 *	job_start.c		may it start in this directory, and after the attempts before? Open,
 *				restore, launch (launch/launch.h: what is taken when); the outcome,
 *				the exit code, and who is told
 *	job_notices.c		signals and notice sources; the end of the child, and what still
 *				writes then
 *	job_tracker.c		what the job writes, and what killed supervisors have left unread
 *	job_gang.c		notices from, and for, the other members of a gang
 *	job_snapshots.c		the snapshot queue, retention
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
#include "gang/gang.h"
#include "launch/launch.h"
#include "options/job_config.h"
#include "planning/planning.h"
#include "process/process.h"
#include "reporting/reporting.h"
#include "request/request.h"
#include "restore/restore.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"
#include "upload/upload.h"
#include "workspace/workspace.h"

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
	struct gang_identity gang; /* this machine in the job's gang; 1 member: there is none */
	struct profile_choice profile;
	const char *store;         /* URL; NULL: no store is available */
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
	/* what a supervisor knew that was killed in the directory (job_tracker.c); NULL: nothing */
	json_t *left_known;
	struct notices notices;
	struct cloud_watch *watch;
	char cloud[16];   /* the notice source that is armed; "": none */
	char unsaid[480]; /* a source that is not; said when there is something to save */
	struct notice signal_notice; /* made from the newest signal */
	struct slurm_deadline slurm_deadline;
	pid_t slurm_script; /* slurm_job_script(): its death is a notice; 0: none */
	struct next_attempt next_attempt;
	struct {
		struct gang_feed feed; /* zeroed: there is no gang */
		struct gang_runs runs;
		bool has_told; /* of a notice here */
	} in_gang;
	struct child child;
	struct checkpoint_request ask;
	struct sigterm_hold sigterm_hold;
	struct snapshot_queue *snapshots;          /* NULL until an attempt is claimed */
	struct retention_worker *retention_worker; /* NULL until then, and with --keep-last 0 */
	json_t *snapshot_about;                    /* added to every manifest; NULL: nothing */
	struct timer sweep_timer; /* kills the remaining processes of a preempted job */
	struct child_environment environment;

	struct resume_request resume_request;
	struct resume_result resume;
	struct err resume_err;
	bool resume_failed;
	/* The start is refused with this exit code, before the restore; 0: it is not. */
	int refused;
	struct err refusal; /* for this reason */

	struct detached_job detached; /* after the main process has ended */

	/* ... and what it has started may still write: job_notices.c */
	struct {
		bool waits;     /* the end of the main process is not judged yet */
		bool told;      /* those have got a SIGTERM */
		bool writing;   /* when it was last looked at */
		bool said, cut; /* cut: the user waits no longer */
		bool lost;      /* a save of theirs was cut */
		unsigned named;
		int64_t since_ms; /* as of struct outlived_facts */
		struct timer look;
	} outlived;

	/* the child has exited, and its last files are being judged: job_notices.c */
	struct {
		bool judged_later;
		struct job_event event;
		struct timer limit;
	} exit;
	bool hung; /* a thread is left on a disk that hangs: nothing may be freed */

	/* what was said */
	struct reports reports;
	struct forget_policy retention; /* what goes; not with --keep-last 0 */
	bool reported_removal, retention_failed, said_no_room;
	struct termination_message message;
};

/*
 * Runs the whole life of the job: restore, launch, save, exit. The caller fills `options`,
 * `inherited`, `name`, `gang`, `profile` and the store's members of a zeroed struct. Blocks until
 * the end; returns the exit code.
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
/* Before anything is posted. */
void job_start_runner(struct job *job);
/* Takes all steps now. Not for those who perform an effect. */
void job_take_steps(struct job *job);
/* What the parts say just now. `about_stop`: also what takes a look at all processes. */
struct job_view job_look(const struct job *job, bool about_stop);
/* What is still posted, and what the model owns. */
void job_release_runner(struct job *job);
/* After the launch: how this job is asked. */
void job_prepare_requests(struct job *job);
/* The newest request was sent to `pid` as a SIGTERM, later than `since_ms`. Of one that the process
 * has got since then, that is not so: the time is taken before the signal is sent. */
bool job_has_sent_sigterm(const struct job *job, pid_t pid, int64_t since_ms);
void job_open_control(struct job *job);
void job_reply_to_client(const struct job_effect *effect, json_t *reply); /* borrows `reply` */
/* Gives the outcome to its askers. `last`: nobody can ask for it afterwards. */
void job_tell_outcome(struct job *job, const struct outcome *outcome, bool last);
/* The facts of the run, for the parts that tell of it. */
struct run_facts job_facts(const struct job *job, enum run_look look);
/* Event log in the store, metrics, webhook. */
int job_open_observers(struct job *job, struct err *err);

/* job_start.c */
/*
 * Stops the loop. A job that was told to end leaves no process behind, because a process that
 * keeps writing here would meet the next attempt: the loop stops when all are gone. Orphans of any
 * other job are left alone, as by any init.
 */
void job_begin_shutdown(struct job *job);
/* PURE, but for the environment (launch/launch.h). */
enum expectation job_expects_checkpoints(const struct job *job);
/* Claims an attempt for a job that runs already, on a worker, then posts CLAIMED. */
void job_claim_attempt_late(struct job *job);
/* Tells the next run who writes to the directory, if the supervisor alone is killed. */
void job_note_child(struct job *job);
/* Starts the tracker and the child, then posts LAUNCHED or START_FAILED. */
void job_launch_child(struct job *job);

/* PURE. The exit code where the store could not be used, and the job is not started: 78 if another
 * start would meet the same, else 70. */
int job_refusal_code(enum err_kind kind);

/* Why a start now would be refused, in the words of the log; NULL: it would not be, or the store
 * cannot be read. The caller frees. Blocks for the store. */
char *job_explain_restart_decision(const struct job *job, struct storage *storage);

/* job_notices.c */
/* Every signal that the supervisor receives. */
void job_on_signal(void *arg, const struct signalfd_siginfo *info);
/* -1 (ERR_INVALID) only for a list of sources or a deadline that cannot be parsed. */
int job_start_notice_watch(struct job *job, struct err *err);
/* Merges the notice, and posts what it changes. */
void job_add_notice(struct job *job, const struct notice *notice);
/* Was our parent the script that Slurm has started, and has it ended? */
bool job_slurm_script_ended(const struct job *job);
/* The signal that came is a stop notice. */
void job_add_signal_notice(struct job *job, const struct signalfd_siginfo *info);
/* The job has something to save: says which notice source is unavailable, if that was held back. */
void job_say_unsaid(struct job *job);
/* --acknowledge: after the last commit, lets the cloud proceed at once. Blocks for 2 s at most. */
void job_acknowledge_notice(struct job *job, const struct outcome *outcome);
/* The earliest deadline of the standing notices, on the monotonic clock; CLOCK_NEVER: none. */
int64_t job_deadline_ms(const struct job *job);
/* The termination message: why it is to end, or (with `outcome`) has ended. */
void job_tell_why(struct job *job, const struct outcome *outcome);

/* Posts the exit of the child, if that waits for the judgement of its last files. */
void job_post_child_exit(void *job);
/* Looks again whether a process still writes: by a timer, and whenever one has ended. */
void job_look_at_outlived(struct job *job);
/* Sends SIGTERM to all processes of the job but the main one and those that got one as a request.
 */
void job_terminate_rest(struct job *job);
/* Logs each process that is about to be killed while it writes a save. */
void job_name_writers(struct job *job);

/* job_gang.c */
/* Once the snapshot queue is there: what is told at another member is told here, and the members
 * save together. */
void job_start_gang_feed(struct job *job);
/* At the end: the others have begun the attempt, and the job was not started here. Blocks for some
 * seconds. */
void job_tell_gang_not_started(struct job *job);
/* The others are told of this one. */
void job_tell_gang(struct job *job, const struct notice *stop);
/* The last notice, `stop`, was withdrawn. True: the others have been told of it and end by it, so
 * that it stands here too. */
bool job_keep_told_notice(struct job *job, const struct notice *stop);
/* The others are asked for a checkpoint too. */
void job_share_request(struct job *job, uint64_t request);
/* Posts GANG_LEFT once no other member needs this one. */
void job_leave_gang(struct job *job);
/* A checkpoint is complete. */
void job_note_complete_in_gang(struct job *job, const struct latest_checkpoint *latest);
/* A process writes to a checkpoint; or (`anew`) runs another program now. */
void job_note_writer_in_gang(void *job, pid_t pid, bool anew);
/* A part of a round was given, or was not. */
void job_note_part_ended(struct job *job, const struct snapshot_outcome *outcome);

/* job_tracker.c */
void job_start_tracker(struct job *job);
/* Before the directory is locked. Blocks. */
void job_read_what_was_left(struct job *job);

/* job_snapshots.c */
/* Once an attempt is claimed. */
int job_start_snapshot_queue(struct job *job, struct err *err);
/* gang_feed_options.committed: with the part that this member has given of that checkpoint. */
void job_note_other_commit(void *arg, uint32_t round, uint64_t generation);
/* At the end, before it is said what is durable: what became of the last part of a gang's member.
 * Blocks for 2 s at most. */
void job_look_for_last_commit(struct job *job);
/* The tracker's callback: closed files of a checkpoint that is being written are sent early. */
bool job_on_files_closed(void *arg);

#endif
