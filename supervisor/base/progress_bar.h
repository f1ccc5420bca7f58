/*
 * Progress for people: a bar on a terminal, elsewhere a log line every few seconds, and nothing for
 * work that is done quickly. The formatting functions are PURE.
 */
#ifndef PROGRESS_BAR_H
#define PROGRESS_BAR_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress_bar_facts {
	const char *what; /* "restoring" */
	uint64_t done, total;
	uint64_t rate;    /* bytes per second; 0: not known yet */
	int64_t still_ms; /* time without progress */
};

/* "restoring: 1.2 GiB of 40.0 GiB (3 %), 410.0 MiB/s, 1 min 34 s left", or how long there has been
 * no progress. Returns `buffer`. */
const char *progress_bar_format_line(const struct progress_bar_facts *facts, char *buffer,
				     size_t capacity);
/* The same with a bar, at most `columns` wide; without the bar if there is no room for it. */
const char *progress_bar_format_bar(const struct progress_bar_facts *facts, unsigned columns,
				    char *buffer, size_t capacity);
/* -1: unknown, or more than a day, which is no useful estimate. */
int64_t progress_bar_left_ms(const struct progress_bar_facts *facts);
/* The new smoothed rate, from the last one (0: none) and the bytes since. */
uint64_t progress_bar_rate(uint64_t rate, uint64_t bytes, int64_t milliseconds);

/* The time from one line to the next: a few seconds, and longer the longer there is no progress. */
int64_t progress_bar_pause_ms(int64_t still_ms);

/* The progress of one piece of work. */
struct progress_bar {
	const char *what;
	bool bar;
	pthread_mutex_t mutex;
	struct {
		int64_t next_ms;   /* monotonic: the next line is due */
		int64_t sample_ms; /* monotonic: of the last sample for the rate */
		int64_t moved_ms;
		uint64_t sample_done, done, rate;
		bool shown; /* a bar is on the terminal */
	} locked;
};

/* Shows a bar only if `may_bar` and stderr is a terminal: a job's terminal belongs to the job. */
void progress_bar_start(struct progress_bar *progress, const char *what, bool may_bar);
/* A callback for storage.h; called from any thread. `arg` is a struct progress_bar. */
void progress_bar_update(void *arg, uint64_t bytes_done, uint64_t bytes_total);
/* Removes the bar from the terminal. */
void progress_bar_stop(struct progress_bar *progress);

#endif
