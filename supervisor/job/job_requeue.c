/* Under Slurm, a preempted job requeues itself: the last step of its end. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "job.h"
#include "scheduler/scheduler.h"

#include <stdlib.h>

/* A controller that preempts many jobs at once is slow, and nothing else is left to do. */
#define SCONTROL_MS 20000

/* "Incomplete": Slurm itself refuses a job that was cancelled after slurm_job_query(). */
static void requeue_slurm_job(struct job *job, char *id)
{
	char *const argv[] = {"scontrol", "requeue", "Incomplete", id, NULL};
	auto_free char *said = NULL;
	struct err err;

	/* Log first: Slurm kills this step as soon as it gets the command. */
	log_note("requeueing Slurm's job %s", id);
	event_log_add(&job->events, "requeue", "{s:s}", "id", id);
	if (program_output(argv, SCONTROL_MS, &said, &err) < 0)
		log_warn("cannot requeue the job: %s; try `scontrol requeue %s`", err.text, id);
}

static bool is_at_time_limit(const struct job *job)
{
	bool any = false;

	for (size_t i = 0; i < job->notices.count; i++) {
		const struct notice *notice = &job->notices.items[i];

		if (notice->kind == NOTICE_STOP && notice_origin(notice) != NOTICE_AT_SLURM_LIMIT)
			return false;
		any |= notice->kind == NOTICE_STOP;
	}
	return any;
}

void job_requeue(struct job *job, const struct outcome *outcome)
{
	const char *restarts = getenv("SLURM_RESTART_COUNT");
	char durable[RESUME_POINT_TEXT];
	struct slurm_requeue_facts facts = {
		.wanted = job->rules.requeues,
		.preempted = outcome->kind == OUTCOME_PREEMPTED,
		.lost = outcome->kind == OUTCOME_NOT_DURABLE && job->model.facts.noticed,
		.durable = job_format_resume_point(job, durable)[0] != '\0',
		.at_limit = is_at_time_limit(job),
		.task = getenv("SLURM_PROCID"),
		.restarts = restarts ? strtol(restarts, NULL, 10) : 0,
	};
	struct slurm_requeue decision;
	char id[SLURM_JOB_ID_SIZE] = "";

	job_leave_slurm_barrier(job);
	if (slurm_requeue_needs_job(&facts))
		facts.asked = slurm_job_query(SCONTROL_MS, id, &facts.job);
	decision = slurm_requeue_decide(&facts);
	if (decision.verdict == SLURM_REQUEUE) {
		if (decision.why)
			log_warn("%s", decision.why);
		job_await_slurm_barrier(job);
		requeue_slurm_job(job, id);
	} else if (decision.verdict == SLURM_SKIP_NOTE) {
		log_note("%s", decision.why);
	} else if (decision.verdict == SLURM_SKIP_WARN) {
		log_warn("%s", decision.why);
	}
}
