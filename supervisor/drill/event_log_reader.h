/*
 * PURE. The event ledger that `reprieve run --events FILE` writes -> what happened on one machine.
 * Lines are added one by one, as they appear; what a line does not say stays unknown. Times are the
 * ledger's own "monotonic_ms".
 */
#ifndef EVENT_LOG_READER_H
#define EVENT_LOG_READER_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_event {
	RUN_UNREADABLE, /* no JSON, or without "event" or "monotonic_ms" */
	RUN_OTHER,      /* an event that the drill needs nothing of */
	RUN_SNAPSHOT_SKIPPED,
	RUN_RESTORED,
	RUN_LAUNCHED,
	RUN_NOTICED,
	RUN_ASKED,
	RUN_SAVING,
	RUN_CHECKPOINT_COMPLETE,
	RUN_DURABLE,
	RUN_SNAPSHOT_FAILED,
	RUN_CHILD_EXITED,
	RUN_ENDED,
};

/* A checkpoint that is complete on the machine's disk. */
struct run_checkpoint {
	int64_t at_ms;
	int64_t captured_ms; /* the job began to write it: work done after this is not in it */
	int64_t step;        /* -1: unknown */
};
#define RUN_CHECKPOINTS_MOST 16

/* A snapshot of it that the store holds. */
struct run_commit {
	struct snapshot_id id; /* none: there is no commit */
	int64_t at_ms;
	struct run_checkpoint checkpoint; /* what it holds */
	int64_t step;
	uint64_t bytes;
};

struct run_events {
	int64_t at_ms;         /* of the line added last */
	char passed_over[200]; /* why a snapshot was, the last one */

	struct snapshot_id restored; /* none: begun afresh */
	int64_t restored_step;

	int64_t launched_ms; /* -1 in all of these: it has not happened */
	int64_t noticed_ms;  /* the first notice to stop */
	int64_t asked_ms;    /* the first time after the notice */
	char asked_how[64];  /* the signal, or "command" */

	struct run_checkpoint checkpoints[RUN_CHECKPOINTS_MOST]; /* the newest ones, oldest first */
	size_t checkpoint_count;
	int64_t saving_ms; /* the first write since the last seal */

	struct run_commit commit; /* the newest */
	char failed[200];         /* why the last snapshot failed; "" */

	int64_t child_exited_ms;
	char outcome[32];
};

void event_log_reader_init(struct run_events *events);

/* One line, with or without its newline. */
enum run_event event_log_reader_add(struct run_events *events, const char *line, size_t length);

#endif
