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
		json_object_set_new(line, "kept", json_seconds(recovery_point_kept_ms(&work)));
		json_object_set_new(line, "lost", json_seconds(recovery_point_lost_ms(&work)));
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

static void log_not_durable(const struct run_facts *run, const struct end_facts *end,
			    const char *durable, const char *failure, const char *over,
			    const char *local)
{
	bool pending = job_has_pending(run->model);
	const char *torn = pending ? NULL : end->torn->first;
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
		log_error("%s, and the newest work is NOT durable: the job has not saved yet: "
			  "nothing was written to %s (exit %d)",
			  how, run->directory, end->outcome.exit_code);
}

enum end_line end_line_of(enum outcome_kind kind, unsigned facts)
{
	enum {
		ANY = ~0U,
		KIND_PREEMPTED = 1 << OUTCOME_PREEMPTED,
		KIND_LOST = 1 << OUTCOME_NOT_DURABLE
	};
	// clang-format off
	static const struct {
		unsigned kinds, with, without;
		enum end_line line;
	} rows[] = {
		{KIND_PREEMPTED, 0, END_NOTICED, END_LEFT_EARLY},
		{KIND_PREEMPTED, 0, 0, END_PREEMPTED},
		{KIND_LOST, END_PARTS_MISSING, 0, END_GANG_LOST},
		{KIND_LOST, END_ALL_DURABLE, END_NOTICED, END_STRICT},
		{KIND_LOST, 0, END_LAUNCHED, END_NOT_STARTED},
		{KIND_LOST, END_WROTE_NOTHING, END_HAS_DURABLE, END_NOTHING_WRITTEN},
		{KIND_LOST, 0, 0, END_WORK_LOST},
		{ANY, END_LAUNCHED | END_MANAGED, END_ALL_DURABLE, END_NEWEST_LOST},
		{1 << OUTCOME_FINISHED, END_LAUNCHED | END_MANAGED | END_HAS_DURABLE, 0, END_FINISHED},
		{ANY, END_LAUNCHED | END_MANAGED | END_HAS_DURABLE, 0, END_SURVIVES},
		{1 << OUTCOME_STOPPED, END_LAUNCHED | END_NOTICED, END_MANAGED | END_SAVES_ELSEWHERE, END_STOPPED_UNSAVED},
	};
	// clang-format on

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((rows[i].kinds & 1U << kind) && (facts & rows[i].with) == rows[i].with &&
		    !(facts & rows[i].without))
			return rows[i].line;
	return END_SILENT;
}

static enum end_line line_of(const struct reports *reports, const struct run_facts *run,
			     const struct end_facts *end)
{
	const struct outcome_facts *facts = &run->model->facts;
	bool wrote_nothing = !run->model->any_complete && end->directory_is_empty;

	if (facts->refusal)
		return END_SILENT;
	return end_line_of(end->outcome.kind,
			   (facts->launched ? END_LAUNCHED : 0) |
				   (facts->managed ? END_MANAGED : 0) |
				   (facts->noticed ? END_NOTICED : 0) |
				   (facts->all_durable ? END_ALL_DURABLE : 0) |
				   (has_durable(run) ? END_HAS_DURABLE : 0) |
				   (run->model->gang.lost ? END_PARTS_MISSING : 0) |
				   (wrote_nothing ? END_WROTE_NOTHING : 0) |
				   (reports->save_place.elsewhere ? END_SAVES_ELSEWHERE : 0));
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

static void say_line(const struct reports *reports, const struct run_facts *run,
		     const struct end_facts *end, enum end_line line)
{
	int code = end->outcome.exit_code, status = run->model->facts.wait_status;
	const char *how = run->model->facts.noticed ? "preempted" : "ended";
	char durable[DURABLE_TEXT], again[CONTINUE_TEXT];
	auto_free char *local = local_text(run, end), *failure = failure_text(reports, run);
	auto_free char *over = written_over_text(run, end);

	format_durable(run, durable);
	how_to_continue(run, again);
	switch (line) {
	case END_LEFT_EARLY:
		log_note("the job has exited soon after it was asked for a checkpoint, so it may "
			 "not have finished; durable: %s. %s (exit %d)",
			 durable, again, code);
		return;
	case END_PREEMPTED:
		log_note("preempted; durable: %s. %s (exit %d)", durable, again, code);
		return;
	case END_GANG_LOST:
		log_error("the job has finished here, but the members' parts make no whole: it is "
			  "NOT durable; durable: %s; start all (exit %d)",
			  durable, code);
		return;
	case END_STRICT:
		log_error("the job has finished, but --strict turns the failure above into an "
			  "error; durable: %s (exit %d)",
			  durable, code);
		return;
	case END_NOT_STARTED:
		log_error("preempted before the job was started: what it saved last was not seen "
			  "in the store. Run the same command again (exit %d)",
			  code);
		return;
	case END_NOTHING_WRITTEN:
		log_nothing_written(reports, run, end, how);
		return;
	case END_WORK_LOST:
		log_error("%s, and the newest work is NOT durable%s%s; durable: %s (exit %d)%s",
			  how, failure, over, durable, code, local);
		return;
	case END_NEWEST_LOST:
		log_not_durable(run, end, durable, failure, over, local);
		return;
	case END_FINISHED:
		log_note("the job ended with 0; durable: %s, in %s", durable, run->store);
		return;
	case END_SURVIVES:
		log_note("the job %s; durable: %s. %s (exit %d)",
			 WIFSIGNALED(status) || outcome_is_interrupt(status)
				 ? "was ended by a signal"
				 : "has failed",
			 durable, again, code);
		return;
	case END_STOPPED_UNSAVED:
		log_note("the job was told to end before it had saved: nothing was written to %s "
			 "(if elsewhere: --checkpoint-dir) (exit %d)",
			 run->directory, code);
		return;
	case END_SILENT:
		return;
	}
}

void report_end(struct reports *reports, const struct run_facts *run, const struct end_facts *end)
{
	enum end_line line = line_of(reports, run, end);

	if (run->model->facts.launched) {
		log_torn_files(run, end->torn);
		save_place_say_at_end(reports, line == END_NOTHING_WRITTEN,
				      end->outcome.kind == OUTCOME_NOT_DURABLE);
	}
	log_ended_event(reports, run, &end->outcome);
	say_line(reports, run, end, line);
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
