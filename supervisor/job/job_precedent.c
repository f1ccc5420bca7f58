/* What earlier attempts mean for this one, and what this one records for later ones. The rules are
 * pure (restore/attempt_outcomes.h); here their decisions are logged and obeyed. */
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
		.may_roll_back = options->restore == RESTORE_LATEST,
		.wanted = options->restore == RESTORE_SPECIFIC ? options->restore_id
							       : (struct snapshot_id){0},
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

	if (attempt_outcomes_read(storage, &rules, about, &attempt_outcomes, NULL, NULL) < 0)
		return NULL;
	if (!job->options->take_over && job->gang.members == 1 &&
	    attempt_life_of(&attempt_outcomes.open, job->name.text) == ATTEMPT_LIVES_HERE)
		return attempt_outcomes_living(&attempt_outcomes, job->name.text);
	return attempt_outcomes_refusal(&attempt_outcomes, job->name.text);
}

bool job_apply_restart_rules(struct job *job, int *code)
{
	if (job->resume_failed)
		return false;
	*code = job->resume.attempt_outcomes.decision.action == RESTART_NO_PROGRESS
			? EXIT_NO_PROGRESS
			: 0;
	return resume_log_decision(&job->resume_request, &job->resume, &job->events);
}
