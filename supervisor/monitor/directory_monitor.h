/*
 * What happens below the checkpoint directory, by whatever tells of it: the kernel's events
 * (inotify_watch.h), and a look again and again where those do not tell all (directory_poller.h):
 * network file systems, directories that cannot be watched. Lives on the loop.
 */
#ifndef DIRECTORY_MONITOR_H
#define DIRECTORY_MONITOR_H

#include "base/loop.h"
#include "inotify_watch.h"

#include <stdbool.h>
#include <stdint.h>

struct directory_monitor;

struct directory_monitor_options {
	struct loop *loop;
	const char *directory; /* canonical; borrowed; need not be there yet */
	int64_t quiet_ms;
	bool polls;         /* looks all the time, also where the kernel tells of everything */
	dir_event_fn *said; /* DIR_CHANGED is from a look, the rest from the kernel */
	void (*on_scanned)(void *arg); /* after all that a look has found was said */
	void *arg;
};

struct directory_monitor *directory_monitor_new(const struct directory_monitor_options *options);
void directory_monitor_free(struct directory_monitor *monitor);

/* Tries again where it is not open yet. `job_runs`: what lies there by now may have been written
 * since, and is said as changed. */
void directory_monitor_open(struct directory_monitor *monitor, bool job_runs);
/* False while the directory is not there. */
bool directory_monitor_is_open(const struct directory_monitor *monitor);
/* Why it has to look, in a sentence; "" where the kernel tells of everything. */
const char *directory_monitor_missing_evidence(const struct directory_monitor *monitor);

/* Hands out what the kernel has queued. */
void directory_monitor_drain(struct directory_monitor *monitor);
/* After DIR_RESCAN was said, and the batch with it: says what is there as changed,
 * or looks from now on. */
void directory_monitor_rescan(struct directory_monitor *monitor);

/* True where no looks are needed, and when one that began at that time or later
 * (monotonic) has been said. */
bool directory_monitor_is_current(struct directory_monitor *monitor, int64_t since_ms);
/* Looks where it has to, and blocks meanwhile. */
void directory_monitor_scan_now(struct directory_monitor *monitor);

#endif
