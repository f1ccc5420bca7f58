/*
 * PURE. Reads the event log of `reprieve run --events FILE`: what happened on one machine. Lines
 * are added one by one, as they appear; a fact that no line has stays unknown. Times are the log's
 * "monotonic_ms".
 */
#ifndef EVENT_LOG_READER_H
#define EVENT_LOG_READER_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	bool warns;     /* by that */

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

#endif
