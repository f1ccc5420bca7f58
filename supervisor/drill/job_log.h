/* PURE. Finds the first and the last training step that a job printed: "step 120 loss 0.3",
 * "Step: 120", "steps=120". */
#ifndef JOB_LOG_H
#define JOB_LOG_H

#include <stddef.h>
#include <stdint.h>

struct job_steps {
	int64_t first; /* -1: the job printed none */
	int64_t last;
};

/* Skips lines that begin with "reprieve: ", which are not the job's, and "resumed from step 118",
 * which is no step of this machine. */
struct job_steps job_log_steps(const char *text, size_t size);

/* The offset at which the last `lines` lines of a log begin. */
size_t job_log_tail(const char *text, size_t size, unsigned lines);

#endif
