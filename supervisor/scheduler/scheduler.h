/*
 * supervisor/scheduler/: MAP
 *
 * For other folders, through this header alone:
 *
 *	exit_policy.h	* PURE
 *	job_name.h	* PURE: which job this is, so that the next machine finds its snapshots
 *	outcome.h	* PURE
 *	slurm_job.h	* What scontrol tells of a job (scontrol(1), tried with 22.05)
 *	slurm_requeue.h	* PURE
 *	slurm_task_barrier.h	* PURE
 *	termination_message.h   * What a scheduler shows of an ended container: Kubernetes'
 *	                        terminationMessagePath (/dev/termination-log, 4096 bytes are read:
 *	                        kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure)
 *	                        and SageMaker's /opt/ml/output/failure (its first 1024 characters:
 *	                        DescribeTrainingJob, FailureReason)
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "exit_policy.h"
#include "job_name.h"
#include "outcome.h"
#include "slurm_job.h"
#include "slurm_requeue.h"
#include "slurm_task_barrier.h"
#include "termination_message.h"

#endif
