/*
 * Should a job that was preempted under Slurm requeue itself? Only if nobody else does it, and
 * never if its user has cancelled it.
 *
 * The end of its time, and the signal that it has asked for ahead of it (--signal), announce one
 * thing. Whichever comes first is the notice, and the earlier deadline counts: the limit, or
 * --grace after the signal. A job that asks for the signal asks for its requeue by that, also where
 * it has ended before the signal would have come. One that does not is meant to end at its limit.
 *
 * The facts about Slurm are from scontrol(1), sbatch(1) and
 * slurm.conf(5), tested with 22.05. PURE, except for slurm_requeue_run().
 */
#ifndef SLURM_REQUEUE_H
#define SLURM_REQUEUE_H

#include "slurm_job.h"

#include <stdbool.h>

struct storage;

struct slurm_requeue_facts {
	bool wanted;    /* --requeue auto, in a job of Slurm's */
	bool preempted; /* the outcome: there was a notice, and the work is durable */
	bool lost;      /* the outcome: there was a notice, and the newest work is not durable */
	bool durable;   /* some checkpoint is durable, perhaps an older one */
	bool at_limit;  /* the only notice was the job's own time limit */
	bool signalled; /* AT_LIMIT: the job asks for a signal ahead of that, as far as is known */
	const char *task;  /* SLURM_PROCID; NULL: not set */
	long restarts;     /* SLURM_RESTART_COUNT; 0: not set */
	bool script_ended; /* our parent was slurm_job_script(), and has ended */
	enum slurm_query_result asked;
	struct slurm_job job; /* valid if `asked` is SLURM_QUERY_OK */
	int exit_code;        /* that we leave with */
};

enum slurm_requeue_verdict {
	SLURM_REQUEUE,
	SLURM_SKIP_SILENTLY, /* nothing to requeue, or another task does it */
	SLURM_SKIP_NOTE,     /* not requeued, as intended */
	SLURM_SKIP_WARN,     /* not requeued, and the user has to do something */
};

struct slurm_requeue {
	enum slurm_requeue_verdict verdict;
	const char *why; /* a sentence to log; NULL: none; with SLURM_REQUEUE it is a warning */
	bool code_may_requeue; /* skipped, but Slurm may requeue it for its exit code */
};

/* If scontrol does not answer, the job may have been cancelled, so it is not requeued. */
struct slurm_requeue slurm_requeue_decide(const struct slurm_requeue_facts *facts);

/* What to log of such a job, by what Slurm does with our exit code, if the batch script ends with
 * it as well. The caller frees. */
char *slurm_requeue_say(const struct slurm_requeue *decision, enum slurm_exit_rule rule,
			int exit_code);

/* Does the decision depend on whether the job asks for a signal? */
bool slurm_requeue_needs_signal(const struct slurm_requeue_facts *facts);

/* Does the decision depend on scontrol's answer? */
bool slurm_requeue_needs_job(const struct slurm_requeue_facts *facts);

/* All borrowed. */
struct slurm_requeue_run {
	/* of `facts`, what is known before the environment and scontrol are asked: the first five,
	 * `script_ended` and `exit_code` */
	struct slurm_requeue_facts facts;
	struct storage *storage; /* where the other tasks are waited for; may be NULL */
	int64_t seen_ms;         /* of the stop notice, monotonic; 0: there is none */
	int64_t deadline_ms;
	/* Called just before: Slurm kills this step as soon as it gets the command. */
	void (*requeueing)(void *arg, const char *id);
	void *arg;
};

/* The last step of a job's end. Logs the decision and what fails. Blocks for scontrol, 20 s a call
 * at most, for slurm_task_barrier_await(), and after the script's end until Slurm has written down
 * how it has ended, 15 s at most. */
void slurm_requeue_run(const struct slurm_requeue_run *run);

#endif
