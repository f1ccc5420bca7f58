/*
 * PURE. Should a job that was preempted under Slurm ask to be requeued? Only when nobody else does,
 * and never when its user has cancelled it. Facts of Slurm: scontrol(1), sbatch(1), slurm.conf(5),
 * tried with 22.05.
 */
#ifndef SLURM_REQUEUE_H
#define SLURM_REQUEUE_H

#include "slurm_job.h"

#include <stdbool.h>

struct slurm_requeue_facts {
	bool wanted;      /* --requeue auto, and a job of Slurm's */
	bool preempted;   /* this is the outcome: a notice, and the work is durable */
	bool lost;        /* likewise, but the newest work is not */
	bool durable;     /* something is, be it older */
	bool at_limit;    /* all that was announced is the job's own time limit */
	const char *task; /* SLURM_PROCID; NULL: none */
	long restarts;    /* SLURM_RESTART_COUNT; 0 where it is not set */
	enum slurm_query_result asked;
	struct slurm_job job; /* if it has answered */
};

enum slurm_requeue_verdict {
	SLURM_REQUEUE,
	SLURM_SKIP_SILENTLY, /* nothing to requeue, or another task does it */
	SLURM_SKIP_NOTE,     /* as it should be */
	SLURM_SKIP_WARN,     /* the user has to do something, or work stays undone */
};

struct slurm_requeue {
	enum slurm_requeue_verdict verdict;
	const char *why; /* a sentence; NULL: none is needed; with SLURM_REQUEUE a warning */
};

/* Without an answer about the job there is none about its cancellation either: it is left alone. */
struct slurm_requeue slurm_requeue_decide(const struct slurm_requeue_facts *facts);

/* Is it worth asking scontrol? */
bool slurm_requeue_needs_job(const struct slurm_requeue_facts *facts);

#endif
