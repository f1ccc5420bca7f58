/*
 * PURE. Did a job survive a preemption? Computed once from facts: the event log of `reprieve run`,
 * the store after the machine was gone, the output of the job, the files that it opened, and what
 * the next machine started from. The event log alone is never trusted.
 *
 * One rule for all jobs: the first checkpoint that was complete after the notice or, if there was
 * none, the newest before it has to be durable before the deadline, in whichever snapshot: what
 * becomes durable later, of a job that goes on saving until it is killed, changes nothing. The next
 * machine has to get the newest one that is durable, and the job has to be seen to go on from that
 * (resumption.h). What it
 * did since then may be lost; how many steps these are is said, and `lost_most` is their limit.
 * Where the job's lines bound them only, "up to N" is said, and the upper bound is held against the
 * limit. Where proof is missing, the round is unproven; so is what --timeout has cut.
 */
#ifndef ROUND_VERDICT_H
#define ROUND_VERDICT_H

#include "event_log_reader.h"
#include "resumption.h"
#include "written_files.h"

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
	struct count_facts count; /* those steps */
	bool epochs;              /* it counts nothing finer: they are epochs */
	bool next_counted;        /* the next machine did, too: `count.next` */
	struct file_accesses accesses;
	char wrote[WRITTEN_TEXT]; /* outside its checkpoint directory; "": nothing */
	char warning[300];        /* the last of reprieve's; "": none */
	char said[300];           /* the job's last line; "": none */
	unsigned lost_most;       /* steps that may be lost; UINT_MAX: any number */

	/* The store itself, read after the machine was gone. */
	bool store_read;
	char store_error[200];           /* why it could not be read */
	struct snapshot_id store_newest; /* the next attempt would start from it */
	bool commit_good; /* the event log's newest commit is in the store and valid */

	bool next_cut; /* --timeout has ended the next machine: nothing is known of it */
	bool next_launched;
	struct snapshot_id next_restored; /* none: it started from scratch */
	int64_t next_step;                /* of that snapshot; -1: unknown */
	struct resumption_facts resumption;
};

#define VERDICT_UNKNOWN INT64_MIN

/* Times are milliseconds since the notice, or negative; VERDICT_UNKNOWN: it did not happen. */
struct round_verdict {
	enum drill_result result;
	char reason[900]; /* why it has not passed; "": it has */
	char proof[400];  /* how it is known that the next machine went on; "": it is not */
	char remark[600]; /* a hint for the user although it has passed; "": none */
	int64_t noticed_ms;
	int64_t asked_ms;
	int64_t saved_ms;   /* the checkpoint was complete on disk */
	int64_t durable_ms; /* ... and in the store */
	int64_t margin_ms;  /* from then to the deadline */
	/* What the next machine does again. The time is that from the start of the save to the
	 * job's end on this machine; of a job that began anew, all that it had. */
	int64_t lost_ms;
	/* Both or none are unknown. They differ where the job does not print each step. */
	int64_t lost_steps, lost_steps_least; /* at most, and at least */
	bool lost_epochs;                     /* each is an epoch */
};

void verdict_round(const struct round_facts *facts, struct round_verdict *verdict);

/* A shell's codes for a command that is not there, or is no program. */
bool verdict_is_no_command(int exit_code);

#endif
