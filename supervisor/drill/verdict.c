#include "verdict.h"

#include "base/err.h"
#include "base/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *drill_result_name(enum drill_result result)
{
	static const char *const names[] = {"PASS", "FAIL", "UNPROVEN", "NOT RUN"};

	return names[result];
}

// clang-format off
const struct comparison_row comparison_rows[] = {
	[COMPARISON_NOT_ASKED] = {DRILL_PASS, NULL, "not compared: --compare FILE also proves the order of the data and the random state"},
	[COMPARISON_EQUAL] = {DRILL_PASS, "equal", "equals that of an undisturbed run, byte for byte"},
	[COMPARISON_DIFFERENT] = {DRILL_FAIL, "different", "differs from that of the undisturbed run. (Is it the same each time without a preemption? Run the job "
		"twice, without reprieve, and compare: if not, seed it, and write no time into the file)"},
	[COMPARISON_MISSING] = {DRILL_FAIL, "missing", "was not written by the preempted run"},
	[COMPARISON_MISSING_UNDISTURBED] = {DRILL_UNPROVEN, "missing_undisturbed", "was not written by the undisturbed run"},
	[COMPARISON_NOT_MADE] = {DRILL_UNPROVEN, "not_made", "could not be compared"},
};
// clang-format on

bool verdict_is_no_command(int exit_code)
{
	return exit_code == 126 || exit_code == 127;
}

__attribute__((format(printf, 4, 5))) static enum drill_result say(
	enum drill_result result, char *reason, size_t capacity, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reason, capacity, format, args);
	va_end(args);
	return result;
}
#define SAY(result, ...) say(result, verdict->reason, sizeof(verdict->reason), __VA_ARGS__)
#define FAIL(...) SAY(DRILL_FAIL, __VA_ARGS__)
#define UNPROVEN(...) SAY(DRILL_UNPROVEN, __VA_ARGS__)

/* --- what was lost --- */

static bool has_commit(const struct round_facts *facts)
{
	return !snapshot_id_is_none(facts->events.commit.id);
}

/* The first checkpoint after the notice or, if it has brought none, the newest before it. */
static struct run_checkpoint last_due(const struct run_events *events)
{
	return events->first_after_notice.at_ms >= 0 || events->checkpoint_count == 0
		       ? events->first_after_notice
		       : events->checkpoints[events->checkpoint_count - 1];
}

/* The commit that the verdict is about: what comes after the one that was due may be too late. */
static const struct run_commit *judged_commit(const struct run_events *events)
{
	return snapshot_id_is_none(events->due.id) ? &events->commit : &events->due;
}

static int64_t since_notice(int64_t at_ms, int64_t fired_ms)
{
	return at_ms < 0 || fired_ms < 0 ? VERDICT_UNKNOWN : at_ms - fired_ms;
}

static struct steps_between lost_steps(const struct round_facts *facts)
{
	const struct run_events *events = &facts->events;
	const struct step_facts *steps = &facts->steps;
	double kept = 0;

	if (steps->counted && facts->next_launched && steps->next_counted)
		return steps_lost(steps);
	if (has_commit(facts))
		kept = step_facts_are_exact(steps) ? steps->step : -1;
	else if (!snapshot_id_is_none(events->restored))
		kept = (double)events->restored_step;
	/* Of a next machine that has not said where it goes on nothing is known. */
	if (!steps->counted || kept < 0 || facts->next_launched)
		return (struct steps_between){VERDICT_UNKNOWN, VERDICT_UNKNOWN};
	return steps_since(steps, kept);
}

static int64_t lost_ms(const struct round_facts *facts)
{
	const struct run_events *events = &facts->events;
	enum continuation went = step_facts_judge(&facts->steps);
	int64_t ended_ms = events->child_exited_ms >= 0 ? events->child_exited_ms : facts->gone_ms;
	bool anew = facts->next_launched &&
		    (snapshot_id_is_none(facts->next_restored) || went == CONTINUATION_ANEW);
	int64_t since_ms = has_commit(facts) && !anew ? events->commit.checkpoint.captured_ms
						      : events->launched_ms;

	if (since_ms < 0 || went == CONTINUATION_OLDER)
		return VERDICT_UNKNOWN;
	return ended_ms > since_ms ? ended_ms - since_ms : 0;
}

static struct round_verdict measure(const struct round_facts *facts)
{
	const struct run_events *events = &facts->events;
	const struct run_commit *commit = judged_commit(events);
	int64_t fired_ms = facts->fired_ms, saved_ms = has_commit(facts) ? commit->at_ms : -1;
	struct steps_between steps = lost_steps(facts);

	return (struct round_verdict){
		.result = DRILL_PASS,
		.noticed_ms = since_notice(events->noticed_ms, fired_ms),
		.asked_ms = since_notice(events->asked_ms, fired_ms),
		.saved_ms = since_notice(saved_ms < 0 ? -1 : commit->checkpoint.at_ms, fired_ms),
		.durable_ms = since_notice(saved_ms, fired_ms),
		.margin_ms = saved_ms < 0 || fired_ms < 0 ? VERDICT_UNKNOWN
							  : facts->deadline_ms - saved_ms,
		/* The time of a slow save is no work. */
		.lost = {steps.most == 0 ? 0 : lost_ms(facts), steps, facts->steps.word},
	};
}

/* What stands before the job's last line. */
static const char *said_mark(const struct round_facts *facts)
{
	return facts->said[0] ? ". Its last line: " : "";
}

/* Of a gang, its supervisor may stay until the others have said how they are. */
static bool failed_before(const struct round_facts *facts)
{
	const struct run_events *events = &facts->events;

	return events->child_code > 0 && events->child_exited_ms < facts->fired_ms;
}

/* "the job was asked (SIGUSR1), and "; "": it was not. */
static const char *format_asked(const struct run_events *events, char text[120])
{
	snprintf(text, 120, "the job was asked (%s), and ", events->asked_how);
	return events->asked_ms < 0 ? "" : text;
}

const char *drill_id_format(struct snapshot_id id, const char *none, char text[SNAPSHOT_ID_TEXT])
{
	return snapshot_id_is_none(id) ? none : snapshot_id_format(id, text);
}

/* The rules: of each list the first row that fits decides, and PASS hands on to the next list. */
// clang-format off
#define NOTHING "nothing is durable: "
#define SET_DIRECTORY "Set --checkpoint-dir to where its checkpoints are"

/* The job has not been tried: nothing was lost. */
static enum drill_result not_tried(const struct round_facts *facts, struct round_verdict *verdict, const char *when)
{
	const char *elsewhere = facts->events.elsewhere;

	verdict->lost.ms = verdict->lost.steps.most = verdict->lost.steps.least = VERDICT_UNKNOWN;
	return UNPROVEN("the job finished %s: it was not preempted. Give a smaller --notice-after, a shorter --notice, or more work%s%s%s",
		when, *elsewhere ? ". It would not have passed: it saves elsewhere (" : "", elsewhere, *elsewhere ? "). " SET_DIRECTORY : "");
}

/* Fact 1: the event log. */
static enum drill_result judge_preemption(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	int code = facts->exit_code;
	bool before = facts->fired_ms < 0, failed = failed_before(facts);

	return before && !facts->killed && verdict_is_no_command(code) ? SAY(DRILL_NOT_RUN, "the command ended with %d before the notice", code)
		: events->launched_ms < 0 ? FAIL("the job was not started: `reprieve run` ended with %d", code)
		: !facts->killed && code == 0 ? not_tried(facts, verdict, before ? "before the notice" : "during the notice")
		: before || failed ? FAIL("the job ended by itself before the notice, with %d%s%s", failed ? events->child_code : code, said_mark(facts), facts->said)
		: events->noticed_ms < 0 ? FAIL("reprieve did not see the notice within %" PRId64 " s", (facts->gone_ms - facts->fired_ms) / 1000)
		: DRILL_PASS;
}

static enum drill_result fail_without_commit(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	char asked[120];

	return events->failed[0] ? FAIL(NOTHING "%s", events->failed)
		: events->checkpoint_count > 0 ? FAIL(NOTHING "a checkpoint was complete, but its upload was not finished in time")
		/* By itself: it was not told to stop. */
		: events->child_code > 0 && events->stopping_ms < 0 ? FAIL(NOTHING "%sthe job itself ended with %d before it had saved%s%s",
			format_asked(events, asked), events->child_code, said_mark(facts), facts->said)
		/* Reprieve's own last warning says best why files that were written are no checkpoint. */
		: events->saving_ms >= 0 ? FAIL(NOTHING "the job wrote to its checkpoint directory, but no checkpoint there was known to be complete%s%s",
			facts->warning[0] ? ". Reprieve said: " : "", facts->warning)
		: events->elsewhere[0] ? FAIL(NOTHING "the job saves elsewhere (%s). " SET_DIRECTORY, events->elsewhere)
		: events->asked_ms >= 0 ? FAIL(NOTHING "the job was asked (%s) and no complete checkpoint appeared. Does it save into the checkpoint directory?", events->asked_how)
		: FAIL(NOTHING "the job saved nothing, and it was not asked to. Let it save more often, or if it can be asked, set --checkpoint-signal; "
			"if it saves elsewhere, set --checkpoint-dir");
}

static enum drill_result judge_save(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	const struct run_checkpoint saved = events->commit.checkpoint, due = last_due(events);
	/* And `run` does not say that it is, or was killed before it could say anything. */
	bool may_be_late = facts->killed || facts->exit_code == EXIT_NOT_DURABLE;
	char age[32], asked[120];

	return !has_commit(facts) ? fail_without_commit(facts, verdict)
		: judged_commit(events)->at_ms > facts->deadline_ms ? FAIL("the checkpoint was durable only after the deadline")
		: may_be_late && due.at_ms > saved.at_ms ? FAIL("a newer checkpoint was complete on the disk, and not durable in time%s%s. The surviving one is %s older",
			events->failed[0] ? ": " : "", events->failed, text_duration(due.captured_ms - saved.captured_ms, age, sizeof(age)))
		: !may_be_late && facts->exit_code != EXIT_PREEMPTED ? FAIL("%s`reprieve run` ended with %d instead of %d: nothing would start it again",
			format_asked(events, asked), facts->exit_code, EXIT_PREEMPTED)
		: DRILL_PASS;
}

/* Facts 2 and 3: the store, and what was restored. */
static enum drill_result judge_restore(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct snapshot_id said = facts->events.commit.id, newest = facts->store_newest, restored = facts->next_restored;
	char text[SNAPSHOT_ID_TEXT], other[SNAPSHOT_ID_TEXT];

	snapshot_id_format(said, text);
	return facts->store_error[0] ? FAIL("the store cannot be read: %s", facts->store_error)
		: !facts->commit_good ? FAIL("%s was reported durable, but the store has no valid snapshot of it", text)
		: snapshot_id_compare(newest, said) != 0 ? FAIL("the store would resume from %s, but %s is the newest commit", drill_id_format(newest, "nothing", other), text)
		: facts->next_cut ? UNPROVEN("--timeout ended the drill before the next machine had shown where it goes on: give it more time, or the job fewer steps")
		: !facts->next_launched ? FAIL("the next machine did not start the job")
		: snapshot_id_compare(restored, said) != 0 ? FAIL("the next machine started from %s instead of from %s", drill_id_format(restored, "scratch", other), text)
		: DRILL_PASS;
}

/* Fact 4: the steps. */
static enum drill_result judge_steps(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct step_facts *steps = &facts->steps;
	enum continuation went = step_facts_judge(steps);
	const char *word = steps->word ? steps->word : "";
	bool exact = step_facts_are_exact(steps), open = went == CONTINUATION_UNKNOWN || went == CONTINUATION_AHEAD;
	double saved = exact ? steps->step : steps->low, next = steps->next;

	return went == CONTINUATION_PROVEN ? say(DRILL_PASS, verdict->proof, sizeof(verdict->proof),
			"saved at %s%s %.10g, and its first on the next machine was %s %.10g", exact ? "" : "about ", word, saved, word, next)
		: facts->next_failed ? FAIL("the job ended with %d on the machine with the restored checkpoint: it cannot go on from it", facts->next_failed)
		: went == CONTINUATION_ANEW ? FAIL("%s %.10g was restored, but the job began again at %s %.10g: it does not load its checkpoint. If it does so only "
			"with an option (--resume PATH), give it that where REPRIEVE_RESUMING is 1: reprieve-run(1) shows how", word, saved, word, next)
		: went == CONTINUATION_OLDER ? FAIL("%s %.10g was restored, but the job went on with %s %.10g: it loads an older checkpoint", word, saved, word, next)
		/* What it left to do was too little to prove anything. */
		: open && facts->events.finished ? not_tried(facts, verdict, "during the notice")
		: went == CONTINUATION_AHEAD ? UNPROVEN("%s %.10g was restored, but the job went on with %s %.10g: it left out what is between, or also loads from "
			"a place that a new machine does not have. --compare its result to know", word, saved, word, next)
		: steps->next_counted ? UNPROVEN("the save came too early in what the job counts to tell its resumption from a new beginning. Give a greater --notice-after")
		: UNPROVEN("the checkpoint was restored, and nothing shows that the job went on from there: it prints no step on both machines. Let it print its step "
			"(\"step 121\") before and after each save, or say by --step-pattern where it does");
}

/* Hints for the user although it has passed. */
static enum drill_result add_remark(const struct round_facts *facts, struct round_verdict *verdict)
{
#define REMARK(...) say(DRILL_PASS, verdict->remark, sizeof(verdict->remark), __VA_ARGS__)
	const struct run_commit *commit = &facts->events.commit;

	return commit->at_ms > facts->deadline_ms ? REMARK("its newest checkpoint was durable only %" PRId64 " ms after the deadline, and a real machine may lose it; "
			"the one before it was in time", commit->at_ms - facts->deadline_ms)
		: facts->killed ? REMARK("the job had not exited at the deadline and was killed with its machine; its checkpoint was safe")
		: facts->events.asked_ms < 0 ? REMARK("the job was not asked to save: its own last checkpoint survives. A script that saves at a signal loses less "
			"(run --checkpoint-signal)")
		: commit->checkpoint.at_ms < facts->fired_ms ? REMARK("the job was asked (%s) and saved nothing: its own last checkpoint survives", facts->events.asked_how)
		: DRILL_PASS;
}

static enum drill_result limit_loss(const struct round_facts *facts, struct round_verdict *verdict)
{
	const char *what = facts->steps.word;
	int64_t least = verdict->lost.steps.least, most = verdict->lost.steps.most;
	unsigned limit = facts->lost_most;

	return limit == UINT_MAX ? DRILL_PASS
		: most == VERDICT_UNKNOWN ? UNPROVEN("how many steps were lost is not known, and no more than %u may be: let the job print its step (\"step 121\")", limit)
		: least > limit ? FAIL("%s%" PRId64 " %ss were lost, and no more than %u may be (--max-lost)", least < most ? "at least " : "", least, what, limit)
		: most > limit ? UNPROVEN("up to %" PRId64 " %ss were lost, and no more than %u may be (--max-lost): the job prints only each %.0f %ss, so no more is "
			"known. Let it print each %s", most, what, limit, facts->steps.stride, what, what)
		: DRILL_PASS;
}
// clang-format on

static void judge_machine(const struct round_facts *facts, struct round_verdict *verdict)
{
	static enum drill_result (*const judges[])(const struct round_facts *,
						   struct round_verdict *) = {
		judge_preemption, judge_save, judge_restore, judge_steps, add_remark, limit_loss,
	};

	*verdict = measure(facts);
	for (size_t i = 0; i < sizeof(judges) / sizeof(judges[0]); i++)
		if (verdict->result == DRILL_PASS)
			verdict->result = judges[i](facts, verdict);
}

/* --- a gang --- */

static const struct run_checkpoint *find_step(const struct run_events *events, int64_t step)
{
	for (size_t i = events->checkpoint_count; step >= 0 && i-- > 0;)
		if (events->checkpoints[i].step == step)
			return &events->checkpoints[i];
	return NULL;
}

void verdict_share_commit(struct round *round)
{
	struct run_commit newest = round->each[0].events.commit;

	/* One that heard of it at its end does not know the step. */
	for (uint32_t i = 1; i < round->members; i++) {
		const struct run_commit *commit = &round->each[i].events.commit;
		int compared = snapshot_id_compare(commit->id, newest.id);

		if (compared > 0 || (compared == 0 && commit->step > newest.step))
			newest = *commit;
	}
	for (uint32_t i = 0; i < round->members; i++) {
		struct run_events *events = &round->each[i].events;
		const struct run_checkpoint *own = find_step(events, newest.step);
		struct run_commit commit = newest;

		if (snapshot_id_compare(events->commit.id, newest.id) == 0 &&
		    events->commit.step == newest.step)
			continue;
		if (own)
			commit.checkpoint = *own;
		run_events_set_commit(events, &commit);
	}
}

void verdict_adopt(struct round *round)
{
	struct snapshot_id restored = round->each[0].next_restored;

	for (uint32_t i = 0; i < round->members; i++)
		if (snapshot_id_compare(round->each[i].next_restored, restored) != 0 ||
		    !has_commit(&round->each[i]) ||
		    snapshot_id_compare(restored, round->each[i].events.commit.id) <= 0)
			return;
	for (uint32_t i = 0; i < round->members; i++) {
		struct round_facts *facts = &round->each[i];
		struct run_commit *commit = &facts->events.commit;
		const struct run_checkpoint *own = find_step(&facts->events, facts->next_step);

		commit->id = facts->store_newest = restored;
		commit->step = facts->next_step;
		if (own)
			commit->checkpoint = *own;
	}
}

/* Whether all who save have this step. */
static bool is_common_step(const struct round *round, int64_t step)
{
	for (uint32_t i = 0; i < round->members; i++)
		if (round->each[i].events.checkpoint_count > 0 &&
		    !find_step(&round->each[i].events, step))
			return false;
	return true;
}

/* Two of them have saved since the snapshot, each more than once, and nothing that all have:
 * whatever they do in another start, this one has failed. */
static bool save_apart(const struct round *round)
{
	const struct run_commit *commit = &round->each[0].events.commit;
	bool late = snapshot_id_is_none(commit->id);
	uint32_t newer = 0;

	for (uint32_t i = 0; i < round->members; i++) {
		const struct run_events *events = &round->each[i].events;
		unsigned own = 0;

		late |= round->each[i].exit_code == EXIT_NOT_DURABLE;
		for (size_t at = 0; at < events->checkpoint_count; at++) {
			int64_t step = events->checkpoints[at].step;

			if (step < 0 || step <= commit->step)
				continue;
			if (is_common_step(round, step))
				return false;
			own++;
		}
		newer += own > 1;
	}
	return late && newer > 1 && round->each[0].fired_ms >= 0;
}

static void blame_steps(struct round *round)
{
	char steps[240] = "";

	for (uint32_t i = 0; i < round->members; i++) {
		const struct run_events *events = &round->each[i].events;
		size_t used = strlen(steps), count = events->checkpoint_count;

		if (count > 0)
			snprintf(steps + used, sizeof(steps) - used,
				 "%smember %" PRIu32 " at %" PRId64, used > 0 ? ", " : "", i,
				 events->checkpoints[count - 1].step);
	}
	snprintf(round->reason, sizeof(round->reason),
		 "the members do not save at the same steps (last %s): what only some of them have "
		 "is no snapshot. Let all ranks save at the same steps, as by `step %% 100 == 0` "
		 "and not by a clock, or all when they are asked (run --checkpoint-signal)",
		 steps);
	round->result = DRILL_FAIL;
}

/* Why the others have ended is said by the first: by itself before the notice, or by an error of
 * its own. */
static bool is_cause(const struct round_facts *facts)
{
	return (facts->fired_ms < 0 && facts->exit_code != EXIT_PREEMPTED &&
		facts->exit_code != EXIT_NOT_DURABLE && !facts->killed) ||
	       facts->next_failed != 0 || failed_before(facts);
}

/* The worse decides; of those that are as bad the cause, or the first. */
static void take_reason(struct round *round)
{
	static const int badness[] =
		{[DRILL_PASS] = 0, [DRILL_UNPROVEN] = 2, [DRILL_FAIL] = 4, [DRILL_NOT_RUN] = 6};
	int worst = 0;

	for (uint32_t i = 0; i < round->members; i++) {
		const struct round_verdict *verdict = &round->verdicts[i];
		int bad = badness[verdict->result];

		bad += bad > 0 && is_cause(&round->each[i]);
		if (bad <= worst)
			continue;
		worst = bad;
		round->result = verdict->result;
		if (round->members > 1)
			snprintf(round->reason, sizeof(round->reason), "member %" PRIu32 ": %s", i,
				 verdict->reason);
		else
			text_set(round->reason, sizeof(round->reason), verdict->reason);
	}
}

void verdict_round(struct round *round)
{
	round->result = DRILL_PASS;
	round->reason[0] = '\0';
	for (uint32_t i = 0; i < round->members; i++) {
		const struct round_facts *facts = &round->each[i];
		struct round_verdict *verdict = &round->verdicts[i];

		judge_machine(facts, verdict);
		if (facts->killed && facts->fired_ms >= 0 && i != round->lost)
			verdict->result =
				FAIL("the machine of member %" PRIu32
				     " was taken away, and this one had "
				     "not ended long after: its job does not end, or it "
				     "did not hear of "
				     "it",
				     round->lost);
	}
	take_reason(round);
	if (round->members > 1 && save_apart(round))
		blame_steps(round);
}

/* --- the whole --- */

// clang-format off
enum drill_result verdict_drill(const struct drill_facts *facts, char *reason, size_t capacity)
{
#undef SAY
#define SAY(result, ...) say(result, reason, capacity, __VA_ARGS__)
#define NO_COMMAND(...) SAY(DRILL_NOT_RUN, "the command cannot be run: " __VA_ARGS__)
	const struct comparison_row *compared = &comparison_rows[facts->comparison];
	unsigned wanted = facts->rounds_wanted, done = facts->rounds_done, unproven = facts->rounds_unproven;
	unsigned failed = done - facts->rounds_passed - unproven;
	int code = facts->command_exit;

	return facts->too_large[0] ? UNPROVEN("%s", facts->too_large)
		/* A whole line in quotes is one word. */
		: code == 127 && facts->command && strchr(facts->command, ' ') ? NO_COMMAND("there is no command named '%s' (127): write it without the quotes, or behind "
			"`sh -c`", facts->command)
		: code != 0 ? NO_COMMAND("%s (%d)", code == 127 ? "there is no such command" : "it is no program that may be executed", code)
		: facts->undisturbed_exit != 0 ? FAIL("the undisturbed run failed with %d", facts->undisturbed_exit)
		: failed > 0 ? FAIL("%u of %u preemptions failed", failed, wanted)
		: facts->last_ran && facts->last_exit != 0 ? FAIL("the last run failed with %d", facts->last_exit)
		: compared->result == DRILL_FAIL ? FAIL("the result %s", compared->said)
		: facts->timed_out ? UNPROVEN("the drill did not end within --timeout: give it more time, or the job fewer steps")
		: unproven > 0 ? UNPROVEN("%u of %u preemptions prove nothing", unproven, wanted)
		: done < wanted ? UNPROVEN("only %u of %u preemptions took place", done, wanted)
		: !facts->last_ran ? UNPROVEN("the job was not run to its end")
		: compared->result == DRILL_UNPROVEN ? UNPROVEN("the result %s", compared->said)
		: SAY(DRILL_PASS, "%s", "");
}
// clang-format on
