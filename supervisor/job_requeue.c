/* The last thing that a preempted job does under Slurm: it asks to be started again. */
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "program_output.h"
#include "slurm_requeue.h"
#include "slurm_tasks.h"

#include <stdio.h>
#include <stdlib.h>

AUTO(struct cancel, cancel_release);

/* A controller with many jobs to preempt at once is slow. What we wait for here is all that is left to do. */
#define SCONTROL_MS 20000

/* The others are looked for so often, and only while so much is left for the requeue itself. */
#define LOOK_MS 1000
#define RESERVE_MS 5000
/* What a task has to tell the first is no reason to linger. */
#define SIGN_MS 5000

bool job_is_requeued_by_us(const struct job *job)
{
	const char *id = getenv("SLURM_JOB_ID");

	return job->options->requeue && id && *id;
}

/* "Incomplete": Slurm itself refuses a job that was cancelled since it was asked about. */
static void requeue(struct job *job, char *id)
{
	char *const argv[] = {"scontrol", "requeue", "Incomplete", id, NULL};
	auto_free char *said = NULL;
	struct err err;

	/* Said before, because Slurm ends us as soon as it has heard it. */
	log_note("requeueing Slurm's job %s", id);
	events_add(&job->events, "requeue", "{s:s}", "id", id);
	if (program_output(argv, SCONTROL_MS, &said, &err) < 0)
		log_warn("the job is not requeued: %s; try `scontrol requeue %s`", err.text, id);
}

/* SIGUSR1 ahead of the end (--signal) is Slurm's too, but asks for a requeue. */
static bool is_limit(const struct notice *notice)
{
	return text_equal(notice->source, "slurm") && text_equal(notice->identity, "end");
}

static bool is_at_limit(const struct job *job)
{
	bool any = false;

	for (size_t i = 0; i < job->notices.count; i++) {
		const struct notice *notice = &job->notices.items[i];

		if (notice->kind == NOTICE_STOP && !is_limit(notice))
			return false;
		any |= notice->kind == NOTICE_STOP;
	}
	return any;
}

/* --- several tasks: a requeue ends them all --- */

static bool is_one_of_several(const struct job *job, struct slurm_tasks *tasks)
{
	return job->resume.storage &&
	       slurm_tasks_parse(getenv("SLURM_STEP_NUM_TASKS"), getenv("SLURM_PROCID"),
		       getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID"),
		       getenv("SLURM_RESTART_COUNT"), tasks);
}

/* However it ended: there is nothing of it to wait for any more. */
static void tell_first_task(struct job *job, const struct slurm_tasks *tasks)
{
	auto_(cancel_release) struct cancel cancel = {.fd = -1};
	char name[16];
	struct err err;

	snprintf(name, sizeof(name), "%u", tasks->number);
	if (cancel_init(&cancel, &err) < 0)
		return;
	cancel_set_deadline(&cancel, clock_monotonic_ms() + SIGN_MS);
	if (storage_sign(job->resume.storage, tasks->roll, name, &cancel, &err) < 0)
		log_debug("the first task will not know that this one is through: %s", err.text);
}

/* Until the deadline at most: then Slurm ends them anyway. */
static void wait_for_other_tasks(struct job *job, const struct slurm_tasks *tasks)
{
	const struct notice *stop = notices_stop(&job->notices);
	auto_(cancel_release) struct cancel cancel = {.fd = -1};
	size_t count = 0;
	bool said = false;
	struct err err;

	if (!stop || cancel_init(&cancel, &err) < 0)
		return;
	cancel_set_deadline(&cancel, stop->deadline_ms - RESERVE_MS);
	while (storage_count_signed(job->resume.storage, tasks->roll, &count, &cancel, &err) == 0) {
		if (count >= tasks->count - 1)
			return;
		if (!said)
			log_note("waiting for the other tasks of this job, at most until the "
				 "deadline: a "
				 "requeue ends them");
		said = true;
		if (cancel_sleep(&cancel, LOOK_MS, &err) < 0)
			break;
	}
	log_warn("%zu of the %u other tasks are not through: the requeue ends them",
		tasks->count - 1 - count, tasks->count - 1);
}

void job_requeue(struct job *job, const struct outcome *outcome)
{
	const char *restarts = getenv("SLURM_RESTART_COUNT");
	char durable[DURABLE_TEXT];
	struct slurm_requeue_facts facts = {.wanted = job_is_requeued_by_us(job),
		.preempted = text_equal(outcome->name, "preempted"),
		.lost = text_equal(outcome->name, "lost") && job->facts.noticed,
		.durable = job_describe_durable(job, durable)[0] != '\0',
		.at_limit = is_at_limit(job),
		.task = getenv("SLURM_PROCID"),
		.restarts = restarts ? strtol(restarts, NULL, 10) : 0};
	struct slurm_requeue decision;
	struct slurm_tasks tasks;
	bool several = facts.wanted && is_one_of_several(job, &tasks);
	char id[SLURM_JOB_ID_SIZE] = "";

	if (several && tasks.number != 0)
		tell_first_task(job, &tasks);
	if (slurm_requeue_needs_job(&facts))
		facts.asked = slurm_job_ask(SCONTROL_MS, id, &facts.job);
	decision = slurm_requeue_decide(&facts);
	if (decision.verdict == SLURM_REQUEUE) {
		if (decision.why)
			log_warn("%s", decision.why);
		if (several)
			wait_for_other_tasks(job, &tasks);
		requeue(job, id);
	} else if (decision.verdict == SLURM_LEAVE_NOTE) {
		log_note("%s", decision.why);
	} else if (decision.verdict == SLURM_LEAVE_WARN) {
		log_warn("%s", decision.why);
	}
}
