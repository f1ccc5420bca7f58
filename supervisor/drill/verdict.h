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

#include "base/cleanup.h"
#include "storage/storage.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- event_log_reader.c --- */

/*
 * PURE. Reads the event log of `reprieve run --events FILE`: what happened on one machine. Lines
 * are added one by one, as they appear; a fact that no line has stays unknown. Times are the log's
 * "monotonic_ms".
 */

/* A checkpoint that is complete on the machine's disk. */
struct run_checkpoint {
	int64_t at_ms;
	int64_t captured_ms; /* the job began to write it: later work is not in it */
	int64_t step;        /* -1: unknown */
};
#define RUN_CHECKPOINTS_MOST 16

/* A snapshot in the store. */
struct run_commit {
	struct snapshot_id id; /* none: there is no commit */
	int64_t at_ms;
	struct run_checkpoint checkpoint; /* the checkpoint in it */
	int64_t step;
	uint64_t bytes;
};

struct run_events {
	int64_t at_ms;  /* of the last line */
	char said[400]; /* what people are told of the last line; "": nothing */

	struct snapshot_id restored; /* none: started from scratch */
	int64_t restored_step;

	int64_t launched_ms; /* here and below, -1: it has not happened */
	int64_t noticed_ms;  /* the first stop notice */
	int64_t asked_ms;    /* the first request after the notice */
	char asked_how[64];  /* the signal, or "command" */

	struct run_checkpoint checkpoints[RUN_CHECKPOINTS_MOST]; /* the newest ones, oldest first */
	size_t checkpoint_count;
	struct run_checkpoint first_after_notice; /* at_ms -1: there is none */
	int64_t first_step;                       /* of the first one; -1: unknown */
	int64_t stopping_ms;                      /* the job is told to stop */
	int64_t saving_ms;   /* the first write since the last complete checkpoint */
	char elsewhere[240]; /* the last file that it saved outside its checkpoint directory; "":
				none */

	struct run_commit commit; /* the newest */
	struct run_commit due;    /* the first with `first_after_notice`, or what is newer */
	char failed[200];         /* why the last snapshot failed; "": none did */

	unsigned durable_after_notice;
	int64_t child_exited_ms;
	int child_code; /* of its exit; -1: it has not exited, or by a signal */
	bool finished;  /* with 0, and neither asked nor told to stop */
	char outcome[32];
};

void event_log_reader_init(struct run_events *events);

/* The newest commit is that one from now on. */
void run_events_set_commit(struct run_events *events, const struct run_commit *commit);

/* Adds one line, with or without its newline. False: it is no event. */
bool event_log_reader_add(struct run_events *events, const char *line, size_t length);

/* --- steps.c --- */

/*
 * PURE. The steps of a job, as it prints them: "step 120 loss 0.3", or what --step-pattern finds.
 * Where did they stand when the checkpoint was made, and where do they go on?
 */

/* "step" is looked for, and "epoch" in a job that prints no step; or the user's pattern alone. */
enum {
	STEPS_OF_PATTERN,
	STEPS_OF_EPOCHS,
	STEPS_KINDS
};

struct step_patterns {
	regex_t each[STEPS_KINDS];
	unsigned count;
};
/* `chosen`: an extended regular expression whose last group is the number; NULL: none.
 * ERR_INVALID: it is none, or has no group. */
int step_patterns_make(struct step_patterns *patterns, const char *chosen, struct err *err);
void step_patterns_release(struct step_patterns *patterns);

struct step_sample {
	int64_t at_ms; /* when the line was seen */
	double value;
};

struct steps {
	struct step_sample *items;
	size_t count, capacity;
	double stride; /* the greatest rise from one to the next */
	bool fallen;   /* the last line was lower, and is left out */
	/* such as of an epoch each, or of many ranks: where it stands is not known */
	bool fell, fell_at_once;
};

struct job_steps {
	struct steps each[STEPS_KINDS];
};

/* Adds one line, without its end. Not ours, nor one that speaks of what was loaded. */
void job_steps_add(struct job_steps *steps, const struct step_patterns *patterns, const char *line,
		   size_t length, int64_t at_ms);
void job_steps_release(struct job_steps *steps);

/* What is known of two machines' steps, of which the first was taken away. */
struct step_facts {
	const char *word;         /* "step", "epoch" or "checkpoint"; NULL: nothing is counted */
	bool counted;             /* the first machine printed them */
	bool next_counted;        /* the next one, too */
	double first, last;       /* of the first machine */
	double stride;            /* not 0 */
	double before, low, high; /* at the save before, and between which values it saved */
	double step;              /* of the snapshot; -1: unknown */
	double next;              /* the next machine's first */
};

/* `next` and `next_events`: NULL, there is no next machine. By the checkpoints' own steps, from
 * their names or the job's word, where the job prints none. */
struct step_facts step_facts_of(const struct job_steps *steps, const struct run_events *events,
				const struct job_steps *next, const struct run_events *next_events);
/* The step of the snapshot is one of those that the job prints. */
bool step_facts_are_exact(const struct step_facts *facts);

enum continuation {
	CONTINUATION_UNKNOWN,
	CONTINUATION_PROVEN,
	CONTINUATION_ANEW,  /* from the beginning */
	CONTINUATION_OLDER, /* from before the save */
	CONTINUATION_AHEAD, /* from what no checkpoint has */
};
enum continuation step_facts_judge(const struct step_facts *facts);

struct steps_between {
	int64_t least, most;
};
/* What the first machine did beyond `kept`; or beyond where the next one begins. */
struct steps_between steps_since(const struct step_facts *facts, double kept);
struct steps_between steps_lost(const struct step_facts *facts);

enum drill_result {
	DRILL_PASS,
	DRILL_FAIL,
	DRILL_UNPROVEN,
	DRILL_NOT_RUN, /* the command is not there, or is no program */
};
const char *drill_result_name(enum drill_result result); /* "PASS" */
/* `none`: for no snapshot. */
const char *drill_id_format(struct snapshot_id id, const char *none, char text[SNAPSHOT_ID_TEXT]);

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
