/*
 * What scontrol tells of a job (scontrol(1), tried with 22.05). All but slurm_job_query() is PURE
 * but for the time zone, in which Slurm writes its times.
 */
#ifndef SLURM_JOB_H
#define SLURM_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of `scontrol --oneliner show job ID`. */
struct slurm_job {
	char state[32];   /* "RUNNING", "COMPLETING", ...; "" unless it was there */
	bool requeueable; /* Requeue=1: --requeue, or JobRequeue of the cluster */
	bool batch;       /* only what sbatch started has a script to start again */
	bool preempted;   /* PreemptTime: its grace time has begun */
	long restarts;    /* -1: not there */
	/* EndTime, milliseconds since 1970: the end of its grace time or of its
	 * time limit; 0: not there */
	int64_t end_ms;
};

/* False where the text is no job's. */
bool slurm_job_parse(const char *text, struct slurm_job *job);

/*
 * What scontrol calls this job: an element of an array by both numbers, because the number of the
 * array alone means all of its elements. False where it does not fit, or an id holds anything but
 * digits.
 */
bool slurm_job_id(const char *job, const char *array_job, const char *array_task, char *id,
		  size_t capacity);

/*
 * When the job will be gone: EndTime where that is before `deadline_ms` and still ahead, both in
 * milliseconds since 1970; else `deadline_ms`. Of what Slurm is ending already (scancel) EndTime
 * says when that began, which is nobody's deadline.
 */
int64_t slurm_job_deadline(const struct slurm_job *job, int64_t now_ms, int64_t deadline_ms);

/* What came of asking scontrol. */
enum slurm_query_result {
	SLURM_QUERY_OK,
	SLURM_QUERY_NO_PROGRAM, /* no scontrol here, as in a container */
	SLURM_QUERY_FAILED,     /* it failed, or took too long */
};

#define SLURM_JOB_ID_SIZE 48
/* `scontrol show job`, of the job that this process runs in. Blocks for at most `timeout_ms`. `id`
 * gets its name, "" where there is none. */
enum slurm_query_result slurm_job_query(int64_t timeout_ms, char id[SLURM_JOB_ID_SIZE],
					struct slurm_job *job);

#endif
