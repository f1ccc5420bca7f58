/*
 * PURE. What came of a request for a checkpoint, rank by rank: asked, delivered, saving; and what
 * of it is worth a line. No I/O and no clock: job_receipts.c looks and hands in what it saw.
 *
 * A signal that was delivered has not been handled: CPython runs handlers between two bytecodes, so
 * that one call into a library can put it off for minutes. Nothing is ever sent again because of
 * that.
 */
#ifndef RANK_PROGRESS_H
#define RANK_PROGRESS_H

#include "process/process.h"
#include "rank_selection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_PROGRESS_PATIENCE_MS 5000
#define RANK_PROGRESS_LINE_SIZE 320

/* One look at a process. */
struct rank_observation {
	uint64_t cpu_ticks; /* struct process_sample */
	bool gone;
	bool pending; /* the signal has not been delivered */
	/* it, or one that it started, has opened or written a checkpoint file since it was asked */
	bool wrote;
	bool writes; /* it did so at some time before that */
	char state;  /* struct process */
};

struct rank_progress_item {
	struct rank rank;
	int64_t asked_ms;
	uint64_t cpu_ticks;
	bool observed, gone, delivered, saving;
	bool writes;
	bool computing; /* its processor time grew between the last two looks */
	char state;
};

struct rank_progress {
	struct rank_progress_item *items;
	size_t count, expected;
	int64_t begun_ms, asked_ms; /* of the request, and the last time that somebody was asked */
	int64_t patience_ms;
	struct {
		size_t count, expected, saving, gone, late;
		int64_t ms, late_ms;
		bool any;
	} said;
};

/* Forgets the request before. `patience_ms`: how long it may take until the first write before that
 * is worth a word. */
void rank_progress_begin(struct rank_progress *rank_progress, int64_t patience_ms, int64_t now_ms);
void rank_progress_release(struct rank_progress *rank_progress);

/* More were asked just now; `expected` in all. */
void rank_progress_add(struct rank_progress *rank_progress, const struct rank *ranks, size_t count,
		       size_t expected, int64_t now_ms);

/* `index` < count. */
void rank_progress_observe(struct rank_progress *rank_progress, size_t index,
			   const struct rank_observation *look);

/* Is there something that was not said? Then `line` says it all, and it counts as said. */
bool rank_progress_report(struct rank_progress *rank_progress, int64_t now_ms, char *line,
			  size_t capacity);

/* "8/8 ranks asked in 0.2 s, 7 saving, rank 3 has not reacted for 12 s (it is in one long
 * call)"; returns `line`. */
const char *rank_progress_format(const struct rank_progress *rank_progress, int64_t now_ms,
				 char *line, size_t capacity);

size_t rank_progress_saving(const struct rank_progress *rank_progress);

/* It should have done something by now. */
bool rank_progress_is_late(const struct rank_progress *rank_progress, size_t index, int64_t now_ms);
/* Why it has not, as far as can be seen: "it is in one long call". */
const char *rank_progress_late_reason(const struct rank_progress_item *item);

#endif
