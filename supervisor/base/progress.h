/*
 * PURE. How far a transfer is, in words for people: for a line of log, for one that is drawn again,
 * for the countdown of a notice. Bytes are in KiB, MiB, GiB; a rate is per second.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include "base/cancel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the rate --- */

struct transfer_meter {
	int64_t sample_ms; /* monotonic: of the last sample for the rate */
	int64_t moved_ms;  /* when more was done for the last time */
	uint64_t sample_done, done;
	uint64_t rate; /* bytes per second, smoothed; 0: not known yet */
};

struct transfer_meter transfer_meter_new(int64_t now_ms, uint64_t done);
/* `done` may be less than before: threads report out of order. */
void transfer_meter_add(struct transfer_meter *meter, int64_t now_ms, uint64_t done);
/* The new smoothed rate, from the last one (0: none) and the bytes since. */
uint64_t transfer_rate(uint64_t rate, uint64_t bytes, int64_t milliseconds);

/* --- the words --- */

struct progress_facts {
	const char *what; /* "restoring"; NULL: it is said elsewhere */
	uint64_t done;
	uint64_t total;   /* 0: unknown */
	uint64_t rate;    /* 0: unknown */
	int64_t still_ms; /* time without progress */
};

struct progress_facts transfer_meter_facts(const struct transfer_meter *meter, const char *what,
					   uint64_t total, int64_t now_ms);
/* -1: unknown, or more than a day, which is no useful estimate. */
int64_t progress_left_ms(const struct progress_facts *facts);

/* "restoring: 1.2 GiB of 40 GiB (3 %), 410 MiB/s, 1 min 34 s left", or how long there has been no
 * progress. Returns `buffer`, as all of them. */
const char *progress_text_line(const struct progress_facts *facts, char *buffer, size_t capacity);

/* "preempted: 1 min 27 s left, 3.1 GiB of 4.2 GiB sent, 54 s at this rate"; or that this is too
 * slow. `left_ms`: until the machine ends; -1: unknown. `sent` NULL: nothing is sent, and `doing`
 * says what is waited for ("the job is saving"; NULL: nothing). */
const char *progress_text_countdown(int64_t left_ms, const char *doing,
				    const struct progress_facts *sent, char *buffer,
				    size_t capacity);
/*
 * A countdown in a log has a line each time half of the time is over: an hour has nine, two
 * minutes have four. True: `left_ms` is worth one, if the one before was at `said_ms`.
 */
bool countdown_is_worth_a_line(int64_t said_ms, int64_t left_ms);

/* In a log: is a line due, so long after the last one? Two a minute; soon, if nothing moves any
 * more, and then rarely. */
bool progress_is_worth_a_line(int64_t since_line_ms, int64_t still_ms);
/* The first one comes after a few seconds: as if there had been one before the start. */
#define PROGRESS_LINE_BEFORE_MS 25000

/*
 * The progress of one piece of work, for people: a line that is drawn again on a terminal;
 * elsewhere a log line after a few seconds, and then one each half minute; and nothing for what is
 * done quickly. A thread of its own draws it, so that it goes on while nothing moves, and no
 * transfer waits for it.
 */

struct progress_bar {
	const char *what;
	pthread_t thread;
	bool running; /* the thread does */
	bool redraws; /* else there are lines of log */
	_Atomic uint64_t done, total;
	struct cancel stop;
};

/* `what`: "restoring". Without a thread, there is no progress to see. */
void progress_bar_start(struct progress_bar *progress, const char *what);
/* A callback for storage.h; called from any thread. `arg` is a struct progress_bar. */
void progress_bar_update(void *arg, uint64_t bytes_done, uint64_t bytes_total);
/* Removes the line from the terminal. */
void progress_bar_stop(struct progress_bar *progress);

/*
 * A warning about a blocking call that takes long: it is said while the call lasts, by a thread of
 * its own, and once. A call that ends in time leaves no word.
 *
 *	struct slow_warning slow;
 *
 *	slow_warning_begin(&slow, 2500, text);
 *	...
 *	slow_warning_end(&slow);
 */

struct slow_warning {
	char *text; /* NULL: there is no thread, and nothing will be said */
	int64_t after_ms;
	struct cancel ended;
	pthread_t thread;
};

/* `text` is the line, without the word "warning"; it is copied. Where no thread can be had, nothing
 * is said. */
void slow_warning_begin(struct slow_warning *slow, int64_t after_ms, const char *text);
/* After it the line is not written any more. */
void slow_warning_end(struct slow_warning *slow);

#endif
