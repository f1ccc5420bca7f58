/*
 * supervisor/restore/: everything that happens before the job starts. The order, as in resume.c:
 * wait for a previous attempt that still saves, apply the restart rules, lock the directory, claim
 * an attempt, then restore a snapshot or keep the files that are there.
 *
 * What ends a restore: storage_restore() makes the files durable in a staging directory;
 * workspace_install() puts it in place; then it is recorded what was restored; then job_start.c
 * posts EV_RESTORED. `reprieve restore` has an end of its own in cli/cmd_restore.c.
 *
 * For other folders, through this header alone; read resume.c first:
 *
 *	resume.c		resume_run(): all of the above, in one blocking call
 *	predecessor_wait.c	waits for a previous attempt that is preempted and still saves;
 *				tells the next one that this one does
 *	quarantine.c		moves torn files aside
 *	attempt_outcomes.c	reads how earlier attempts ended, and whether the last one lives;
 *				PURE: start, roll back one snapshot, or do not start
 *
 * Of this folder only:
 *
 *	start.h			a start on its way: place_checkpoint.c restores the snapshot or
 *				keeps the local files; start_restore.c restores the snapshot, or
 *				what is whole of it, and puts files under fixed names back that were
 *				moved aside; resume_gang.c is the same for a member of a gang
 *	reconcile.h		PURE: restore the snapshot, or keep the local files; does what was
 *				under way stay
 */
#ifndef RESTORE_H
#define RESTORE_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/workers.h"
#include "frameworks/frameworks.h"
#include "gang/gang.h"
#include "options/job_config.h"
#include "planning/planning.h"
#include "reconcile.h"
#include "storage/storage.h"
#include "workspace/workspace.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- attempt_outcomes.c --- */

/* Reads from the store how earlier attempts of the job ended, and decides about the next one.
 * Blocks; logs nothing. */

/*
 * PURE. What earlier attempts of a job mean for the next one: another start would not help, or the
 * checkpoint that it would resume from makes it crash. An attempt that ended with 0 never stops a
 * later start, because a job that has finished finds that out by itself.
 */

/* A job that crashes later than this after its launch has resumed from its checkpoint. */
#define RESTART_EARLY_CRASH_MS (10 * 60 * 1000)

/* One earlier attempt. A fact that its records do not have is false, or none. */
struct attempt_outcome {
	uint32_t number;
	struct snapshot_id start; /* what it resumed from */
	/* the first suspect snapshot, if this attempt or an earlier one was rolled back, and
	 * nothing was saved since */
	struct snapshot_id rolled_back_from;
	int64_t ran_ms;            /* from the launch to the job's end; -1: unknown */
	uint32_t snapshots;        /* durable ones that it added, and that are still there */
	uint32_t newest;           /* the sequence of the newest of them; 0: there is none */
	struct snapshot_id wanted; /* by --restore ID */
	bool finished;             /* it ended with 0 */
	bool crashed;              /* it ended by itself, with an error */
	bool checkpoint_complete;  /* it saved a complete checkpoint, durable or not */
	bool same_command;
	bool had_no_effect; /* a rollback has not helped, and nothing was saved since */
};

struct restart_rules {
	uint32_t max_no_progress; /* 0: no limit */
	bool may_roll_back;       /* the user has not chosen what to start from */
	/* What the user has chosen. It counts once: a scheduler starts the same command again, and
	 * what it has saved since is not to be trained again. */
	struct snapshot_id wanted;
	/* A member of a gang behind the first one, whose command is the one that is recorded: it
	 * decides as that one does. */
	bool any_command;
};

enum restart_action {
	RESTART_PROCEED,
	RESTART_NO_PROGRESS, /* not started: max_no_progress */
	RESTART_ROLL_BACK,   /* start from the snapshot before `snapshot`, which is suspect */
	RESTART_REVERT,      /* no older one has helped: start from `snapshot` again */
};

struct restart_decision {
	enum restart_action action;
	struct snapshot_id snapshot;
	/* for the new attempt's record, as is had_no_effect */
	struct snapshot_id rolled_back_from;
	/* how many of the newest attempts in a row saved nothing beyond the best there ever was */
	uint32_t without_progress;
	bool had_no_effect;
	/* rules->wanted has counted: the newest is taken */
	bool had_wanted;
};

/* `items`: the newest first. Without items, the decision is to start. */
struct restart_decision restart_rules_decide(const struct attempt_outcome *items, size_t count,
					     const struct restart_rules *rules);

#define RUN_IDENTITY_TEXT 20

struct attempt_outcomes {
	struct restart_decision decision;
	struct interruption_history past;
	uint32_t newest;          /* number of the newest attempt; 0: there is none */
	struct snapshot_id saved; /* the newest one that an attempt has added; may be none */
	/* of the newest attempt, for people: "failed with exit 1", "left no end record" */
	char outcome[48];
	/* the same for all attempts of a job, until the user starts it from scratch */
	char run[RUN_IDENTITY_TEXT];
	/* The newest attempt was begun by a supervisor, and has left no end record: it runs, or its
	 * machine is gone. */
	struct open_attempt {
		bool is_open;
		char host[65], created[32]; /* "": unknown */
		int supervisor_pid;
		char directory[256]; /* of its checkpoints; "": unknown */
	} open;
};

/* `about` will be the new attempt's record: facts that are carried over are added to it. `member`:
 * of a gang. -1: the store cannot be read. */
int attempt_outcomes_read(struct storage *storage, const struct job_config *options,
			  uint32_t member, json_t *about, struct attempt_outcomes *attempt_outcomes,
			  struct cancel *cancel, struct err *err);

/* PURE. Why this job is not started again, in the words of the log; NULL: it is. The caller frees.
 */
char *attempt_outcomes_refusal(const struct attempt_outcomes *attempt_outcomes, const char *job);

/* Returns the refusal of a start whose newest attempt still runs on this machine; NULL: it does
 * not. The caller frees. */
char *attempt_outcomes_living(const struct attempt_outcomes *attempt_outcomes, const char *job);

/* Does the supervisor of an attempt without an end record still live? The attempt's records cannot
 * tell a machine that has vanished from one that still runs. The sessions of this machine can, for
 * the supervisors on it. */

enum attempt_life {
	ATTEMPT_MAY_LIVE,
	ATTEMPT_LIVES_HERE, /* for certain */
	ATTEMPT_IS_GONE,    /* it was begun here, and there is no such process */
};

/* Reads the sessions of this machine; does not block for the store. `job`: the name of the job. */
enum attempt_life attempt_life_of(const struct open_attempt *open, const char *job);

/* --- predecessor_wait.c --- */

/*
 * Waits for the previous attempt while it is preempted and still saves. The previous one announces
 * in the store until when it may commit, and repeats that as a heartbeat.
 */

/* --- PURE: how long --- */

/* The longest notice of any cloud (Azure, before maintenance). An announcement of more comes from a
 * scheduler, or is wrong. */
#define PREDECESSOR_WAIT_MOST_MS (15 * 60 * 1000)
/* An end record that was put at the last moment may arrive this much later. */
#define PREDECESSOR_WAIT_MARGIN_MS 2000

/* An attempt that saves repeats its announcement. One that is silent for longer than the timeout
 * has lost its machine. */
#define PREDECESSOR_HEARTBEAT_MS 10000
#define PREDECESSOR_HEARTBEAT_TIMEOUT_MS 25000

/*
 * Milliseconds until the announced time is over. 0: do not wait, because the previous attempt has
 * ended, has announced nothing, has withdrawn its announcement, or its time is over: a machine that
 * is gone withdraws nothing.
 */
int64_t predecessor_left_ms(const struct drain_state *draining);
/* Milliseconds until the next heartbeat is overdue, or the announced time is over. */
int64_t predecessor_wait_ms(const struct drain_state *draining);

struct predecessor {
	uint32_t attempt; /* 0: there was no wait */
	char host[65];
	bool ended; /* it left an end record; else its time was over, or it withdrew */
	int64_t waited_ms;
};

/*
 * Call before the claim, which would keep the previous attempt from committing. Blocks; logs for
 * whom it waits and how long at most. -1: the store cannot be read at first (later, the wait goes
 * on), or ERR_CANCELLED.
 */
int predecessor_wait(struct storage *storage, struct predecessor *predecessor,
		     struct cancel *cancel, struct err *err);

/*
 * At a notice, writes into the store until when this attempt may still commit. A next attempt that
 * starts early then waits instead of taking over (above). It has a thread of its own,
 * so that it waits for no upload and no webhook, and they do not wait for it.
 */

/* Zeroed: nothing was told. All members are this file's own. */
struct next_attempt {
	struct loop *loop;
	struct storage *storage;
	uint32_t attempt;        /* this one */
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
 * Tells it that `attempt` may commit until then, in ms of CLOCK_MONOTONIC; 0: that it is not
 * preempted after all. Repeats it while the first holds. A store that fails is only said in the
 * debug log. Does not block; loop and storage are borrowed until next_attempt_release().
 */
void next_attempt_tell(struct next_attempt *next_attempt, struct loop *loop,
		       struct storage *storage, uint32_t attempt, int64_t until_ms);
/* Nothing more is told. Blocks for a message that is cancelled. */
void next_attempt_release(struct next_attempt *next_attempt);

/* --- quarantine.c --- */

/*
 * Before the job starts, moves torn files out of the checkpoint directory, so that a script which
 * takes "the newest checkpoint" takes a complete one. Only what is known to be torn is moved: by
 * its format, by a marker that is missing, or because its writer ended while it was being written
 * (reconcile.h). They are moved to DIR.reprieve/quarantine,
 * from where what the save under way at the end had written is removed when the next checkpoint is
 * durable. What else is torn, or had to make room for a snapshot, may be of the user's own, and is
 * never removed: a warning says when it has grown large.
 * The functions that do I/O block.
 */

/* PURE. Bytes: `held` in the quarantine, `own` in the checkpoint directory, `available` on their
 * file system. */
bool quarantine_is_large(uint64_t held, uint64_t own, uint64_t available);

/* Removes what is torn where the disk has no room for another checkpoint beside it, and logs one
 * line if the rest is large, with the command that removes it. */
void quarantine_make_room(struct workspace *workspace);

/* --- resume.c --- */

/*
 * Before the job starts: opens the store, claims an attempt, and puts the newest good checkpoint
 * into the checkpoint directory, unless it is there already. One blocking call, for a worker. It
 * logs what it decides.
 */

struct event_log;

struct resume_request {
	const struct job_config *options; /* borrowed, as all of this */
	const char *store;                /* URL; options->store, or the embedded one */
	const char *job;
	bool named;    /* by the user or a scheduler; false: after its directory and command */
	json_t *about; /* becomes the attempt's record; facts are added to it */
	struct workspace *workspace;
	const struct profile *profile; /* NULL: none was recognised */
	/* if the store does not know this job yet, do nothing and write nothing */
	bool if_known;
	bool says_place;           /* ... but say where its checkpoints would be kept */
	bool claim_only;           /* the job is running: do not touch its directory */
	struct gang_identity gang; /* one of several machines: all claim and restore together */
	/* The command or the checkpoint directory is refused, for this reason: the other members
	 * are told, and nothing is claimed. "": neither is. */
	char refused[160];
};

enum resume_kind {
	RESUME_FRESH,
	RESUME_KEPT,
	RESUME_RESTORED
};

struct resume_result {
	struct predecessor predecessor;
	/* if it decides that the job is not started, nothing was claimed */
	struct attempt_outcomes attempt_outcomes;
	/* the caller owns storage and attempt, even if the call has failed */
	struct storage *storage;
	struct attempt attempt; /* number 0: not claimed */
	enum resume_kind kind;
	/* RESTORED and KEPT: the job resumes from it; none: local files that no snapshot has */
	struct snapshot_id from;
	int64_t step;        /* of that checkpoint; -1: unknown */
	bool any_checkpoint; /* it has one, and not only running files */
	bool in_use;         /* failed, because another run uses the checkpoint directory */
	/* failed, because the attempt before this one lives on this machine */
	bool runs_here;
	/* failed, because the directory, or both places of our folder, are another user's */
	bool directory_refused;
	/* The store is full, or does not answer, for this reason: nothing is claimed, and the job
	 * starts all the same from what is there. Another call with `claim_only` claims, once it
	 * can. */
	bool no_room, no_answer;
	struct err full;
	struct snapshot_id here; /* no_answer: what the record says that lies here; may be none */
	/* failed, because there are snapshots, and not one of them can be resumed from */
	bool all_damaged;
	/* failed, because the other members of the gang have not come in time */
	bool waited_in_vain;
	bool newer_than_store; /* the local checkpoint has to be uploaded at once */
	struct restore_result restored;
	int64_t milliseconds; /* time of the restore */
	/* what was learned of this job's checkpoints (completion/tracker.h), from the snapshot that
	 * the attempt starts from; NULL: nothing; owned */
	json_t *signatures;
	/* what lies in the directory from before; empty if all is restored; owned */
	struct path_list existing;
	json_t *hosts; /* of all members of the gang, in their order; owned */
	/* So many snapshots in a row, from `from` back, have no checkpoint of this member. */
	unsigned without;
	/* Of the members that have this checkpoint directory one restores and saves it. If it is
	 * this one: which others it does so for, in the order of the members; NULL: none; owned. */
	bool kept_by_other;
	uint32_t keeper;
	bool *sharers;
	/* damaged snapshots that were skipped while claiming and restoring; owned */
	struct damaged_snapshot *passed_over;
	size_t passed_over_count;
};

/* -1 with ERR_INVALID, ERR_DENIED, ERR_NOT_FOUND or ERR_VERSION: the configuration is wrong. With
 * any other kind, another start may succeed. `result` must be zeroed or released. */
int resume_run(const struct resume_request *request, struct resume_result *result,
	       struct cancel *cancel, struct err *err);
/* May the same call succeed later, because a store that could not be reached answers then? */
bool resume_may_answer_later(const struct err *err);
/* Logs what earlier attempts mean for this one. True: the job is not started. */
bool resume_log_decision(const struct resume_request *request, const struct resume_result *result,
			 struct event_log *events);
/* ": ...": what to do where the directory is in use (resume_result). */
const char *resume_way_out_of_use(const struct resume_request *request);
/* Logs what was claimed and restored, if anything was: in one line where the job starts from. */
void resume_log(const struct resume_request *request, const struct resume_result *result,
		struct event_log *events);
void resume_result_release(struct resume_result *result);

#endif
