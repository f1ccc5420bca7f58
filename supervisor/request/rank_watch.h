/* Follows a request rank by rank: observes the processes that were asked, and logs what has changed
 * (rank_progress.h decides what is worth a line). On the loop; nothing blocks. */
#ifndef RANK_WATCH_H
#define RANK_WATCH_H

#include "base/loop.h"
#include "completion/completion.h"
#include "rank_progress.h"

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
