/* What earlier attempts mean for this one, and what this one leaves for later ones (restart_rules.h). */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"
#include "telemetry/telemetry.h"

#include <stdlib.h>

json_t *job_command_words(const struct job *job)
{
	json_t *command = json_array();

	for (char **word = job->options->command; *word; word++) {
		const char *before = word == job->options->command ? NULL : word[-1];
		auto_free char *kept = secret_words_mask(before, *word);
		json_t *text = json_string(kept);

		json_array_append_new(command, text ? text : json_string("(not UTF-8)"));
	}
	return command;
}

struct precedent_rules job_precedent_rules(const struct job *job)
{
	const struct job_config *options = job->options;

	return (struct precedent_rules){.max_no_progress = options->max_no_progress,
		.done_counts = job->name.given && !options->rerun,
		.may_step_back = options->restore == RESTORE_LATEST,
		.afresh = options->restore == RESTORE_NONE};
}

/* NULL where it is. The caller frees. */
static char *why_not_started(const struct job *job, const struct earlier *earlier)
{
	if (earlier->ruling.action == PRECEDENT_DONE)
		return text_format("job %s finished (attempt %u, %s): nothing to do; --rerun "
				   "starts it all the same",
			job->name.text, earlier->newest,
			earlier->ended_at[0] ? earlier->ended_at : "no one knows when");
	if (earlier->ruling.action == PRECEDENT_STUCK)
		return text_format("job %s: the last %u attempt%s added no durable snapshot "
				   "(attempt %u %s): not started (exit %d); find out why, then run "
				   "it once with --max-no-progress 0",
			job->name.text, earlier->ruling.without_progress,
			earlier->ruling.without_progress == 1 ? "" : "s", earlier->newest,
			earlier->outcome, EXIT_NO_PROGRESS);
	return NULL;
}

char *job_foresee_precedent(const struct job *job, struct storage *storage)
{
	struct precedent_rules rules = job_precedent_rules(job);
	auto_json json_t *about = json_pack("{s:o}", "command", job_command_words(job));
	struct earlier earlier;

	return earlier_read(storage, &rules, about, &earlier, NULL, NULL) < 0
		       ? NULL
		       : why_not_started(job, &earlier);
}

static void tell_of_done(struct job *job)
{
	const struct earlier *earlier = &job->resume.earlier;
	auto_free char *why = why_not_started(job, earlier);

	log_note("%s", why);
	events_add(&job->events, "nothing_to_do", "{s:i, s:s}", "attempt", (int)earlier->newest,
		"finished", earlier->ended_at);
	job->done = true;
}

static void tell_of_no_progress(struct job *job)
{
	const struct earlier *earlier = &job->resume.earlier;
	auto_free char *why = why_not_started(job, earlier);

	log_error("%s", why);
	events_add(&job->events, "no_progress", "{s:i}", "attempts",
		(int)earlier->ruling.without_progress);
	job->refusal = EXIT_NO_PROGRESS;
}

static void tell_of_start(struct job *job)
{
	const struct precedent_ruling *ruling = &job->resume.earlier.ruling;
	char from[SNAPSHOT_ID_TEXT], suspect[SNAPSHOT_ID_TEXT];

	snapshot_id_format(job->resume.attempt.start, from);
	snapshot_id_format(ruling->snapshot, suspect);
	if (ruling->action == PRECEDENT_RETURN) {
		log_warn("the job dies of older checkpoints too, so that %s is not to blame: it "
			 "starts from that one again",
			suspect);
		events_add(&job->events, "returned", "{s:s}", "id", suspect);
	} else if (!snapshot_id_is_none(job->resume.attempt.suspect)) {
		log_warn("the job died twice soon after it had been given %s: it starts from the "
			 "one before, %s; --restore %s goes back",
			suspect, from, suspect);
		events_add(&job->events, "stepped_back", "{s:s, s:s}", "suspect", suspect, "from",
			from);
	}
}

bool job_obey_precedent(struct job *job)
{
	enum precedent_action action = job->resume.earlier.ruling.action;

	if (job->resume_failed)
		return false;
	if (action == PRECEDENT_DONE)
		tell_of_done(job);
	else if (action == PRECEDENT_STUCK)
		tell_of_no_progress(job);
	else
		tell_of_start(job);
	if (action != PRECEDENT_DONE && action != PRECEDENT_STUCK)
		return false;
	job_feed(job, EV_RESTORE_FAILED);
	return true;
}

json_t *job_end_facts(const struct job *job, const struct outcome *outcome)
{
	bool any = job->snapshots && !snapshot_id_is_none(snapshots_newest(job->snapshots));
	bool crashed = text_equal(outcome->name, "failed") && !job->facts.noticed &&
		       !job->facts.start_failed && outcome_is_crash(job->facts.wait_status);
	json_t *about;
	char id[SNAPSHOT_ID_TEXT];

	about = json_pack("{s:i, s:s?, s:b, s:b, s:b, s:b}", "exit_code", outcome->exit_code,
		"newest", any ? snapshot_id_format(snapshots_newest(job->snapshots), id) : NULL,
		"done", outcome_is_done(&job->facts, outcome), "crashed", crashed, "sealed",
		job->any_sealed, "launched", job->facts.launched);
	if (job->pace.save_ms >= 0)
		json_object_set_new(about, "save_ms", json_integer(job->pace.save_ms));
	if (job->launched_ms > 0)
		json_object_set_new(
			about, "ran_ms", json_integer(clock_monotonic_ms() - job->launched_ms));
	return about;
}
