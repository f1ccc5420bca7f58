/* What one member of a gang is told, all are. */
#include "base/clock.h"
#include "base/text.h"
#include "job.h"

#include <string.h>

static const char gang_source[] = "gang";

static void on_gang_notice(void *arg, int64_t left_ms, bool saved, const char *text)
{
	struct job *job = arg;
	struct notice notice = {.kind = NOTICE_STOP, .seen_ms = clock_monotonic_ms()};

	text_set(notice.source, sizeof(notice.source), gang_source);
	text_set(notice.identity, sizeof(notice.identity), gang_source);
	text_set(notice.reason, sizeof(notice.reason), text);
	notice.deadline_ms = notice.seen_ms + left_ms;
	job->gang_saved = saved;
	job_add_notice(job, &notice);
}

void job_start_gang_notices(struct job *job)
{
	struct gang_notices_options options = {
		.loop = &job->loop,
		.storage = job->resume.storage,
		.identity = job->gang,
		.attempt = job->resume.attempt.number,
		.notice = on_gang_notice,
		.arg = job,
	};
	const struct notice *stop = notices_stop(&job->notices);
	struct err err;

	if (job->gang.members == 1)
		return;
	if (gang_notices_start(&job->gang_notices, &options, &err) < 0)
		job_report_failure(job, "a notice of another member will not be seen", &err);
	/* It came during the restore. */
	else if (stop)
		job_tell_gang(job, stop);
}

bool job_gang_has_saved(const struct job *job, const struct notice *stop)
{
	return job->gang_saved && text_equal(stop->source, gang_source);
}

void job_tell_gang(struct job *job, const struct notice *stop)
{
	if (!text_equal(stop->source, gang_source))
		gang_notices_tell(&job->gang_notices, clock_left_ms(stop->deadline_ms),
				  stop->reason);
}
