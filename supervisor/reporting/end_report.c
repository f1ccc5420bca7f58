/* How the run has ended, and what is durable: for people, and as a record. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "reporting.h"
#include "workspace/workspace.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define DURABLE_TEXT 200
#define CONTINUE_TEXT 280

/* The run, and what more than one sentence needs. */
struct ending {
	const struct run_facts *run;
	const struct end_facts *end;
	bool has_durable; /* something is */
	bool restored;    /* this attempt has added no checkpoint to it */
	bool pending;     /* the newest complete checkpoint is in no snapshot */
	/* ... but its step is: what is not are files with fixed names, which were written over */
	bool lacks_fixed_names;
	/* The save under way when the job died has cut off one of these: what is here is a set of
	 * two saves, from which nobody is to go on. */
	bool is_cut_off;
	/* It is here to go on from. Of a gang, what one machine has is nothing to go on from. */
	bool is_local;
	int64_t exited_ms;
	int64_t lost_steps; /* after what is durable; -1: unknown */
};

/* The name of a checkpoint may count epochs where the job reports steps: then the report counts. */
static int64_t count_lost_steps(const struct ending *ending)
{
	const struct job_model *model = ending->run->model;
	int64_t step = model->durable.step, reported = model->durable.reported_step;
	int64_t last = ending->run->view.directory.reported_step;
	bool counts_the_same = step >= 0 && step <= reported + 1 && 2 * step >= reported;
	int64_t kept = counts_the_same ? step : reported;

	if (reported >= 0 && last >= 0)
		return last > kept ? last - kept : 0;
	/* What came after the newest checkpoint is not known. */
	if (model->any_complete && step >= 0 && model->newest.step > step)
		return model->newest.step - step;
	return -1;
}

static struct ending ending_of(const struct run_facts *run, const struct end_facts *end)
{
	const struct job_model *model = run->model;
	const char *torn = end->torn ? end->torn->first : NULL;
	struct ending ending = {
		.run = run,
		.end = end,
		.has_durable = !snapshot_id_is_none(run->durable),
		.restored = snapshot_id_compare(run->durable, run->from) == 0 ||
			    model->durable.as_of_start,
		.pending = job_has_pending(model),
		.exited_ms =
			model->flush.began_ms > 0 ? model->flush.began_ms : clock_monotonic_ms(),
	};

	ending.lacks_fixed_names = ending.pending && model->newest.step >= 0 &&
				   model->durable.step == model->newest.step;
	ending.is_cut_off = torn && step_of_path(torn) < 0 && ending.lacks_fixed_names;
	ending.is_local = ending.pending && !run->rules->of_gang;
	ending.lost_steps = count_lost_steps(&ending);
	return ending;
}

/* --- what is counted --- */

/* When the job was told to end; 0: it ended by itself, or whoever ended it told only the job. */
static int64_t told_ms(const struct run_facts *run, const struct outcome *outcome)
{
	const struct job_model *model = run->model;
	const struct outcome_facts *facts = &model->facts;
	bool preempted = outcome->kind == OUTCOME_PREEMPTED || outcome->kind == OUTCOME_NOT_DURABLE;
	bool left = outcome_may_be_leaving(facts) &&
		    (model->told_ms == 0 || run->rules->ends_when_asked);

	if (preempted && left && model->asking.sent_ms > 0)
		return model->asking.sent_ms;
	return preempted || outcome_is_interrupt(facts->wait_status) ? model->told_ms : 0;
}

/* What `reprieve report` counts with. */
static void log_ended_event(struct reports *reports, const struct ending *ending)
{
	const struct run_facts *run = ending->run;
	const struct outcome *outcome = &ending->end->outcome;
	int64_t told = told_ms(run, outcome);
	struct attempt_work work = {
		.launched_ms = run->model->launched_ms,
		.exited_ms = ending->exited_ms,
		.written_ms = ending->restored ? 0 : run->model->durable.written_ms,
		.told_ms = told,
		.killed = run->model->killed,
		.answered = run->model->asking.answered && told == run->model->asking.sent_ms,
		.lost_steps = ending->lost_steps,
	};
	char id[SNAPSHOT_ID_TEXT];
	json_t *line = json_pack("{s:s, s:i, s:s?}", "outcome", outcome_name(outcome), "exit_code",
				 outcome->exit_code, "durable",
				 ending->has_durable ? snapshot_id_format(run->durable, id) : NULL);

	if (run->model->facts.launched && run->model->attempt == ATTEMPT_CLAIMED) {
		json_object_set_new(line, "kept", json_seconds(recovery_point_kept_ms(&work)));
		json_object_set_new(line, "lost", json_seconds(recovery_point_lost_ms(&work)));
	}
	event_log_add(reports->events, "ended", "o", line);
}

/* --- parts of sentences --- */

/* "000001-000012 (step 160, 3.0 s before the end; 15 steps later are lost)", or "nothing". Steps
 * that lie on this machine are not lost. */
static void format_durable(const struct ending *ending, char text[DURABLE_TEXT])
{
	const struct run_facts *run = ending->run;
	const struct job_model *model = run->model;
	int64_t since_ms = ending->restored ? model->launched_ms : model->durable.written_ms;
	int64_t lost = ending->lost_steps;
	/* Other members have saved it for this one, which knows nothing of its step. */
	bool of_others = run->rules->of_gang && !model->any_complete &&
			 snapshot_id_compare(run->durable, run->from) != 0;
	char id[SNAPSHOT_ID_TEXT], step[40] = "", steps[64] = "", age[32];

	snapshot_id_format(run->durable, id);
	if (model->durable.step >= 0)
		snprintf(step, sizeof(step), "step %lld, ", (long long)model->durable.step);
	if (lost == 0)
		text_set(steps, sizeof(steps), "; no step is lost");
	if (lost > 0)
		snprintf(steps, sizeof(steps), "; %lld step%s later %s %s", (long long)lost,
			 lost == 1 ? "" : "s", lost == 1 ? "is" : "are",
			 ending->is_local ? "not durable" : "lost");
	if (!ending->has_durable)
		text_set(text, DURABLE_TEXT, "nothing");
	else if (model->facts.launched && model->newest.curves_only && !run->rules->of_gang &&
		 run->fresh)
		snprintf(text, DURABLE_TEXT,
			 "%s (only files that are written all the time, as curves; no checkpoint "
			 "was complete)",
			 id);
	else if (!model->facts.launched || of_others || since_ms == 0)
		text_set(text, DURABLE_TEXT, id);
	else
		snprintf(text, DURABLE_TEXT, "%s (%s%s%s before the end%s)", id, step,
			 ending->restored ? "as of the start, " : "",
			 text_duration(ending->exited_ms - since_ms, age, sizeof(age)), steps);
}

/* Why the newest work is in no snapshot, and what helps; "": that is not known. The caller frees.
 */
static char *why_not_durable(const struct reports *reports, const struct ending *ending)
{
	const struct run_facts *run = ending->run;
	const struct job_model *model = run->model;
	bool fails = ending->pending && model->snapshots.failing;
	bool fixed = !model->any_complete || model->newest.step < 0 ||
		     run->view.directory.holds_less || ending->lacks_fixed_names;
	char patience[32], given_up[80] = "";

	if (model->flush.given_up)
		snprintf(given_up, sizeof(given_up),
			 ": nothing more became durable within %s (--flush-time)",
			 text_duration(run->rules->flush_ms, patience, sizeof(patience)));
	return text_format("%s%s%s%s", given_up, fails ? ": " : "",
			   fails ? reports->store_failure.text : "",
			   ending->is_cut_off ? ": its last save was cut off"
			   : fixed && ending->end->lacks_newest
				   ? ": its files were written again before a snapshot held them; "
				     "save under numbered names, or write beside them and rename "
				     "all at the end, or let a signal ask for the save "
				     "(--checkpoint-signal)"
				   : "");
}

/* Where it is, and how to have it; "": it is not here. The caller frees. */
static char *local_text(const struct ending *ending)
{
	const struct run_facts *run = ending->run;
	auto_free char *word = text_shell_word(run->directory), *way = NULL;
	auto_free char *store = run->store ? text_shell_word(run->store) : NULL;
	char step[40] = "";

	if (!ending->is_local || ending->is_cut_off)
		return text_copy("");
	if (run->model->newest.step >= 0 && !ending->lacks_fixed_names)
		snprintf(step, sizeof(step), " (step %lld)", (long long)run->model->newest.step);
	if (run->model->snapshots.superseded)
		way = text_copy("; the attempt that has taken over goes on without it");
	else if (store)
		way = text_format(": the same command goes on from it there, and `reprieve save %s "
				  "--job %s --store %s` makes it durable",
				  word, run->job, store);
	else
		way = text_copy(": the same command goes on from it there");
	return text_format(". Its newest checkpoint%s lies in %s%s", step, run->directory, way);
}

/* A scheduler that starts this job again keeps its name; a new submission has another one. */
static const char *how_to_continue(const struct ending *ending, char text[CONTINUE_TEXT])
{
	const struct run_facts *run = ending->run;

	text_set(text, CONTINUE_TEXT, "Run the same command again to continue from there");
	if (!ending->has_durable)
		text_set(text, CONTINUE_TEXT,
			 "Run the same command again: it starts from the beginning");
	else if (run->goes_back)
		text_set(text, CONTINUE_TEXT,
			 "Run the command without --restore to continue from there; with it, "
			 "another start goes back again");
	else if (run->of_scheduler)
		snprintf(text, CONTINUE_TEXT,
			 "Another start of this job continues from there, and so does the same "
			 "command with --job %.*s%s",
			 (int)(run->stem > 0 ? run->stem : strlen(run->job)), run->job,
			 run->stem > 0 ? " in this element of another array" : "");
	return text;
}

/* --- sentences --- */

static void log_torn_files(const struct run_facts *run, const struct torn_files *torn)
{
	bool many = torn->count > 1;
	char more[40] = "";

	if (!torn->first)
		return;
	if (many)
		snprintf(more, sizeof(more), " and %zu more", torn->count - 1);
	log_warn("%s%s in %s %s in no snapshot (%s%s); the next start there may move %s aside",
		 torn->first, more, run->directory, many ? "are" : "is",
		 many ? "of the first: " : "", torn->why, many ? "them" : "it");
}

static bool has_written_nothing(const struct ending *ending)
{
	return !ending->run->model->any_complete && ending->end->directory_is_empty &&
	       !ending->has_durable;
}

/* What the exit code says is durable, is not. */
static void log_work_lost(const struct reports *reports, const struct ending *ending)
{
	const struct run_facts *run = ending->run;
	const struct outcome_facts *facts = &run->model->facts;
	const char *how = facts->noticed ? "preempted" : "ended";
	const char *elsewhere = reports->save_place.elsewhere;
	auto_free char *why = why_not_durable(reports, ending), *local = local_text(ending);
	int code = ending->end->outcome.exit_code;
	char durable[DURABLE_TEXT];

	format_durable(ending, durable);
	if (run->model->gang.lost)
		log_error("the job has finished here, but the members' parts make no whole: it is "
			  "NOT durable; durable: %s; start all (exit %d)",
			  durable, code);
	else if (facts->all_durable && !facts->noticed)
		log_error("the job has finished, but --strict turns the failure above into an "
			  "error; durable: %s (exit %d)",
			  durable, code);
	else if (!facts->launched)
		log_error("preempted before the job was started: what it saved last was not seen "
			  "in the store. Run the same command again (exit %d)",
			  code);
	else if (has_written_nothing(ending))
		log_error("%s, and the newest work is NOT durable: the job has %s%s: nothing was "
			  "written to %s (exit %d)",
			  how, elsewhere ? "saved elsewhere, as " : "not saved yet",
			  elsewhere ? elsewhere : "", run->directory, code);
	else
		log_error("%s, and the newest work is NOT durable%s; durable: %s (exit %d)%s", how,
			  why, durable, code, local);
}

/* The job ended by itself. */
static void log_newest_lost(const struct reports *reports, const struct ending *ending)
{
	const struct run_facts *run = ending->run;
	auto_free char *why = why_not_durable(reports, ending), *local = local_text(ending);
	const char *torn = ending->pending ? NULL : ending->end->torn->first;
	char durable[DURABLE_TEXT];

	format_durable(ending, durable);
	log_warn("the job has exited, but %s in %s is NOT durable%s; durable: %s (exit %d)%s",
		 torn                        ? torn
		 : ending->lacks_fixed_names ? "what it wrote last under fixed names"
					     : "its newest checkpoint",
		 run->directory, why, durable, ending->end->outcome.exit_code, local);
}

/* It can go on from what is durable. */
static void log_survives(const struct ending *ending, const char *how)
{
	char durable[DURABLE_TEXT], again[CONTINUE_TEXT];

	format_durable(ending, durable);
	log_note("%s; durable: %s. %s (exit %d)", how, durable, how_to_continue(ending, again),
		 ending->end->outcome.exit_code);
}

/* One sentence for each outcome, as far as there is something to say. */
static void say_end(const struct reports *reports, const struct ending *ending)
{
	const struct run_facts *run = ending->run;
	const struct outcome_facts *facts = &run->model->facts;
	enum outcome_kind kind = ending->end->outcome.kind;
	char durable[DURABLE_TEXT];

	if (facts->refusal)
		return;
	if (kind == OUTCOME_PREEMPTED) {
		log_survives(ending, facts->noticed ? "preempted"
						    : "the job has exited soon after it was asked "
						      "for a checkpoint, so it may not have "
						      "finished");
	} else if (kind == OUTCOME_NOT_DURABLE) {
		log_work_lost(reports, ending);
	} else if (facts->launched && facts->managed && !facts->all_durable) {
		log_newest_lost(reports, ending);
	} else if (facts->launched && facts->managed && ending->has_durable) {
		format_durable(ending, durable);
		if (kind == OUTCOME_FINISHED)
			log_note("the job ended with 0; durable: %s, in %s", durable, run->store);
		else
			log_survives(ending,
				     WIFSIGNALED(facts->wait_status) ||
						     outcome_is_interrupt(facts->wait_status)
					     ? "the job was ended by a signal"
					     : "the job has failed");
	} else if (kind == OUTCOME_STOPPED && facts->launched && facts->noticed &&
		   !facts->managed && !reports->save_place.elsewhere) {
		log_note("the job was told to end before it had saved: nothing was written to %s "
			 "(if elsewhere: --checkpoint-dir) (exit %d)",
			 run->directory, ending->end->outcome.exit_code);
	}
}

void report_end(struct reports *reports, const struct run_facts *run, const struct end_facts *end)
{
	struct ending ending = ending_of(run, end);
	bool unsaved = end->outcome.kind == OUTCOME_NOT_DURABLE;

	if (run->model->facts.launched) {
		log_torn_files(run, end->torn);
		/* The last line says it, and the job's run has said what helps. */
		if (!unsaved || !has_written_nothing(&ending))
			save_place_say_at_end(reports, run, unsaved);
	}
	log_ended_event(reports, &ending);
	say_end(reports, &ending);
}

json_t *end_record(const struct run_facts *run, const struct outcome *outcome)
{
	const struct outcome_facts *facts = &run->model->facts;
	bool crashed = outcome->kind == OUTCOME_FAILED && !facts->noticed &&
		       outcome_is_crash(facts->wait_status);
	json_t *about;
	char id[SNAPSHOT_ID_TEXT];

	about = json_pack("{s:i, s:s?, s:b, s:b, s:b}", "exit_code", outcome->exit_code, "newest",
			  !snapshot_id_is_none(run->durable) ? snapshot_id_format(run->durable, id)
							     : NULL,
			  "crashed", crashed, "checkpoint_complete", run->model->any_complete,
			  "launched", facts->launched);
	if (run->model->measured.save_ms >= 0)
		json_object_set_new(about, "save_ms", json_integer(run->model->measured.save_ms));
	if (run->model->launched_ms > 0)
		json_object_set_new(about, "ran_ms",
				    json_integer(clock_monotonic_ms() - run->model->launched_ms));
	return about;
}
