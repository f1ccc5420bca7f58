/*
 * PURE. Progress of a checkpoint request for each rank: asked, signal delivered, saving; and when a
 * change is worth a log line. No I/O and no clock: the job samples the processes and hands the
 * observations in.
 *
 * A signal that was delivered is not yet handled: CPython runs handlers between two bytecodes, so
 * that one call into a library can delay the handler for minutes. Nor is a handler seen that only
 * notes the wish, for the end of the step. The signal is not sent again. So what is said is that a
 * rank has not begun to save; that it waits in one call, only if its main thread has not run since.
 */
#ifndef RANK_PROGRESS_H
#define RANK_PROGRESS_H

#include "base/loop.h"
#include "checkpoint_request.h"
#include "completion/completion.h"
#include "process/process.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_PROGRESS_PATIENCE_MS 5000
#define RANK_PROGRESS_LINE_SIZE 320

/* One sample of a process. */
struct rank_observation {
	uint64_t cpu_ticks, switches; /* struct process_sample */
	bool gone;
	/* the signal is not delivered yet */
	bool pending;
	/* the process, or one that it started, has written a checkpoint file since it was asked */
	bool wrote;
	/* it did so before it was asked */
	bool writes;
	char state; /* struct process */
};

struct rank_progress_item {
	struct rank rank;
	int64_t asked_ms;
	uint64_t cpu_ticks, switches;
	int64_t moved_ms; /* the last sample in which its main thread had run */
	bool observed, gone, delivered, saving;
	bool writes;
	char state;
};

struct rank_progress {
	struct rank_progress_item *items;
	size_t count, expected;
	int64_t begun_ms, asked_ms; /* start of the request; when the last rank was asked */
	int64_t patience_ms;
	/* what the last log line contained */
	struct rank_counts {
		size_t count, expected, saving, gone, late;
	} said;
	int64_t said_ms, said_late_ms;
	bool said_any;
};

/* Begins a new request. `patience_ms`: a rank that writes nothing for so long counts as late. */
void rank_progress_begin(struct rank_progress *rank_progress, int64_t patience_ms, int64_t now_ms);
void rank_progress_release(struct rank_progress *rank_progress);

/* These ranks were asked just now; `expected`: how many are to be asked in all. */
void rank_progress_add(struct rank_progress *rank_progress, const struct rank *ranks, size_t count,
		       size_t expected, int64_t now_ms);

/* Hands in a sample of rank `index` (< count). */
void rank_progress_observe(struct rank_progress *rank_progress, size_t index,
			   const struct rank_observation *look, int64_t now_ms);

/* True: there is news, which `line` now contains, and which counts as logged. */
bool rank_progress_report(struct rank_progress *rank_progress, int64_t now_ms, char *line,
			  size_t capacity);

/* Writes "8/8 ranks asked in 0.2 s, 7 saving, rank 3 has not begun to save for 12 s (it waits in
 * one long call)" to `line` and returns it. */
const char *rank_progress_format(const struct rank_progress *rank_progress, int64_t now_ms,
				 char *line, size_t capacity);

/* Number of ranks that are saving. */
size_t rank_progress_saving(const struct rank_progress *rank_progress);

/* What `reprieve status` says of it: `asking`, the job is being asked; `answered`, it has saved.
 * Owned by the caller; NULL: none was asked. */
json_t *rank_progress_json(const struct rank_progress *rank_progress, bool asking, bool answered,
			   int64_t now_ms);

/* Follows a request rank by rank: observes the processes that were asked, and logs what has changed
 * (rank_progress.h decides what is worth a line). On the loop; nothing blocks. */

/* The caller fills what is above the line of a zeroed struct. */
struct rank_watch {
	struct loop *loop;
	struct tracker *tracker;                   /* knows who writes; NULL: nobody does */
	int signal;                                /* that asks */
	void (*news)(void *arg, const char *line); /* which is logged already */
	void *arg;
	/* --- */
	struct rank_progress progress; /* of the newest request */
	struct timer timer;
};

/* A new request is sent. `patience_ms`: rank_progress_begin(). */
void rank_watch_begin(struct rank_watch *watch, int64_t patience_ms);
/* These ranks were asked just now, of `expected` in all. */
void rank_watch_add(struct rank_watch *watch, const struct rank *ranks, size_t count,
		    size_t expected);
/* Observes once more, then stops. The progress stays readable. */
void rank_watch_end(struct rank_watch *watch);

#endif
