/* How the run has ended, and what is durable: for people, and as a record. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "reporting.h"
#include "workspace/workspace.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define DURABLE_TEXT 200
#define CONTINUE_TEXT 280

static bool has_durable(const struct run_facts *run)
{
	return !snapshot_id_is_none(run->durable);
}

/* The newest complete checkpoint is in no snapshot, but in the directory. Of a gang, what one
 * machine has is nothing to go on from. */
static bool has_local(const struct run_facts *run)
{
	return job_has_pending(run->model) && !run->rules->of_gang;
}

/* What is durable has the step of the newest checkpoint; what is not are files with fixed names,
 * which were written over meanwhile. */
static bool lacks_fixed_names(const struct run_facts *run)
{
	const struct job_model *model = run->model;

	return job_has_pending(model) && model->newest.step >= 0 &&
	       model->durable.step == model->newest.step;
}

/* The save under way when the job died has cut off one of the fixed names: what is here is a set of
 * two saves, from which nobody is to go on. */
static bool is_cut_off(const struct run_facts *run, const struct end_facts *end)
{
	return end->torn->first && step_of_path(end->torn->first) < 0 && lacks_fixed_names(run);
}

/* Where it is, and how to have it; "": it is not here. The caller frees. */
static char *local_text(const struct run_facts *run, const struct end_facts *end)
{
	const char *directory = run->directory;
	auto_free char *word = NULL, *store = NULL;
	char step[40] = "";

	if (!has_local(run) || is_cut_off(run, end))
		return text_copy("");
	if (run->model->newest.step >= 0 && !lacks_fixed_names(run))
		snprintf(step, sizeof(step), " (step %lld)", (long long)run->model->newest.step);
	if (run->model->snapshots.superseded)
		return text_format(". Its newest checkpoint%s lies in %s; the attempt that has "
				   "taken over goes on without it",
				   step, directory);
	if (!run->store)
		return text_format(". Its newest checkpoint%s lies in %s: the same command goes on "
				   "from it there",
				   step, directory);
	word = text_shell_word(directory);
	store = text_shell_word(run->store);
	return text_format(". Its newest checkpoint%s lies in %s: the same command goes on from it "
			   "there, and `reprieve save %s --job %s --store %s` makes it durable",
			   step, directory, word, run->job, store);
}

static int64_t exited_ms(const struct run_facts *run)
{
	return run->model->flush.began_ms > 0 ? run->model->flush.began_ms : clock_monotonic_ms();
}

static struct durable_age age_of_durable(const struct run_facts *run)
{
	const struct job_model *model = run->model;
	bool restored =
		snapshot_id_compare(run->durable, run->from) == 0 || model->durable.as_of_start;

	return (struct durable_age){
		.restored = restored,
		.age_ms = exited_ms(run) -
			  (restored ? model->launched_ms : model->durable.written_ms),
		.step = model->durable.step,
		.reported = model->durable.reported_step,
		.last = run->view.directory.reported_step,
		.newest = model->any_complete && !lacks_fixed_names(run) ? model->newest.step : -1,
		.local = has_local(run),
	};
}

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

static struct attempt_work work_of(const struct run_facts *run, const struct outcome *outcome)
{
	const struct job_model *model = run->model;
	struct durable_age durable = age_of_durable(run);
	int64_t told = told_ms(run, outcome);

	return (struct attempt_work){
		.launched_ms = model->launched_ms,
		.exited_ms = exited_ms(run),
		.written_ms = durable.restored ? 0 : model->durable.written_ms,
		.told_ms = told,
		.killed = model->killed,
		.answered = model->asking.answered && told == model->asking.sent_ms,
		.lost_steps = recovery_point_lost_steps(&durable),
	};
}

/* What `reprieve report` counts with. */
static void log_ended_event(struct reports *reports, const struct run_facts *run,
			    const struct outcome *outcome)
{
	struct attempt_work work = work_of(run, outcome);
	char id[SNAPSHOT_ID_TEXT];
	json_t *line = json_pack("{s:s, s:i, s:s?}", "outcome", outcome_name(outcome), "exit_code",
				 outcome->exit_code, "durable",
				 has_durable(run) ? snapshot_id_format(run->durable, id) : NULL);

	if (run->model->facts.launched && run->saves) {
		json_object_set_new(line, "kept",
				    json_real((double)recovery_point_kept_ms(&work) / 1000));
		json_object_set_new(line, "lost",
				    json_real((double)recovery_point_lost_ms(&work) / 1000));
	}
	event_log_add(reports->events, "ended", "o", line);
}

/* "000001-000012 (step 160, 3.0 s before the end; 15 steps later are lost)", or "nothing". */
static void format_durable(const struct run_facts *run, char text[DURABLE_TEXT])
{
	const struct job_model *model = run->model;
	struct durable_age durable = age_of_durable(run);
	bool restored = durable.restored;
	/* Other members have saved it for this one, which knows nothing of its step. */
	bool of_others = run->rules->of_gang && !model->any_complete &&
			 snapshot_id_compare(run->durable, run->from) != 0;
	char id[SNAPSHOT_ID_TEXT], age[160];

	snapshot_id_format(run->durable, id);
	if (!has_durable(run))
		text_set(text, DURABLE_TEXT, "nothing");
	else if (model->facts.launched && model->newest.curves_only && !run->rules->of_gang &&
		 run->fresh)
		snprintf(text, DURABLE_TEXT,
			 "%s (only files that are written all the time, as curves; no checkpoint "
			 "was complete)",
			 id);
	else if (!model->facts.launched || of_others ||
		 (!restored && model->durable.written_ms == 0))
		text_set(text, DURABLE_TEXT, id);
	else
		snprintf(text, DURABLE_TEXT, "%s (%s)", id,
			 recovery_point_format_age(&durable, age, sizeof(age)));
}

/* Why it is in no snapshot, and what helps; "": it is not because of how the job writes. The caller
 * frees. */
static char *written_over_text(const struct run_facts *run, const struct end_facts *end)
{
	const struct job_model *model = run->model;
	bool fixed = !model->any_complete || model->newest.step < 0 ||
		     run->view.directory.holds_less || lacks_fixed_names(run);

	static const char advice[] =
		"; save under numbered names, or write beside them and rename all at the end, or "
		"let a signal ask for the save (--checkpoint-signal)";
	char quiet[32];

	if (is_cut_off(run, end))
		return text_copy(": its last save was cut off");
	if (!fixed || !end->lacks_newest)
		return text_copy("");
	if (has_durable(run) && !age_of_durable(run).restored)
		return text_format(": its files were written again before a snapshot held them%s",
				   advice);
	return text_format(": its files were written again before all of them had been left alone "
			   "for %s (--quiet-time), so that no snapshot holds a whole save%s",
			   text_duration(run->rules->quiet_ms, quiet, sizeof(quiet)), advice);
}

/* What the store has said last, whose first words may be far above; "": it does not fail. The
 * caller frees. */
static char *failure_text(const struct reports *reports, const struct run_facts *run)
{
	const char *failure = reports->store_failure.text;

	if (!job_has_pending(run->model) || !run->model->snapshots.failing || !*failure)
		return text_copy("");
	return text_format(": %s", failure);
}

static void log_not_durable(const struct reports *reports, const struct run_facts *run,
			    const struct end_facts *end, const char *durable)
{
	bool pending = job_has_pending(run->model);
	const char *torn = pending ? NULL : end->torn->first;
	auto_free char *local = local_text(run, end), *failure = failure_text(reports, run);
	auto_free char *over = written_over_text(run, end);
	char why[80] = "", patience[32];

	if (run->model->flush.given_up && run->rules->of_gang)
		snprintf(why, sizeof(why), ": nothing came of it at all members within %s",
			 text_duration(run->rules->flush_ms, patience, sizeof(patience)));
	else if (run->model->flush.given_up)
		snprintf(why, sizeof(why), ": the store accepted nothing for %s (--flush-time)",
			 text_duration(run->rules->flush_ms, patience, sizeof(patience)));
	else if (pending && run->model->flush.refused)
		text_set(why, sizeof(why), ": the store has refused it, and would again");
	log_warn("the job has exited, but %s in %s is NOT durable%s%s%s; durable: %s (exit %d)%s",
		 torn                     ? torn
		 : lacks_fixed_names(run) ? "what it wrote last under fixed names"
					  : "its newest checkpoint",
		 run->directory, why, failure, over, durable, end->outcome.exit_code, local);
}

/* `durable`: format_durable(). A command that saves no checkpoints is told nothing. */
static void log_finished(const struct run_facts *run, const char *durable)
{
	if (run->model->facts.managed && has_durable(run))
		log_note("the job ended with 0; durable: %s, in %s", durable, run->store);
}

static void log_torn_files(const struct run_facts *run, const struct torn_files *torn)
{
	char more[40] = "";

	if (!torn->first)
		return;
	if (torn->count > 1)
		snprintf(more, sizeof(more), " and %zu more", torn->count - 1);
	log_warn("%s%s in %s %s in no snapshot (%s%s); the next start there may move %s aside",
		 torn->first, more, run->directory, torn->count > 1 ? "are" : "is",
		 torn->count > 1 ? "of the first: " : "", torn->why,
		 torn->count > 1 ? "them" : "it");
}

/* Another directory helps only a job that saves in another one. */
static void log_nothing_written(const struct reports *reports, const struct run_facts *run,
				const struct end_facts *end, const char *how)
{
	const char *elsewhere = reports->save_place.elsewhere;
	char place[512];

	if (elsewhere)
		log_error("%s, and the newest work is NOT durable: nothing was written to %s, but "
			  "to %s; %s (exit %d)",
			  how, run->directory,
			  save_place_directory(elsewhere, run->directory, place, sizeof(place)),
			  save_place_elsewhere_is_refused(reports)
				  ? "the warning above says what helps"
				  : "set --checkpoint-dir to where the job saves",
			  end->outcome.exit_code);
	else
		log_error("%s, and the newest work is NOT durable: the job has not saved yet, as "
			  "far as was seen: nothing was written to %s (exit %d)",
			  how, run->directory, end->outcome.exit_code);
}

static bool has_written_nothing(const struct run_facts *run, const struct end_facts *end)
{
	return !has_durable(run) && !run->model->any_complete && end->directory_is_empty;
}

/* Is it because of the job, and not of the other members or of --strict? */
static bool has_lost_own_work(const struct run_facts *run)
{
	const struct job_model *model = run->model;

	return !model->gang.lost && (model->facts.noticed || !model->facts.all_durable);
}

static enum last_line last_line_of(const struct run_facts *run, const struct end_facts *end)
{
	if (end->outcome.kind != OUTCOME_NOT_DURABLE)
		return LAST_LINE_OTHER;
	return has_lost_own_work(run) && has_written_nothing(run, end)
		       ? LAST_LINE_PLACE
		       : LAST_LINE_NOTHING_SAVED;
}

/* `durable`: format_durable(). */
static void log_lost_work(const struct reports *reports, const struct run_facts *run,
			  const struct end_facts *end, const char *durable)
{
	const char *how = run->model->facts.noticed ? "preempted" : "ended";
	auto_free char *local = local_text(run, end), *failure = failure_text(reports, run);
	auto_free char *over = written_over_text(run, end);

	if (run->model->gang.lost)
		log_error("the job has finished here, but what the members have left in the end is "
			  "NOT durable, because the parts of all did not come together; durable: "
			  "%s. Start all members again (exit %d)",
			  durable, end->outcome.exit_code);
	else if (!run->model->facts.noticed && run->model->facts.all_durable)
		log_error("the job has finished, but --strict turns the failure above into an "
			  "error; durable: %s (exit %d)",
			  durable, end->outcome.exit_code);
	else if (!run->model->facts.launched)
		log_error("preempted before the job was started: what it saved last was not seen "
			  "in the store. Run the same command again (exit %d)",
			  end->outcome.exit_code);
	else if (has_written_nothing(run, end))
		log_nothing_written(reports, run, end, how);
	else
		log_error("%s, and the newest work is NOT durable%s%s; durable: %s (exit %d)%s",
			  how, failure, over, durable, end->outcome.exit_code, local);
}

/* A scheduler that starts this job again keeps its name; a new submission has another one. */
static const char *how_to_continue(const struct run_facts *run, char text[CONTINUE_TEXT])
{
	if (!has_durable(run))
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
	else
		text_set(text, CONTINUE_TEXT, "Run the same command again to continue from there");
	return text;
}

/* It has died, and nothing of what it had saved is lost: said once, with what the next start
 * restores. */
static void log_survives(const struct run_facts *run, const struct outcome *outcome,
			 const char *durable)
{
	char again[CONTINUE_TEXT];
	int status = run->model->facts.wait_status;
	const char *how = WIFSIGNALED(status) || outcome_is_interrupt(status)
				  ? "was ended by a signal"
				  : "has failed";

	log_note("the job %s; durable: %s. %s (exit %d)", how, durable, how_to_continue(run, again),
		 outcome->exit_code);
}

/* It was told to end, and has written nothing: there is no word of what is durable. */
static void log_stopped_unsaved(const struct run_facts *run, const struct outcome *outcome)
{
	log_note("the job was told to end, and ended before it had saved anything: nothing was "
		 "written to %s, and the same command starts it from the beginning. If it saves "
		 "elsewhere, name that place with --checkpoint-dir (exit %d)",
		 run->directory, outcome->exit_code);
}

void report_end(struct reports *reports, const struct run_facts *run, const struct end_facts *end)
{
	const struct outcome *outcome = &end->outcome;
	const struct outcome_facts *facts = &run->model->facts;
	char durable[DURABLE_TEXT], again[CONTINUE_TEXT];

	if (facts->launched)
		log_torn_files(run, end->torn);
	if (facts->launched)
		save_place_say_at_end(reports, last_line_of(run, end));
	format_durable(run, durable);
	log_ended_event(reports, run, outcome);
	if (facts->refusal)
		return;
	if (outcome->kind == OUTCOME_PREEMPTED && !facts->noticed)
		log_note("the job has exited soon after it was asked for a checkpoint, so it may "
			 "not have finished; durable: %s. %s (exit %d)",
			 durable, how_to_continue(run, again), end->outcome.exit_code);
	else if (outcome->kind == OUTCOME_PREEMPTED)
		log_note("preempted; durable: %s. %s (exit %d)", durable,
			 how_to_continue(run, again), end->outcome.exit_code);
	else if (outcome->kind == OUTCOME_NOT_DURABLE)
		log_lost_work(reports, run, end, durable);
	else if (facts->managed && facts->launched && !facts->all_durable)
		log_not_durable(reports, run, end, durable);
	else if (outcome->kind == OUTCOME_FINISHED && facts->launched)
		log_finished(run, durable);
	else if (facts->managed && facts->launched && has_durable(run))
		log_survives(run, outcome, durable);
	else if (outcome->kind == OUTCOME_STOPPED && facts->launched && facts->noticed &&
		 !facts->managed && !reports->save_place.elsewhere)
		log_stopped_unsaved(run, outcome);
}

json_t *end_record(const struct run_facts *run, const struct outcome *outcome)
{
	const struct outcome_facts *facts = &run->model->facts;
	bool crashed = outcome->kind == OUTCOME_FAILED && !facts->noticed &&
		       outcome_is_crash(facts->wait_status);
	json_t *about;
	char id[SNAPSHOT_ID_TEXT];

	about = json_pack("{s:i, s:s?, s:b, s:b, s:b}", "exit_code", outcome->exit_code, "newest",
			  has_durable(run) ? snapshot_id_format(run->durable, id) : NULL, "crashed",
			  crashed, "checkpoint_complete", run->model->any_complete, "launched",
			  facts->launched);
	if (run->model->measured.save_ms >= 0)
		json_object_set_new(about, "save_ms", json_integer(run->model->measured.save_ms));
	if (run->model->launched_ms > 0)
		json_object_set_new(about, "ran_ms",
				    json_integer(clock_monotonic_ms() - run->model->launched_ms));
	return about;
}
