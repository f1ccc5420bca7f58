/*
 * PURE. Did a job survive its preemptions? Computed once from four facts: the event log of
 * `reprieve run`, the store after the machine was gone, the snapshot that the next machine
 * restored, and the steps that the job prints on both. VERDICTS.md has the table.
 *
 * One rule for all jobs: the first checkpoint that was complete after the notice or, if there was
 * none, the newest before it has to be durable before the deadline. The next machine has to get the
 * newest one that is durable, and the job has to be seen to go on from there. What it did since
 * then may be lost; how many steps these are is said, and `lost_most` is their limit. Where proof
 * is missing, the round is unproven; so is what --timeout has cut.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "event_log_reader.h"
#include "steps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum drill_result {
	DRILL_PASS,
	DRILL_FAIL,
	DRILL_UNPROVEN,
	DRILL_NOT_RUN, /* the command is not there, or is no program */
};
const char *drill_result_name(enum drill_result result); /* "PASS" */

#define VERDICT_UNKNOWN INT64_MIN

/* What the next machine does again. The time is that from the start of the save to the job's end on
 * this machine; of a job that began anew, all that it had. */
struct losses {
	int64_t ms;
	/* Both or none are unknown. They differ where the job does not print each step. */
	struct steps_between steps;
	const char *word; /* "step"; NULL: nothing is counted */
};

/* Times are milliseconds since the notice, or negative; VERDICT_UNKNOWN: it did not happen. */
struct round_verdict {
	enum drill_result result;
	char reason[900]; /* why it has not passed; "": it has */
	char proof[200];  /* how it is known that the next machine went on; "": it is not */
	char remark[400]; /* a hint for the user although it has passed; "": none */
	int64_t noticed_ms, asked_ms;
	int64_t saved_ms, durable_ms; /* the checkpoint was complete on disk, and in the store */
	int64_t margin_ms;            /* from then to the deadline */
	struct losses lost;
};

/* One preempted machine, and the next one. All times are milliseconds of the monotonic clock. */
struct round_facts {
	struct run_events events;
	int64_t fired_ms; /* the notice could be seen from then on; -1: the run had ended before */
	int64_t deadline_ms;
	int64_t gone_ms; /* no process of the machine was left */
	bool killed;     /* `reprieve run` was still there at the deadline */
	int exit_code;   /* of `reprieve run`, if not killed; 128 + signal */
	struct step_facts steps;
	char warning[300];  /* the last of reprieve's; "": none */
	char said[300];     /* the job's last line; "": none */
	unsigned lost_most; /* steps that may be lost; UINT_MAX: any number */

	/* The store itself, read after the machine was gone. */
	char store_error[200];           /* why it could not be read; "": it was */
	struct snapshot_id store_newest; /* the next attempt would start from it */
	bool commit_good; /* the event log's newest commit is in the store and valid */

	bool next_cut; /* --timeout has ended the next machine: nothing is known of it */
	bool next_launched;
	struct snapshot_id next_restored; /* none: it started from scratch */
	int64_t next_step;                /* of that snapshot; -1: unknown */
	int next_failed; /* the job ended by itself with this on the next machine; 0: no */
};

/* A preemption: of one machine alone, or of one among those of a gang. */
struct round {
	uint32_t members;
	uint32_t lost;            /* whose machine was taken away */
	struct round_facts *each; /* `members` of them */
	struct round_verdict *verdicts;
	enum drill_result result;
	char reason[960]; /* of the first member that has not passed; "": all have */
};
/* What one member knows to be durable is so for all, also for those that had nothing to save. Call
 * it when all machines are gone, before the store is read. */
void verdict_share_commit(struct round *round);
/* A machine may be killed between a commit and its line in the log, and a start of a gang commits
 * what all members had put before they ended. When all have restored that, it is what the verdict
 * is about. */
void verdict_adopt(struct round *round);
void verdict_round(struct round *round);

enum comparison {
	COMPARISON_NOT_ASKED,
	COMPARISON_EQUAL,
	COMPARISON_DIFFERENT,
	COMPARISON_MISSING_UNDISTURBED, /* the run without a preemption did not write the file */
	COMPARISON_MISSING,             /* the preempted one did not */
	COMPARISON_NOT_MADE,            /* the last run did not take place */
};
extern const struct comparison_row {
	enum drill_result result;
	const char *name; /* in JSON */
	const char *said; /* of the file */
} comparison_rows[];

struct drill_facts {
	unsigned rounds_wanted, rounds_done, rounds_passed, rounds_unproven;
	int command_exit;     /* 126, 127: the command could not be run at all; 0: it could */
	const char *command;  /* its first word; NULL: not known */
	bool timed_out;       /* --timeout */
	char too_large[600];  /* why there was no room for the machines; "": there was */
	int undisturbed_exit; /* of the undisturbed run; 0 if there is none */
	bool last_ran;        /* the last machine has run the job to its end */
	int last_exit;
	enum comparison comparison;
};

/* The whole drill. If it has not passed, `reason` gets the first cause. */
enum drill_result verdict_drill(const struct drill_facts *facts, char *reason, size_t capacity);

/* A shell's codes for a command that is not there, or is no program. */
bool verdict_is_no_command(int exit_code);

#endif
