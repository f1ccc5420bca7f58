/*
 * The progress of one piece of work, for people: a line that is drawn again on a terminal;
 * elsewhere a log line after a few seconds, and then one each half minute; and nothing for what is
 * done quickly. A thread of its own draws it, so that it goes on while nothing moves, and no
 * transfer waits for it.
 */
#ifndef PROGRESS_BAR_H
#define PROGRESS_BAR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct progress_bar {
	const char *what;
	pthread_t thread;
	bool running; /* the thread does */
	bool redraws; /* else there are lines of log */
	_Atomic uint64_t done, total;
	pthread_mutex_t mutex;
	pthread_cond_t stopping;
	struct {
		bool stop;
	} locked;
};

/* `what`: "restoring". Without a thread, there is no progress to see. */
void progress_bar_start(struct progress_bar *progress, const char *what);
/* A callback for storage.h; called from any thread. `arg` is a struct progress_bar. */
void progress_bar_update(void *arg, uint64_t bytes_done, uint64_t bytes_total);
/* Removes the line from the terminal. */
void progress_bar_stop(struct progress_bar *progress);

#endif
