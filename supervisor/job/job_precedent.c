/* What earlier attempts mean for this one, and what this one records for later ones. The rules are
 * pure (restore/restart_rules.h); here their decisions are logged and obeyed. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "telemetry/telemetry.h"

#include <stdlib.h>

struct restart_rules job_restart_rules(const struct job *job)
{
	const struct job_config *options = job->options;

	return (struct restart_rules){
		.max_no_progress = options->max_no_progress,
		.done_counts = job->name.given && !options->rerun,
		.may_roll_back = options->restore == RESTORE_LATEST,
		.afresh = options->restore == RESTORE_NONE,
		.any_command = job->gang.member > 0,
	};
}

char *job_explain_restart_decision(const struct job *job, struct storage *storage)
{
	struct restart_rules rules = job_restart_rules(job);
	auto_json json_t *about =
		json_pack("{s:o}", "command", redact_command(job->options->command));
	struct attempt_outcomes attempt_outcomes;

	return attempt_outcomes_read(storage, &rules, about, &attempt_outcomes, NULL, NULL) < 0
		       ? NULL
		       : attempt_outcomes_refusal(&attempt_outcomes, job->name.text);
}

bool job_apply_restart_rules(struct job *job, int *code)
{
	enum restart_action action = job->resume.attempt_outcomes.decision.action;

	if (job->resume_failed)
		return false;
	job->done = action == RESTART_DONE;
	*code = action == RESTART_NO_PROGRESS ? EXIT_NO_PROGRESS : 0;
	return resume_log_decision(&job->resume_request, &job->resume, &job->events);
}
