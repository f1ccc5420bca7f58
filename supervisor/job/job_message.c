/* The reason of the end for those who only see an ended container (termination_message.h). */
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "scheduler/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KUBERNETES_LOG "/dev/termination-log"
#define SAGEMAKER_OUTPUT "/opt/ml/output"

/* --termination-log '': none, wherever that would be. */
static bool wanted(const struct job *job)
{
	return !job->options->termination_log || job->options->termination_log[0];
}

/* NULL: nobody reads one. */
static const char *message_path(const struct job *job)
{
	if (job->options->termination_log)
		return wanted(job) ? job->options->termination_log : NULL;
	return access(KUBERNETES_LOG, W_OK) == 0 ? KUBERNETES_LOG : NULL;
}

static void write_line(struct job *job, const char *path, const char *line)
{
	struct err err;

	if (termination_write(path, line, job->message, &err) < 0)
		log_warn("the termination message is not written: %s", err.text);
	text_set(job->message, sizeof(job->message), line);
}

const char *job_describe_durable(const struct job *job, char text[DURABLE_TEXT])
{
	struct snapshot_id newest =
		job->snapshots ? snapshots_newest(job->snapshots) : (struct snapshot_id){0};
	char id[SNAPSHOT_ID_TEXT];

	if (snapshot_id_is_none(newest) && job->resume.kind == RESUME_RESTORED)
		newest = job->resume.from;
	if (snapshot_id_is_none(newest))
		text_set(text, DURABLE_TEXT, "");
	else if (job->durable_step < 0)
		text_set(text, DURABLE_TEXT, snapshot_id_format(newest, id));
	else
		snprintf(text, DURABLE_TEXT, "%s, step %lld", snapshot_id_format(newest, id),
			(long long)job->durable_step);
	return text;
}

static void describe(
	const struct job *job, struct termination_facts *facts, char durable[DURABLE_TEXT])
{
	const struct notice *stop = notices_stop(&job->notices);

	*facts = (struct termination_facts){.durable = job_describe_durable(job, durable),
		.source = stop ? stop->source : NULL,
		.reason = stop ? stop->reason : NULL};
}

void job_write_notice_message(struct job *job)
{
	const char *path = message_path(job);
	struct termination_facts facts;
	char durable[DURABLE_TEXT], line[TERMINATION_LINE_SIZE];

	if (!path)
		return;
	describe(job, &facts, durable);
	if (facts.source)
		write_line(job, path, termination_line(&facts, line));
}

void job_withdraw_notice_message(struct job *job)
{
	const char *path = message_path(job);

	if (path && job->message[0])
		write_line(job, path, "");
}

void job_write_end_message(struct job *job, const struct outcome *outcome)
{
	const char *path = message_path(job);
	struct termination_facts facts;
	char durable[DURABLE_TEXT], line[TERMINATION_LINE_SIZE];

	if (outcome->exit_code == 0) {
		job_withdraw_notice_message(job);
		return;
	}
	describe(job, &facts, durable);
	facts.outcome = outcome->name;
	facts.exit_code = outcome->exit_code;
	termination_line(&facts, line);
	if (path)
		write_line(job, path, line);
	if (wanted(job) && getenv("TRAINING_JOB_NAME") && file_is_directory(SAGEMAKER_OUTPUT)) {
		job->message[0] = '\0';
		write_line(job, SAGEMAKER_OUTPUT "/failure", line);
	}
}
