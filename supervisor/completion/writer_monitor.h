/*
 * Who writes to the checkpoint directory, and how each of them ends: by the shim's word, by a look
 * at who holds the files where nobody has spoken (untracked_writers.h), and by /proc for those whom
 * nobody waits for. What it finds, the decision (detector.h) is told. Lives on the loop.
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
	/* Hands `sealing` what the shim and the kernel have queued: called before it is told of an
	 * end, or that nobody writes. */
	void (*drain)(void *arg);
	/* `sealing` was told of an end: decide soon. */
	void (*told)(void *arg);
	void *arg;
};

struct writer_monitor *writer_monitor_new(const struct writer_monitor_options *options);
void writer_monitor_free(struct writer_monitor *monitor);

/* `pid` writes here and says so. */
void writer_monitor_add(struct writer_monitor *monitor, pid_t pid);
/* A save has begun: whoever writes it is to be known before he ends. */
void writer_monitor_scan_soon(struct writer_monitor *monitor);
/* The kernel says that a file has no writer any more. */
void writer_monitor_file_closed(struct writer_monitor *monitor);
/* Any process that we reaped. */
void writer_monitor_process_ended(struct writer_monitor *monitor, pid_t pid, enum writer_end end);

/* Before a decision: is something being written of which no process has spoken, and by whom? Reads
 * /proc, but not all the time. */
void writer_monitor_scan(struct writer_monitor *monitor);
/* While something was written and not acknowledged: finds those who have ended, and nobody said
 * so. Reads /proc. */
void writer_monitor_scan_dead(struct writer_monitor *monitor);

/* Borrowed. */
const struct recent_writers *writer_monitor_recent(const struct writer_monitor *monitor);

#endif
