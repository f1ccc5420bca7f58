#include "slurm_requeue.h"

#include "base/text.h"

static bool is_first_task(const struct slurm_requeue_facts *facts)
{
	return !facts->task || text_equal(facts->task, "0");
}

bool slurm_requeue_needs_job(const struct slurm_requeue_facts *facts)
{
	return facts->wanted && (facts->preempted || (facts->lost && facts->durable)) &&
	       !facts->at_limit && is_first_task(facts);
}

static struct slurm_requeue skip_requeue(enum slurm_requeue_verdict verdict, const char *why)
{
	return (struct slurm_requeue){verdict, why};
}

static struct slurm_requeue decide_by_job(const struct slurm_requeue_facts *facts)
{
	const struct slurm_job *job = &facts->job;

	if (!job->batch)
		return skip_requeue(SLURM_SKIP_NOTE, "not requeued: no batch script started this "
						     "job (srun, salloc)");
	/* Somebody was faster: this start belongs to the past. */
	if (job->restarts > facts->restarts || text_equal(job->state, "PENDING") ||
	    text_equal(job->state, "REQUEUED"))
		return skip_requeue(SLURM_SKIP_NOTE, "Slurm has requeued this job already");
	/*
	 * Cancelled, timed out or preempted to the end: scontrol says COMPLETING for all of them.
	 * Slurm requeues by itself what it preempted; the others are meant to end.
	 */
	if (!text_equal(job->state, "RUNNING"))
		return skip_requeue(SLURM_SKIP_NOTE,
				    "not requeued: Slurm has ended this job (scancel, the time "
				    "limit without --signal), or requeues it itself (preemption)");
	if (!job->requeueable)
		return skip_requeue(SLURM_SKIP_WARN, "not requeued: the job does not allow it: "
						     "submit it with sbatch --requeue");
	return skip_requeue(SLURM_REQUEUE,
			    facts->lost ? "the newest work is not durable: the job will go on "
					  "from the checkpoint before"
					: NULL);
}

struct slurm_requeue slurm_requeue_decide(const struct slurm_requeue_facts *facts)
{
	if (!facts->wanted || (!facts->preempted && !facts->lost))
		return skip_requeue(SLURM_SKIP_SILENTLY, NULL);
	if (!is_first_task(facts))
		return skip_requeue(SLURM_SKIP_NOTE,
				    "the job's first task asks for the requeue, not this one");
	if (facts->at_limit)
		return skip_requeue(SLURM_SKIP_NOTE,
				    "not requeued: this is the job's own time limit; submit it "
				    "again to go on, or with --signal=B:TERM@120, which asks for a "
				    "requeue");
	if (facts->lost && !facts->durable)
		return skip_requeue(SLURM_SKIP_WARN,
				    "not requeued, because nothing is durable: it would begin "
				    "afresh; see why, then `scontrol requeue`");
	if (facts->asked == SLURM_QUERY_NO_PROGRAM)
		return skip_requeue(SLURM_SKIP_WARN,
				    "not requeued: there is no scontrol here; with RequeueExit=75 "
				    "in slurm.conf Slurm requeues a batch script that ends with "
				    "this exit code");
	if (facts->asked == SLURM_QUERY_FAILED)
		return skip_requeue(SLURM_SKIP_WARN,
				    "not requeued: scontrol does not tell the state of "
				    "this job, which its user "
				    "may have cancelled: requeue it by hand");
	return decide_by_job(facts);
}
