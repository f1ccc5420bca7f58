/*
 * supervisor/scheduler/: the contract with whoever runs us. In: the name of the job. Out: the
 * outcome, the exit code, the termination message, the requeue. The decisions are PURE;
 * slurm_job_query() and slurm_requeue_run() run scontrol, termination_message.h writes a file, the
 * tasks of slurm_task_barrier.h meet in the store.
 *
 * For other folders, through this header alone; read outcome.h first:
 *
 *	outcome.h		how the run ended, and the exit code that says so
 *	batch_scheduler.h	which signals of its scheduler announce the end of this job
 *	exit_policy.h		maps the exit code for one scheduler (--exit-policy)
 *	job_name.h		which job this is, so that the next machine finds its snapshots
 *	termination_message.h	why the job ended, for Kubernetes and SageMaker
 *	slurm_job.h		asks scontrol about the job that this process is in
 *	slurm_deadline.h	asks it on a thread when the job ends
 *	slurm_requeue.h		should a preempted job requeue itself? does it
 *	slurm_task_barrier.h	several tasks of one step: who has saved?
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "batch_scheduler.h"
#include "exit_policy.h"
#include "job_name.h"
#include "outcome.h"
#include "slurm_deadline.h"
#include "slurm_job.h"
#include "slurm_requeue.h"
#include "slurm_task_barrier.h"
#include "termination_message.h"

#endif
