/*
 * Follows the processes that write to the checkpoint directory, and reports to the detector how
 * each of them ends: only the exit status shows whether its files are whole. The shim tells of
 * those that it is in. The others (static programs, raw system calls, processes without
 * LD_PRELOAD, and children that write through inherited descriptors) are searched for: the kernel
 * reports that a file was written, but not by whom. So while a file is being written that no shim
 * has reported, the descriptors of our descendants are read in /proc. Lives on the loop.
 *
 * A writer without the shim that ends within milliseconds, before the search reaches it, stays
 * unknown.
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
/* The kernel reports a close after a write. Notes which of the writers without the shim have closed
 * all their files themselves and are still running. */
void writer_monitor_file_closed(struct writer_monitor *monitor);
/* A process was reaped, whether or not it wrote. */
void writer_monitor_process_ended(struct writer_monitor *monitor, pid_t pid, int wait_status);

/* Call it before a decision. If a file is being written that no shim reports, searches /proc for
 * its writer, at most every 100 ms and for at most a twentieth of the time. */
void writer_monitor_scan(struct writer_monitor *monitor);
/* Call it while a burst is not acknowledged: finds writers that have ended unobserved. Reads
 * /proc. */
void writer_monitor_scan_dead(struct writer_monitor *monitor);

/* The processes that wrote last. Borrowed. */
const struct recent_writers *writer_monitor_recent(const struct writer_monitor *monitor);

#endif
