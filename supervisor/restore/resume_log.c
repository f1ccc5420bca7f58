#include "resume.h"

#include "attempt_life.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "scheduler/scheduler.h"
#include "telemetry/telemetry.h"

#include <stdio.h>
#include <stdlib.h>

static void log_start(const struct resume_request *request, const struct resume_result *result)
{
	const char *directory = request->workspace->directory;
	bool none = request->policy == RESTORE_NONE;
	/* Which of the files that lie there it takes, the job alone knows: its pointer may name an
	 * older step. */
	const char *step_is =
		result->kind == RESUME_KEPT && !none ? "whose newest step is" : "step";
	char from[SNAPSHOT_ID_TEXT], size[24], time[32], step[64] = "", job[200];

	if (result->no_room || result->no_answer)
		snprintf(job, sizeof(job), "job %s, without a claim", request->job);
	else
		snprintf(job, sizeof(job), "job %s, attempt %u", request->job,
			 result->attempt.number);
	if (result->step >= 0)
		snprintf(step, sizeof(step), ", %s %lld", step_is, (long long)result->step);
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

static const char *environment_value(void *arg, const char *name)
{
	(void)arg;
	return getenv(name);
}

static enum slurm_neighbour holder_is(const struct resume_request *request, const char **advice)
{
	const char *element = job_name_element(environment_value, NULL, advice);
	enum slurm_neighbour neighbour =
		slurm_job_neighbour(request->workspace->holder, request->job,
				    getenv("SLURM_STEP_NUM_TASKS"), getenv("SLURM_PROCID"),
				    element);

	if (neighbour != SLURM_ELEMENT)
		*advice = slurm_neighbour_advice(neighbour);
	return neighbour;
}

const char *resume_way_out_of_use(const struct resume_request *request)
{
	const char *advice;

	holder_is(request, &advice);
	return advice;
}

/* On another machine, or one after the other, no lock keeps them apart. */
static void warn_of_shared_directory(const struct resume_request *request)
{
	const char *advice;

	if (holder_is(request, &advice) == SLURM_ELEMENT)
		log_warn("the last run in %s was %s, whose checkpoints may be in it%s",
			 request->workspace->directory, request->workspace->holder, advice);
}

void resume_log(const struct resume_request *request, const struct resume_result *resume,
		struct event_log *events)
{
	char from[SNAPSHOT_ID_TEXT], start[SNAPSHOT_ID_TEXT];
	bool has_start = !snapshot_id_is_none(resume->attempt.start);

	warn_of_shared_directory(request);
	if (resume->no_answer || (resume->no_room && resume->storage))
		log_start(request, resume);
	if (resume->attempt.number == 0)
		return;
	if (resume_is_first(resume) && !request->named)
		log_note("job %s: named after its directory and command; use --job NAME to "
			 "continue it in another directory",
			 request->job);
	if (resume->predecessor.attempt > 0)
		event_log_add(events, "predecessor_waited", "{s:i, s:s, s:b, s:f}", "attempt",
			      (int)resume->predecessor.attempt, "host", resume->predecessor.host,
			      "ended", resume->predecessor.ended, "seconds",
			      (double)resume->predecessor.waited_ms / 1000);
	event_log_add(events, "claimed", "{s:i, s:s?}", "attempt", (int)resume->attempt.number,
		      "start", has_start ? snapshot_id_format(resume->attempt.start, start) : NULL);
	for (size_t i = 0; i < resume->passed_over_count; i++)
		event_log_add(events, "snapshot_skipped", "{s:s, s:s}", "id",
			      snapshot_id_format(resume->passed_over[i].id, from), "why",
			      resume->passed_over[i].text);
	log_start(request, resume);
	if (resume_is_first(resume) && request->private_store &&
	    network_fs_is_own_disk(request->store))
		log_note("this store is on this machine's own disk and may be lost with the "
			 "machine: choose another with --store");
	if (resume->kind == RESUME_RESTORED)
		event_log_add(events, "restored", "{s:s, s:o, s:i, s:I, s:I, s:f}", "id",
			      snapshot_id_format(resume->from, from), "step",
			      json_integer_or_null(resume->step), "files",
			      (int)resume->restored.files, "bytes",
			      (json_int_t)resume->restored.bytes, "bytes_fetched",
			      (json_int_t)resume->restored.bytes_fetched, "seconds",
			      (double)resume->milliseconds / 1000);
}

/* --- whether it starts --- */

static void log_no_progress(const struct resume_request *request,
			    const struct attempt_outcomes *attempt_outcomes,
			    struct event_log *events)
{
	auto_free char *why = attempt_outcomes_refusal(attempt_outcomes, request->job);

	log_error("%s", why);
	event_log_add(events, "no_progress", "{s:i}", "attempts",
		      (int)attempt_outcomes->decision.without_progress);
}

static void log_start_decision(const struct resume_result *resume, struct event_log *events)
{
	const struct restart_decision *decision = &resume->attempt_outcomes.decision;
	char from[SNAPSHOT_ID_TEXT], suspect[SNAPSHOT_ID_TEXT];

	snapshot_id_format(resume->attempt.start, from);
	snapshot_id_format(decision->snapshot, suspect);
	if (decision->action == RESTART_REVERT) {
		log_warn("crashes also occur from older checkpoints: resuming from %s again",
			 suspect);
		event_log_add(events, "reverted", "{s:s}", "id", suspect);
	} else if (!snapshot_id_is_none(resume->attempt.suspect)) {
		log_warn("crashed right after resuming from %s: resuming from the one before "
			 "it, %s (--restore %s to override)",
			 suspect, from, suspect);
		event_log_add(events, "rolled_back", "{s:s, s:s}", "suspect", suspect, "from",
			      from);
	}
}

/* Another member may have read of the attempt that is just being begun. */
static void log_takeover(const struct resume_request *request, const struct resume_result *resume)
{
	const struct attempt_outcomes *attempt_outcomes = &resume->attempt_outcomes;
	const struct open_attempt *open = &attempt_outcomes->open;
	auto_free char *text = NULL;
	enum attempt_life life;

	if (!open->is_open || request->gang.member > 0 ||
	    resume->predecessor.attempt == attempt_outcomes->newest)
		return;
	life = attempt_life_of(open, request->job);
	if (life == ATTEMPT_IS_GONE)
		return;
	text = attempt_outcomes_takeover(attempt_outcomes, request->job,
					 life == ATTEMPT_LIVES_HERE);
	if (life == ATTEMPT_LIVES_HERE)
		log_warn("%s", text);
	else
		log_note("%s", text);
}

bool resume_log_decision(const struct resume_request *request, const struct resume_result *resume,
			 struct event_log *events)
{
	enum restart_action action = resume->attempt_outcomes.decision.action;

	if (action == RESTART_NO_PROGRESS) {
		log_no_progress(request, &resume->attempt_outcomes, events);
		return true;
	}
	log_takeover(request, resume);
	log_start_decision(resume, events);
	return false;
}
