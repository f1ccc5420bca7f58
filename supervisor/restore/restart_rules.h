/*
 * PURE. What earlier attempts of a job mean for the one that is about to start: that there is
 * nothing to do, that another start would not help, or that the checkpoint it would start from is
 * what the job dies of.
 */
#ifndef RESTART_RULES_H
#define RESTART_RULES_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A job that dies later than that after its launch has done something with its checkpoint. */
#define RESTART_EARLY_CRASH_MS (10 * 60 * 1000)

/* One earlier attempt. What its records do not say is false, or none. */
struct attempt_outcome {
	struct snapshot_id start;
	/* this attempt, or one before it since when nothing was saved */
	struct snapshot_id rolled_back_from;
	int64_t ran_ms;     /* from the launch to the job's end; -1 unknown */
	uint32_t snapshots; /* durable ones that it added */
	bool finished;      /* the done marker */
	bool crashed;       /* it ended by itself, of an error */
	bool sealed;        /* it has seen a complete checkpoint of its own, durable or not */
	bool same_command;
	bool had_no_effect; /* a step back has not helped, and nothing was saved since */
};

struct restart_rules {
	uint32_t max_no_progress; /* 0: no limit */
	bool done_counts;         /* a finished job is not run again */
	bool may_roll_back;       /* the user has not said what to start from */
	bool afresh;              /* the user wants to begin from nothing */
};

enum restart_action {
	RESTART_PROCEED,
	RESTART_DONE,        /* nothing to do */
	RESTART_NO_PROGRESS, /* not started: max_no_progress */
	RESTART_ROLL_BACK,   /* start from what is behind `snapshot`, which is suspect */
	RESTART_REVERT,      /* the step back has not helped: start from `snapshot` again */
};

struct restart_decision {
	enum restart_action action;
	struct snapshot_id snapshot;
	/* this and the next belong into the new attempt's record */
	struct snapshot_id rolled_back_from;
	/* so many attempts in a row, the newest ones, added no durable snapshot */
	uint32_t without_progress;
	bool had_no_effect;
};

/* `items` newest first. */
struct restart_decision restart_rules_decide(const struct attempt_outcome *items, size_t count,
					     const struct restart_rules *rules);

#endif
