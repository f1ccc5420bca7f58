/*
 * Reports what changes below the checkpoint directory. It uses the kernel's events
 * (inotify_watch.h), and adds repeated scans (directory_poller.h) if the events do not cover
 * everything: on network file systems, and for directories that cannot be watched. Lives on the
 * loop.
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
	const char *directory; /* canonical; borrowed; need not exist yet */
	int64_t quiet_ms;
	bool polls; /* scan even if the kernel reports all changes */
	/* DIR_CHANGED comes from a scan, all other events from the kernel */
	dir_event_fn *said;
	/* all changes that a scan has found were reported */
	void (*on_scanned)(void *arg);
	void *arg;
};

struct directory_monitor *directory_monitor_new(const struct directory_monitor_options *options);
void directory_monitor_free(struct directory_monitor *monitor);

/* Begins to watch, be it for the directory to be made. Call it again until
 * directory_monitor_is_open(): then the directory is there, scans have begun if they are needed,
 * and why they are has been said. `job_runs`: the job may have written the files that a first scan
 * finds, so report them as changed. */
void directory_monitor_open(struct directory_monitor *monitor, bool job_runs);
/* False: the directory does not exist yet. */
bool directory_monitor_is_open(const struct directory_monitor *monitor);

/* Reports the events that the kernel has queued. */
void directory_monitor_drain(struct directory_monitor *monitor);
/* Call it after DIR_RESCAN and the rest of its batch: reports every file as changed, and begins to
 * scan repeatedly if the kernel cannot watch all subdirectories. */
void directory_monitor_rescan(struct directory_monitor *monitor);

/* True: no scans are needed, or a scan that began at `since_ms` (CLOCK_MONOTONIC) or later has been
 * reported. */
bool directory_monitor_is_current(struct directory_monitor *monitor, int64_t since_ms);
/* Scans if scans are needed, and reports before it returns. Blocks. */
void directory_monitor_scan_now(struct directory_monitor *monitor);

#endif
