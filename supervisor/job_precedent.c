/* What earlier attempts mean for this one, and what this one leaves for later ones (precedent.h). */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"

static void tell_of_done(struct job *job)
{
	const struct earlier *earlier = &job->resume.earlier;

	log_note("job %s finished (attempt %u, %s): nothing to do; --rerun starts it all the same",
		job->name.text, earlier->newest,
		earlier->ended_at[0] ? earlier->ended_at : "no one knows when");
	events_add(&job->events, "nothing_to_do", "{s:i, s:s}", "attempt", (int)earlier->newest,
		"finished", earlier->ended_at);
	job->done = true;
}

static void tell_of_no_progress(struct job *job)
{
	const struct earlier *earlier = &job->resume.earlier;

	log_error("job %s: the last %u attempt%s added no durable snapshot (attempt %u %s): not "
		  "started (exit %d); find out why, then run it once with --max-no-progress 0",
		job->name.text, earlier->ruling.without_progress,
		earlier->ruling.without_progress == 1 ? "" : "s", earlier->newest, earlier->outcome,
		EXIT_NO_PROGRESS);
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
