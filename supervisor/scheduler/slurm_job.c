#include "slurm_job.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Finds "KEY=" at the start of a word; returns the text behind it, or NULL. */
static const char *find_field(const char *text, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = text; (at = strstr(at, key)); at += length)
		if ((at == text || isspace((unsigned char)at[-1])) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

bool slurm_job_parse(const char *text, struct slurm_job *job)
{
	const char *state = find_field(text, "JobState"), *restarts = find_field(text, "Restarts"),
		   *requeue = find_field(text, "Requeue"), *batch = find_field(text, "BatchFlag"),
		   *preempted = find_field(text, "PreemptTime"), *end = find_field(text, "EndTime"),
		   *code = find_field(text, "ExitCode");
	struct tm at = {.tm_isdst = -1};
	size_t length = state ? strcspn(state, " \t\n") : 0;

	*job = (struct slurm_job){.restarts = -1};
	if (length == 0 || length >= sizeof(job->state) || !find_field(text, "JobId"))
		return false;
	memcpy(job->state, state, length);
	job->requeueable = requeue && *requeue == '1';
	job->batch = batch && *batch >= '1' && *batch <= '9';
	if (restarts && isdigit((unsigned char)*restarts))
		job->restarts = strtol(restarts, NULL, 10);
	/* PreemptTime is "None" or a time. */
	job->preempted = preempted && isdigit((unsigned char)*preempted);
	/* "CODE:SIGNAL" */
	if (code)
		sscanf(code, "%*u:%d", &job->script_signal);
	if (end && strptime(end, "%Y-%m-%dT%H:%M:%S", &at))
		job->end_ms = (int64_t)mktime(&at) * 1000;
	return true;
}

static bool is_all_digits(const char *text)
{
	return text && *text && strspn(text, "0123456789") == strlen(text);
}

bool slurm_job_id(const char *job, const char *array_job, const char *array_task, char *id,
		  size_t capacity)
{
	int length;

	if (array_job && array_task) {
		if (!is_all_digits(array_job) || !is_all_digits(array_task))
			return false;
		length = snprintf(id, capacity, "%s_%s", array_job, array_task);
	} else {
		if (!is_all_digits(job))
			return false;
		length = snprintf(id, capacity, "%s", job);
	}
	return length > 0 && (size_t)length < capacity;
}

pid_t slurm_job_script(const char *task, pid_t parent)
{
	uint64_t pid;

	return task && text_to_u64(task, INT_MAX, &pid) && pid > 1 && (pid_t)pid == parent
		       ? parent
		       : 0;
}

int64_t slurm_job_deadline(const struct slurm_job *job, int64_t now_ms, int64_t deadline_ms)
{
	bool ahead = text_equal(job->state, "RUNNING") && job->end_ms > now_ms;

	return ahead && job->end_ms < deadline_ms ? job->end_ms : deadline_ms;
}

enum slurm_query_result slurm_job_query(int64_t timeout_ms, char id[SLURM_JOB_ID_SIZE],
					struct slurm_job *job)
{
	char *const argv[] = {"scontrol", "--oneliner", "show", "job", id, NULL};
	auto_free char *said = NULL;
	struct err err;

	if (!slurm_job_id(getenv("SLURM_JOB_ID"), getenv("SLURM_ARRAY_JOB_ID"),
			  getenv("SLURM_ARRAY_TASK_ID"), id, SLURM_JOB_ID_SIZE)) {
		id[0] = '\0';
		return SLURM_QUERY_FAILED;
	}
	if (program_output(argv, timeout_ms, &said, &err) < 0) {
		log_debug("%s", err.text);
		return err.kind == ERR_NOT_FOUND ? SLURM_QUERY_NO_PROGRAM : SLURM_QUERY_FAILED;
	}
	return slurm_job_parse(said, job) ? SLURM_QUERY_OK : SLURM_QUERY_FAILED;
}
