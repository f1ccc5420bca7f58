#include "resume.h"

#include "base/log.h"
#include "base/text.h"

#include <stdio.h>

void resume_log(const struct resume_request *request, const struct resume_result *result)
{
	const char *directory = request->workspace->directory;
	bool none = request->policy == RESTORE_NONE;
	char from[SNAPSHOT_ID_TEXT], size[24], time[32], step[40] = "", job[200];

	snprintf(job, sizeof(job), "job %s, attempt %u", request->job, result->attempt.number);
	if (result->step >= 0)
		snprintf(step, sizeof(step), ", step %lld", (long long)result->step);
	if (result->kind == RESUME_FRESH)
		log_note("%s: starting from scratch (%s); checkpoints are expected in %s", job,
			 none ? "--restore none" : "no snapshot yet", directory);
	else if (result->kind == RESUME_KEPT && none)
		log_warn("%s: --restore none: nothing restored; existing files in %s are kept%s "
			 "(empty it to start from scratch)",
			 job, directory, step);
	else if (result->kind == RESUME_KEPT)
		log_note("%s: resuming from the files in %s%s", job, directory, step);
	else
		log_note("%s: restored %s%s, %s in %s, to %s", job,
			 snapshot_id_format(result->from, from), step,
			 text_bytes(result->restored.bytes, size, sizeof(size)),
			 text_duration(result->milliseconds, time, sizeof(time)), directory);
}
