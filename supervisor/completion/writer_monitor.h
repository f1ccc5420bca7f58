/*
 * Who writes to the checkpoint directory, and how each of them ends: by the shim's word, by a look at who holds the files where nobody
 * has spoken (untracked_writers.h), and by /proc for those whom nobody waits for. What it finds, the decision (detector.h) is told. Lives on the
 * loop.
 */
#ifndef WRITER_MONITOR_H
#define WRITER_MONITOR_H

#include "base/loop.h"
#include "monitor/monitor.h"
#include "detector.h"

#include <sys/types.h>

struct writer_witness;

struct writer_witness_options {
	struct loop *loop;
	const char *directory;   /* canonical; borrowed */
	struct sealing *sealing; /* borrowed */
	/* Hands `sealing` what the shim and the kernel have queued: called before it is told of an end, or that nobody writes. */
	void (*drain)(void *arg);
	/* `sealing` was told of an end: decide soon. */
	void (*told)(void *arg);
	void *arg;
};

struct writer_witness *writer_witness_new(const struct writer_witness_options *options);
void writer_witness_free(struct writer_witness *witness);

/* `pid` writes here and says so. */
void writer_witness_heard(struct writer_witness *witness, pid_t pid);
/* A save has begun: whoever writes it is to be known before he ends. */
void writer_witness_hurry(struct writer_witness *witness);
/* The kernel says that a file has no writer any more. */
void writer_witness_closed(struct writer_witness *witness);
/* Any process that we reaped. */
void writer_witness_ended(struct writer_witness *witness, pid_t pid, enum sealing_end end);

/* Before a decision: is something being written of which no process has spoken, and by whom? Reads /proc, but not all the time. */
void writer_witness_look(struct writer_witness *witness);
/* While something was written and not acknowledged: finds those who have ended, and nobody said so. Reads /proc. */
void writer_witness_look_for_dead(struct writer_witness *witness);

/* Borrowed. */
const struct recent_writers *writer_witness_recent(const struct writer_witness *witness);

#endif
