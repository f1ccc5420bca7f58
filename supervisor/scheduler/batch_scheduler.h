/*
 * PURE. Schedulers that announce the end of a job by a signal of their own, beside SIGTERM: which,
 * and to whom. In a job of theirs it is a notice, and no wish for a checkpoint.
 */
#ifndef BATCH_SCHEDULER_H
#define BATCH_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

struct batch_scheduler {
	const char *name;     /* of the notice's source, and of the exit policy: "sge" */
	const char *title;    /* for people */
	const char *variable; /* is set in its jobs, and nowhere else */
	const char *option;   /* has it announce the end: "-notify" */
	uint64_t signals;     /* bit n - 1: it announces the end by signal n */
	/* The signals go to every process of the job, also to one of another session; false: to its
	 * first process, or to what the user says. */
	bool to_all;
	/* It is asked to start the job again, by a program; false: by the exit code. */
	bool asked_to_requeue;
};

/* Whose job this process is in; NULL: none of theirs. `get` as getenv(3). Static. */
const struct batch_scheduler *batch_scheduler_find(char *(*get)(const char *name));

#endif
