/*
 * PURE. What came of a request for a checkpoint, rank by rank: asked, delivered, saving; and what of it is worth a line. No I/O and no
 * clock: job_receipts.c looks and hands in what it saw.
 *
 * A signal that was delivered has not been handled: CPython runs handlers between two bytecodes, so that one call into a library can
 * put it off for minutes. Nothing is ever sent again because of that.
 */
#ifndef RANK_PROGRESS_H
#define RANK_PROGRESS_H

#include "process/process.h"
#include "rank_selection.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECEIPTS_PATIENCE_MS 5000
#define RECEIPTS_LINE_SIZE 320

/* One look at a process. */
struct receipt_look {
	uint64_t cpu_ticks; /* struct process_pulse */
	bool gone;
	bool pending; /* the signal has not been delivered */
	bool wrote; /* it, or one that it started, has opened or written a checkpoint file since it was asked */
	bool writes; /* it did so at some time before that */
	char state;  /* struct process */
};

struct receipt {
	struct rank rank;
	int64_t asked_ms;
	uint64_t cpu_ticks;
	bool looked, gone, delivered, saving;
	bool writes;
	bool computing; /* its processor time grew between the last two looks */
	char state;
};

struct receipts {
	struct receipt *items;
	size_t count, expected;
	int64_t begun_ms, asked_ms; /* of the request, and the last time that somebody was asked */
	int64_t patience_ms;
	struct {
		size_t count, expected, saving, gone, late;
		int64_t ms, late_ms;
		bool any;
	} said;
};

/* Forgets the request before. `patience_ms`: how long it may take until the first write before that is worth a word. */
void receipts_begin(struct receipts *receipts, int64_t patience_ms, int64_t now_ms);
void receipts_release(struct receipts *receipts);

/* More were asked just now; `expected` in all. */
void receipts_add(struct receipts *receipts, const struct rank *ranks, size_t count,
	size_t expected, int64_t now_ms);

/* `index` < count. */
void receipts_look(struct receipts *receipts, size_t index, const struct receipt_look *look);

/* Is there something that was not said? Then `line` says it all, and it counts as said. */
bool receipts_say(struct receipts *receipts, int64_t now_ms, char *line, size_t capacity);

/* "8/8 ranks asked in 0.2 s, 7 saving, rank 3 has not reacted for 12 s (it is in one long call)"; returns `line`. */
const char *receipts_format(
	const struct receipts *receipts, int64_t now_ms, char *line, size_t capacity);

size_t receipts_saving(const struct receipts *receipts);

/* It should have done something by now. */
bool receipts_is_late(const struct receipts *receipts, size_t index, int64_t now_ms);
/* Why it has not, as far as can be seen: "it is in one long call". */
const char *receipts_why(const struct receipt *receipt);

#endif
