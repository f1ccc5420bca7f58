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

static void log_done(struct job *job)
{
	const struct attempt_outcomes *attempt_outcomes = &job->resume.attempt_outcomes;
	auto_free char *why = attempt_outcomes_refusal(attempt_outcomes, job->name.text);

	log_note("%s", why);
	event_log_add(&job->events, "nothing_to_do", "{s:i, s:s}", "attempt",
		      (int)attempt_outcomes->newest, "finished", attempt_outcomes->ended_at);
	job->done = true;
}

static void log_no_progress(struct job *job)
{
	const struct attempt_outcomes *attempt_outcomes = &job->resume.attempt_outcomes;
	auto_free char *why = attempt_outcomes_refusal(attempt_outcomes, job->name.text);

	log_error("%s", why);
	event_log_add(&job->events, "no_progress", "{s:i}", "attempts",
		      (int)attempt_outcomes->decision.without_progress);
}

static void log_start_decision(struct job *job)
{
	const struct restart_decision *decision = &job->resume.attempt_outcomes.decision;
	char from[SNAPSHOT_ID_TEXT], suspect[SNAPSHOT_ID_TEXT];

	snapshot_id_format(job->resume.attempt.start, from);
	snapshot_id_format(decision->snapshot, suspect);
	if (decision->action == RESTART_REVERT) {
		log_warn("crashes also occur from older checkpoints: resuming from %s again",
			 suspect);
		event_log_add(&job->events, "reverted", "{s:s}", "id", suspect);
	} else if (!snapshot_id_is_none(job->resume.attempt.suspect)) {
		log_warn("crashed twice right after resuming from %s: resuming from the previous "
			 "one, %s (--restore %s to override)",
			 suspect, from, suspect);
		event_log_add(&job->events, "rolled_back", "{s:s, s:s}", "suspect", suspect, "from",
			      from);
	}
}

bool job_apply_restart_rules(struct job *job, int *code)
{
	enum restart_action action = job->resume.attempt_outcomes.decision.action;

	if (job->resume_failed)
		return false;
	if (action == RESTART_DONE)
		log_done(job);
	else if (action == RESTART_NO_PROGRESS)
		log_no_progress(job);
	else
		log_start_decision(job);
	*code = action == RESTART_NO_PROGRESS ? EXIT_NO_PROGRESS : 0;
	return action == RESTART_DONE || action == RESTART_NO_PROGRESS;
}
