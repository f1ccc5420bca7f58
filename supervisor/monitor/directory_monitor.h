/*
 * What happens below the checkpoint directory, by whatever tells of it: the kernel's events (inotify_watch.h), and a look again and again
 * where those do not tell all (directory_poller.h): network file systems, directories that cannot be watched. Lives on the loop.
 */
#ifndef DIRECTORY_MONITOR_H
#define DIRECTORY_MONITOR_H

#include "base/loop.h"
#include "inotify_watch.h"

#include <stdbool.h>
#include <stdint.h>

struct directory_witness;

struct directory_witness_options {
	struct loop *loop;
	const char *directory; /* canonical; borrowed; need not be there yet */
	int64_t quiet_ms;
	bool polls;         /* looks all the time, also where the kernel tells of everything */
	dir_watch_fn *said; /* DIR_CHANGED is from a look, the rest from the kernel */
	void (*looked)(void *arg); /* after all that a look has found was said */
	void *arg;
};

struct directory_witness *directory_witness_new(const struct directory_witness_options *options);
void directory_witness_free(struct directory_witness *witness);

/* Tries again where it is not open yet. `job_runs`: what lies there by now may have been written since, and is said as changed. */
void directory_witness_open(struct directory_witness *witness, bool job_runs);
/* False while the directory is not there. */
bool directory_witness_is_open(const struct directory_witness *witness);
/* Why it has to look, in a sentence; "" where the kernel tells of everything. */
const char *directory_witness_blindness(const struct directory_witness *witness);

/* Hands out what the kernel has queued. */
void directory_witness_drain(struct directory_witness *witness);
/* After DIR_RESCAN was said, and the batch with it: says what is there as changed, or looks from now on. */
void directory_witness_catch_up(struct directory_witness *witness);

/* True where no looks are needed, and when one that began at that time or later (monotonic) has been said. */
bool directory_witness_covers(struct directory_witness *witness, int64_t since_ms);
/* Looks where it has to, and blocks meanwhile. */
void directory_witness_look_now(struct directory_witness *witness);

#endif
