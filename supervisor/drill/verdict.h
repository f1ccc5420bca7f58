/*
 * PURE. Did a preemption cost work? Computed once from facts: the event log of `reprieve run`, the
 * store after the machine was gone, the output of the job, the files that it opened, and what the
 * next machine started from. The event log alone is never trusted. A pass needs proof that the next
 * machine went on from the checkpoint (resumption.h); where there is none, the round is unproven.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "drill/resumption.h"
#include "event_log_reader.h"

#include <stdbool.h>
#include <stdint.h>

/* One preempted machine, and the next one. All times are milliseconds of the monotonic clock. */
struct round_facts {
	struct run_events events;
	/* the notice could be seen from then on; -1: the run had ended before */
	int64_t fired_ms;
	int64_t deadline_ms;
	int64_t gone_ms;          /* no process of the machine was left */
	bool killed;              /* `reprieve run` was still there at the deadline */
	int exit_code;            /* of `reprieve run`, if not killed; 128 + signal */
	bool counted;             /* the job printed its steps */
	struct count_facts count; /* those steps; `next` is not used */
	struct file_accesses accesses;
	char wrote[160];   /* its newest file outside the checkpoint directory; "": none */
	char warning[300]; /* the last of reprieve's; "": none */

	/* The store itself, read after the machine was gone. */
	bool store_read;
	char store_error[200];           /* why it could not be read */
	struct snapshot_id store_newest; /* the next attempt would start from it */
	bool commit_good; /* the event log's newest commit is in the store and valid */

	bool next_launched;
	struct snapshot_id next_restored; /* none: it started from scratch */
	int64_t next_step;                /* of that snapshot; -1: unknown */
	struct resumption_facts resumption;
};

#define VERDICT_UNKNOWN INT64_MIN

/* Times are milliseconds since the notice, or negative; VERDICT_UNKNOWN: it did not happen. */
struct round_verdict {
	enum drill_result result;
	char reason[600]; /* why it has not passed; "": it has */
	char proof[400];  /* how it is known that the next machine went on; "": it is not */
	char remark[300]; /* a hint for the user although it has passed; "": none */
	int64_t noticed_ms;
	int64_t asked_ms;
	int64_t saved_ms;   /* the checkpoint was complete on disk */
	int64_t durable_ms; /* ... and in the store */
	int64_t margin_ms;  /* from then to the deadline */
	int64_t lost_ms;    /* from the start of the save to the job's end on this machine */
	int64_t lost_steps;
};

void verdict_round(const struct round_facts *facts, struct round_verdict *verdict);

enum comparison {
	COMPARISON_NOT_ASKED,
	COMPARISON_EQUAL,
	COMPARISON_DIFFERENT,
	COMPARISON_MISSING_UNDISTURBED, /* the run without a preemption did not write the file */
	COMPARISON_MISSING,             /* the preempted one did not */
	COMPARISON_NOT_MADE,            /* the last run did not take place */
};

struct drill_facts {
	unsigned rounds_wanted;
	unsigned rounds_done;
	unsigned rounds_passed;
	unsigned rounds_unproven;
	int undisturbed_exit; /* of the undisturbed run; 0 if there is none */
	bool last_ran;        /* the last machine has run the job to its end */
	int last_exit;
	enum comparison comparison;
};

/* The whole drill. If it has not passed, `reason` (may be NULL) gets the first cause. */
enum drill_result verdict_drill(const struct drill_facts *facts, char *reason, size_t capacity);

#endif
