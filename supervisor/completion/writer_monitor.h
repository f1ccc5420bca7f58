/*
 * Follows the processes that write to the checkpoint directory, and reports to the detector how
 * each of them ends. It learns of writers from the shim, and from a search of /proc if the shim is
 * not in them (untracked_writers.h). Lives on the loop.
 */
#ifndef WRITER_MONITOR_H
#define WRITER_MONITOR_H

#include "base/loop.h"
#include "detector.h"
#include "monitor/monitor.h"

#include <sys/types.h>

struct writer_monitor;

struct writer_monitor_options {
	struct loop *loop;
	const char *directory;     /* canonical; borrowed */
	struct detector *detector; /* borrowed */
	/* Hands the detector all queued events of the shim and the kernel. Called before the
	 * detector learns that a process has ended or that nobody has a file open. */
	void (*drain)(void *arg);
	/* The detector has learned that a process ended: poll it soon. */
	void (*told)(void *arg);
	void *arg;
};

struct writer_monitor *writer_monitor_new(const struct writer_monitor_options *options);
void writer_monitor_free(struct writer_monitor *monitor);

/* The shim reports that `pid` writes here. */
void writer_monitor_add(struct writer_monitor *monitor, pid_t pid);
/* A save has begun: the next scan is not delayed, so that its writer is found before it ends. */
void writer_monitor_scan_soon(struct writer_monitor *monitor);
/* The kernel reports a close after a write. */
void writer_monitor_file_closed(struct writer_monitor *monitor);
/* A process was reaped, whether or not it wrote. */
void writer_monitor_process_ended(struct writer_monitor *monitor, pid_t pid, enum writer_end end);

/* Call it before a decision. If a file is being written that no shim reports, searches /proc for
 * its writer; the searches are limited to a share of the time. */
void writer_monitor_scan(struct writer_monitor *monitor);
/* Call it while a burst is not acknowledged: finds writers that have ended unobserved. Reads
 * /proc. */
void writer_monitor_scan_dead(struct writer_monitor *monitor);

/* The processes that wrote last. Borrowed. */
const struct recent_writers *writer_monitor_recent(const struct writer_monitor *monitor);

#endif
