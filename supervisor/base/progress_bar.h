/*
 * How far something has come, for people: a bar on a terminal, elsewhere a line every few seconds;
 * and nothing at all for what is done before anyone would ask. The formatting is PURE.
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
	int64_t still_ms; /* for so long nothing has moved */
};

/* "restoring: 1.2 GiB of 40.0 GiB (3 %), 410.0 MiB/s, 1 min 34 s left", or how long nothing has
 * moved; returns `buffer`. */
const char *progress_bar_format_line(const struct progress_bar_facts *facts, char *buffer,
				     size_t capacity);
/* The same with a bar, at most `columns` wide; without the bar where there is no room for one. */
const char *progress_bar_format_bar(const struct progress_bar_facts *facts, unsigned columns,
				    char *buffer, size_t capacity);
/* -1: cannot be told, or would be more than a day and so says nothing. */
int64_t progress_bar_left_ms(const struct progress_bar_facts *facts);
/* A smoothed rate from the last one (0: none) and what was done since. */
uint64_t progress_bar_rate(uint64_t rate, uint64_t bytes, int64_t milliseconds);

/* From one line to the next: a few seconds, and where nothing has moved for so long, ever more. */
int64_t progress_bar_pause_ms(int64_t still_ms);

/* Of one thing that is going on. */
struct progress_bar {
	const char *what;
	bool bar;
	pthread_mutex_t mutex;
	struct {
		int64_t next_ms;   /* monotonic: not before that */
		int64_t sample_ms; /* when the rate was last looked at, and what was done then */
		int64_t moved_ms;
		uint64_t sample_done, done, rate;
		bool shown; /* a bar is on the terminal */
	} locked;
};

/* A bar only with `may_bar` and where stderr is a terminal: a job's terminal is the job's. */
void progress_bar_start(struct progress_bar *progress, const char *what, bool may_bar);
/* As the callbacks of storage.h want it; any thread. `arg` is a struct progress_bar. */
void progress_bar_update(void *arg, uint64_t bytes_done, uint64_t bytes_total);
/* Wipes the bar away. */
void progress_bar_stop(struct progress_bar *progress);

#endif
