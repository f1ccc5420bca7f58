/* Reads from the store how earlier attempts of the job ended, and decides about the next one.
 * Blocks; logs nothing. */
#ifndef ATTEMPT_OUTCOMES_H
#define ATTEMPT_OUTCOMES_H

#include "base/cancel.h"
#include "base/err.h"
#include "planning/planning.h"
#include "storage/storage.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	bool afresh; /* the user wants to start from scratch */
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

/* The store has no room to record this attempt: under a limit, it does not start behind one that
 * made no progress, because nobody could count those that follow. */
bool restart_rules_end_unrecorded(const struct restart_decision *decision,
				  const struct restart_rules *rules);

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

/* `about` will be the new attempt's record: facts that are carried over are added to it. -1: the
 * store cannot be read. */
int attempt_outcomes_read(struct storage *storage, const struct restart_rules *rules, json_t *about,
			  struct attempt_outcomes *attempt_outcomes, struct cancel *cancel,
			  struct err *err);

/* PURE. Why this job is not started again, in the words of the log; NULL: it is. The caller frees.
 */
char *attempt_outcomes_refusal(const struct attempt_outcomes *attempt_outcomes, const char *job);

/* PURE. Whom this start takes over from: of an attempt that `runs_here` for certain, or that may
 * still run elsewhere; NULL: from nobody. The caller frees. */
char *attempt_outcomes_takeover(const struct attempt_outcomes *attempt_outcomes, const char *job,
				bool runs_here);

/* PURE. Returns the refusal of a start whose newest attempt still runs on this machine. The caller
 * frees. */
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

#endif
