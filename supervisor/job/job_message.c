/* Writes why the job ended to where Kubernetes and SageMaker show it
 * (scheduler/termination_message.h). */
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

/* --termination-log '' switches it off everywhere. */
static bool message_is_wanted(const struct job *job)
{
	return !job->options->termination_log || job->options->termination_log[0];
}

/* NULL: no file is to be written. */
static const char *message_path(const struct job *job)
{
	if (job->options->termination_log)
		return message_is_wanted(job) ? job->options->termination_log : NULL;
	return access(KUBERNETES_LOG, W_OK) == 0 ? KUBERNETES_LOG : NULL;
}

static void write_message_line(struct job *job, const char *path, const char *line)
{
	struct err err;

	if (termination_write(path, line, job->message, &err) < 0)
		log_warn("cannot write the termination message: %s", err.text);
	text_set(job->message, sizeof(job->message), line);
}

const char *job_format_resume_point(const struct job *job, char text[RESUME_POINT_TEXT])
{
	struct snapshot_id newest =
		job->snapshots ? snapshot_queue_newest(job->snapshots) : (struct snapshot_id){0};
	char id[SNAPSHOT_ID_TEXT];

	if (snapshot_id_is_none(newest) && job->resume.kind == RESUME_RESTORED)
		newest = job->resume.from;
	if (snapshot_id_is_none(newest))
		text_set(text, RESUME_POINT_TEXT, "");
	else if (job->model.durable.step < 0)
		text_set(text, RESUME_POINT_TEXT, snapshot_id_format(newest, id));
	else
		snprintf(text, RESUME_POINT_TEXT, "%s, step %lld", snapshot_id_format(newest, id),
			 (long long)job->model.durable.step);
	return text;
}

static void fill_termination_facts(const struct job *job, struct termination_facts *facts,
				   char durable[RESUME_POINT_TEXT])
{
	const struct notice *stop = notices_stop(&job->notices);

	*facts = (struct termination_facts){
		.durable = job_format_resume_point(job, durable),
		.source = stop ? stop->source : NULL,
		.reason = stop ? stop->reason : NULL,
	};
}

void job_write_notice_message(struct job *job)
{
	const char *path = message_path(job);
	struct termination_facts facts;
	char durable[RESUME_POINT_TEXT], line[TERMINATION_LINE_SIZE];

	if (!path)
		return;
	fill_termination_facts(job, &facts, durable);
	if (facts.source)
		write_message_line(job, path, termination_line(&facts, line));
}

void job_withdraw_notice_message(struct job *job)
{
	const char *path = message_path(job);

	if (path && job->message[0])
		write_message_line(job, path, "");
}

void job_write_end_message(struct job *job, const struct outcome *outcome)
{
	const char *path = message_path(job);
	struct termination_facts facts;
	char durable[RESUME_POINT_TEXT], line[TERMINATION_LINE_SIZE];

	if (outcome->exit_code == 0) {
		job_withdraw_notice_message(job);
		return;
	}
	fill_termination_facts(job, &facts, durable);
	facts.outcome = outcome_name(outcome);
	facts.exit_code = outcome->exit_code;
	termination_line(&facts, line);
	if (path)
		write_message_line(job, path, line);
	if (message_is_wanted(job) && getenv("TRAINING_JOB_NAME") &&
	    file_is_directory(SAGEMAKER_OUTPUT)) {
		job->message[0] = '\0';
		write_message_line(job, SAGEMAKER_OUTPUT "/failure", line);
	}
}
