/*
 * PURE. What earlier attempts of a job mean for the next one: the job has finished, another start
 * would not help, or the checkpoint that it would resume from makes it crash.
 */
#ifndef RESTART_RULES_H
#define RESTART_RULES_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job that crashes later than this after its launch has resumed from its checkpoint. */
#define RESTART_EARLY_CRASH_MS (10 * 60 * 1000)

/* One earlier attempt. A fact that its records do not have is false, or none. */
struct attempt_outcome {
	struct snapshot_id start; /* what it resumed from */
	/* the suspect snapshot, if this attempt or an earlier one was rolled back, and nothing was
	 * saved since */
	struct snapshot_id rolled_back_from;
	int64_t ran_ms;           /* from the launch to the job's end; -1: unknown */
	uint32_t snapshots;       /* durable ones that it added */
	bool finished;            /* the done marker */
	bool crashed;             /* it ended by itself, with an error */
	bool checkpoint_complete; /* it saved a complete checkpoint, durable or not */
	bool same_command;
	bool had_no_effect; /* a rollback has not helped, and nothing was saved since */
};

struct restart_rules {
	uint32_t max_no_progress; /* 0: no limit */
	bool done_counts;         /* a finished job is not run again */
	bool may_roll_back;       /* the user has not chosen what to start from */
	bool afresh;              /* the user wants to start from scratch */
	/* A member of a gang behind the first one, whose command is the one that is recorded: it
	 * decides as that one does. */
	bool any_command;
};

enum restart_action {
	RESTART_PROCEED,
	RESTART_DONE,        /* nothing to do */
	RESTART_NO_PROGRESS, /* not started: max_no_progress */
	RESTART_ROLL_BACK,   /* start from the snapshot before `snapshot`, which is suspect */
	RESTART_REVERT,      /* the rollback has not helped: start from `snapshot` again */
};

struct restart_decision {
	enum restart_action action;
	struct snapshot_id snapshot;
	/* for the new attempt's record, as is had_no_effect */
	struct snapshot_id rolled_back_from;
	/* how many of the newest attempts in a row added no durable snapshot */
	uint32_t without_progress;
	bool had_no_effect;
};

/* `items`: the newest first. Without items, the decision is to start. */
struct restart_decision restart_rules_decide(const struct attempt_outcome *items, size_t count,
					     const struct restart_rules *rules);

#endif
