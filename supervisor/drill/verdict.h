/*
 * PURE. Did the preemption cost work? Computed once from facts: what `reprieve run` wrote in its
 * ledger, what the store held after the machine was gone, what the job printed, and what the next
 * machine began with. The ledger alone is never believed.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include "drill/job_log.h"
#include "event_log_reader.h"

#include <stdbool.h>
#include <stdint.h>

/* One machine that was taken away, and the one after it. All times are on the monotonic clock. */
struct round_facts {
	struct run_events events;
	/* the notice could be seen from here on; -1: the run had ended before it was due */
	int64_t fired_ms;
	int64_t deadline_ms;
	int64_t gone_ms; /* nothing of the machine was left */
	bool killed;     /* `reprieve run` was still there at the deadline */
	int exit_code;   /* of `reprieve run`, if not killed; 128 + signal */
	struct job_steps steps;

	/* The store itself, read after the machine was gone. */
	bool store_read;
	char store_error[200];           /* why it could not be read */
	struct snapshot_id store_newest; /* what a next attempt would start from */
	bool commit_good;                /* the ledger's newest commit is in the store and sound */

	bool next_launched;
	struct snapshot_id next_restored; /* none: it began afresh */
	int64_t next_step;                /* of that; -1: unknown */
	struct job_steps next_steps;
};

#define VERDICT_UNKNOWN INT64_MIN

/* Times in milliseconds since the notice; VERDICT_UNKNOWN where it did not happen. What was saved
 * before the notice is negative. */
struct round_verdict {
	bool passed;
	char reason[400]; /* why not; "" */
	char remark[300]; /* what the user should know although it passed; "" */
	int64_t noticed_ms;
	int64_t asked_ms;
	int64_t saved_ms;   /* the checkpoint was complete on disk */
	int64_t durable_ms; /* ... and in the store */
	int64_t margin_ms;  /* from then to the deadline */
	int64_t lost_ms;    /* from the beginning of the saving to the job's end on this machine */
	int64_t lost_steps;
};

void verdict_round(const struct round_facts *facts, struct round_verdict *verdict);

enum comparison {
	COMPARISON_NOT_ASKED,
	COMPARISON_EQUAL,
	COMPARISON_DIFFERENT,
	COMPARISON_MISSING_UNDISTURBED, /* the run without a preemption did not write the file */
	COMPARISON_MISSING,             /* the preempted one did not */
	COMPARISON_NOT_MADE,            /* the last run did not get that far */
};

struct drill_facts {
	unsigned rounds_wanted;
	unsigned rounds_done;
	unsigned rounds_passed;
	int undisturbed_exit; /* of the run for comparison; 0 without one */
	bool last_ran;        /* the machine that was left alone to the end */
	int last_exit;
	enum comparison comparison;
};

/* Did all of it hold? If not, `reason` (may be NULL) says the first thing that did not. */
bool verdict_drill(const struct drill_facts *facts, char *reason, size_t capacity);

#endif
