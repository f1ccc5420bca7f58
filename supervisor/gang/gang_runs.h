/*
 * PURE. Has the job begun anew within the attempt? A launcher may start the ranks again (torchrun,
 * a loop of a shell, elastic membership), from an earlier checkpoint, and they save a step once
 * more that the ranks before them have saved: the two are no checkpoint of one state. No launcher
 * says so in a way that is the same on all machines. But the processes are others:
 *
 * - A process that has written two checkpoints is dead while the job lives, and a process that has
 *   written none begins to: the job has begun anew. What was complete before is never given again.
 * - Until a new process has completed a checkpoint, nobody knows what the death of the newest one's
 *   writer means: nothing is given.
 *
 * Savers that fork a process for each checkpoint wrote one each. Who writes is known through the
 * shim alone.
 */
#ifndef GANG_RUNS_H
#define GANG_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More ranks than a machine has. */
#define GANG_WRITERS_MOST 256

struct gang_writer {
	/* 0: another process has its number by now, or another program runs in it. */
	int pid;
	bool dead;
	/* Checkpoints of different steps that it wrote to; the step of the last one. */
	unsigned written;
	int64_t step;
	/* It has written since the newest checkpoint was complete; it wrote that one. */
	bool writes, newest;
};

struct gang_runs {
	struct gang_writer writers[GANG_WRITERS_MOST];
	size_t count;
};

bool gang_runs_knows(const struct gang_runs *runs, int pid);
/* The process is gone, or runs another program. */
void gang_runs_note_dead(struct gang_runs *runs, int pid);
/* It writes to a checkpoint. Those that are gone are noted before. True: the job has begun anew. */
bool gang_runs_note_write(struct gang_runs *runs, int pid);
/* A checkpoint is complete; `step` -1: it has none. */
void gang_runs_note_complete(struct gang_runs *runs, int64_t step);
/* The newest checkpoint's writer is dead, and nobody else has completed one. */
bool gang_runs_holds(const struct gang_runs *runs);

#endif
