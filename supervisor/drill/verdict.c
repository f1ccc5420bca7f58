#include "verdict.h"

#include "base/exit_code.h"
#include "base/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HOW_TO_LOAD                                                                            \
	"it does not load its checkpoint. If it does so only with an option (--resume PATH), " \
	"give it that where REPRIEVE_RESUMING is 1: reprieve-run(1) shows how"
#define HOW_TO_COUNT                                                                  \
	"Let it print its step (\"step 121\") before and after each save, or say by " \
	"--step-pattern "                                                             \
	"where it does"

const char *drill_result_name(enum drill_result result)
{
	static const char *const names[] = {"PASS", "FAIL", "UNPROVEN", "NOT RUN"};

	return names[result];
}

bool verdict_is_no_command(int exit_code)
{
	return exit_code == 126 || exit_code == 127;
}

__attribute__((format(printf, 3, 4))) static bool decide(
	struct round_verdict *verdict, enum drill_result result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
	va_end(args);
	verdict->result = result;
	return false;
}
#define FAIL(...) decide(verdict, DRILL_FAIL, __VA_ARGS__)
#define UNPROVEN(...) decide(verdict, DRILL_UNPROVEN, __VA_ARGS__)

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

static int64_t lost_ms(const struct round_facts *facts, enum continuation continuation)
{
	const struct run_events *events = &facts->events;
	int64_t ended_ms = events->child_exited_ms >= 0 ? events->child_exited_ms : facts->gone_ms;
	bool anew =
		facts->next_launched &&
		(snapshot_id_is_none(facts->next_restored) || continuation == CONTINUATION_ANEW);
	int64_t since_ms = has_commit(facts) && !anew ? events->commit.checkpoint.captured_ms
						      : events->launched_ms;

	if (since_ms < 0 || continuation == CONTINUATION_OLDER)
		return VERDICT_UNKNOWN;
	return ended_ms > since_ms ? ended_ms - since_ms : 0;
}

static void measure(const struct round_facts *facts, enum continuation continuation,
		    struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	const struct run_commit *commit = judged_commit(events);
	struct steps_between steps = lost_steps(facts);

	verdict->noticed_ms = since_notice(events->noticed_ms, facts->fired_ms);
	verdict->asked_ms = since_notice(events->asked_ms, facts->fired_ms);
	verdict->saved_ms = verdict->durable_ms = verdict->margin_ms = VERDICT_UNKNOWN;
	verdict->lost_steps = steps.most;
	verdict->lost_steps_least = steps.least;
	/* The time of a slow save is no work. */
	verdict->lost_ms = steps.most == 0 ? 0 : lost_ms(facts, continuation);
	if (!has_commit(facts))
		return;
	verdict->saved_ms = since_notice(commit->checkpoint.at_ms, facts->fired_ms);
	verdict->durable_ms = since_notice(commit->at_ms, facts->fired_ms);
	if (facts->fired_ms >= 0)
		verdict->margin_ms = facts->deadline_ms - commit->at_ms;
}

/* --- fact 1: the event log --- */

/* The job has not been tried: nothing was lost. */
static bool not_tried(const struct round_facts *facts, struct round_verdict *verdict,
		      const char *when)
{
	const char *elsewhere = facts->events.elsewhere;

	verdict->lost_ms = verdict->lost_steps = verdict->lost_steps_least = VERDICT_UNKNOWN;
	return UNPROVEN("the job finished %s: it was not preempted. Give a smaller --notice-after, "
			"a shorter --notice, or more work%s%s%s",
			when, *elsewhere ? ". It would not have passed: it saves elsewhere (" : "",
			elsewhere,
			*elsewhere ? "). Set --checkpoint-dir to where its checkpoints are" : "");
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

static bool was_preempted(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;

	if (facts->fired_ms < 0 && !facts->killed && verdict_is_no_command(facts->exit_code))
		return decide(verdict, DRILL_NOT_RUN, "the command ended with %d before the notice",
			      facts->exit_code);
	if (events->launched_ms < 0)
		return FAIL("the job was not started: `reprieve run` ended with %d",
			    facts->exit_code);
	if (!facts->killed && facts->exit_code == 0)
		return not_tried(facts, verdict,
				 facts->fired_ms < 0 ? "before the notice" : "during the notice");
	if (facts->fired_ms < 0 || failed_before(facts))
		return FAIL("the job ended by itself before the notice, with %d%s%s",
			    failed_before(facts) ? events->child_code : facts->exit_code,
			    said_mark(facts), facts->said);
	if (events->noticed_ms < 0)
		return FAIL("reprieve did not see the notice within %" PRId64 " s",
			    (facts->gone_ms - facts->fired_ms) / 1000);
	return true;
}

static bool fail_without_commit(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	bool asked = events->asked_ms >= 0;

	if (events->failed[0])
		return FAIL("nothing is durable: %s", events->failed);
	if (events->checkpoint_count > 0)
		return FAIL("nothing is durable: a checkpoint was complete, but its upload was not "
			    "finished in time");
	/* By itself: it was not told to stop. */
	if (events->child_code > 0 && events->stopping_ms < 0)
		return FAIL("nothing is durable: the job %s%s%sitself ended with %d before it had "
			    "saved%s%s",
			    asked ? "was asked (" : "", asked ? events->asked_how : "",
			    asked ? "), and " : "", events->child_code, said_mark(facts),
			    facts->said);
	/* Reprieve's own last warning says best why files that were written are no checkpoint. */
	if (events->saving_ms >= 0)
		return FAIL("nothing is durable: the job wrote to its checkpoint directory, but no "
			    "checkpoint there was known to be complete%s%s",
			    facts->warning[0] ? ". Reprieve said: " : "", facts->warning);
	if (events->elsewhere[0])
		return FAIL("nothing is durable: the job saves elsewhere (%s). Set "
			    "--checkpoint-dir to where its checkpoints are",
			    events->elsewhere);
	if (asked)
		return FAIL("nothing is durable: the job was asked (%s) and no complete checkpoint "
			    "appeared. Does it save into the checkpoint directory?",
			    events->asked_how);
	return FAIL("nothing is durable: the job saved nothing, and it was not asked to. Let it "
		    "save more often, or if it can be asked, set --checkpoint-signal; if it saves "
		    "elsewhere, set --checkpoint-dir");
}

static bool was_saved(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	bool asked = events->asked_ms >= 0;
	char age[32];

	if (!has_commit(facts))
		return fail_without_commit(facts, verdict);
	if (judged_commit(events)->at_ms > facts->deadline_ms)
		return FAIL("the checkpoint was durable only after the deadline");
	/* And `run` does not say that it is, or was killed before it could say anything. */
	if ((facts->killed || facts->exit_code == EXIT_NOT_DURABLE) &&
	    last_due(events).at_ms > events->commit.checkpoint.at_ms) {
		text_duration(last_due(events).captured_ms - events->commit.checkpoint.captured_ms,
			      age, sizeof(age));
		return FAIL("a newer checkpoint was complete on the disk, and not durable in "
			    "time%s%s. The surviving one is %s older",
			    events->failed[0] ? ": " : "", events->failed, age);
	}
	if (!facts->killed && facts->exit_code != EXIT_NOT_DURABLE &&
	    facts->exit_code != EXIT_PREEMPTED)
		return FAIL("%s%s%s`reprieve run` ended with %d instead of %d: nothing would start "
			    "it again",
			    asked ? "the job was asked (" : "", asked ? events->asked_how : "",
			    asked ? "), and " : "", facts->exit_code, EXIT_PREEMPTED);
	return true;
}

/* --- facts 2 and 3: the store, and what was restored --- */

static bool was_restored(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct snapshot_id said = facts->events.commit.id;
	char text[SNAPSHOT_ID_TEXT], other[SNAPSHOT_ID_TEXT];

	snapshot_id_format(said, text);
	if (facts->store_error[0])
		return FAIL("the store cannot be read: %s", facts->store_error);
	if (!facts->commit_good)
		return FAIL("%s was reported durable, but the store has no valid snapshot of it",
			    text);
	if (snapshot_id_compare(facts->store_newest, said) != 0)
		return FAIL("the store would resume from %s, but %s is the newest commit",
			    snapshot_id_is_none(facts->store_newest)
				    ? "nothing"
				    : snapshot_id_format(facts->store_newest, other),
			    text);
	if (facts->next_cut)
		return UNPROVEN("--timeout ended the drill before the next machine had shown where "
				"it goes on: give it more time, or the job fewer steps");
	if (!facts->next_launched)
		return FAIL("the next machine did not start the job");
	if (snapshot_id_compare(facts->next_restored, said) != 0)
		return FAIL("the next machine started from %s instead of from %s",
			    snapshot_id_is_none(facts->next_restored)
				    ? "scratch"
				    : snapshot_id_format(facts->next_restored, other),
			    text);
	return true;
}

/* --- fact 4: the steps --- */

static void went_on(const struct round_facts *facts, enum continuation continuation,
		    struct round_verdict *verdict)
{
	const struct step_facts *steps = &facts->steps;
	const char *word = steps->word ? steps->word : "";
	bool exact = step_facts_are_exact(steps);
	double saved = exact ? steps->step : steps->low;

	if (facts->next_failed && continuation != CONTINUATION_PROVEN) {
		FAIL("the job ended with %d on the machine with the restored checkpoint: it cannot "
		     "go on from it",
		     facts->next_failed);
		return;
	}
	switch (continuation) {
	case CONTINUATION_PROVEN:
		break;
	case CONTINUATION_ANEW:
		FAIL("%s %.10g was restored, but the job began again at %s %.10g: " HOW_TO_LOAD,
		     word, saved, word, steps->next);
		return;
	case CONTINUATION_OLDER:
		FAIL("%s %.10g was restored, but the job went on with %s %.10g: it loads an older "
		     "checkpoint",
		     word, saved, word, steps->next);
		return;
	case CONTINUATION_AHEAD:
		UNPROVEN("%s %.10g was restored, but the job went on with %s %.10g: it left out "
			 "what is between, or also loads from a place that a new machine does not "
			 "have. --compare its result to know",
			 word, saved, word, steps->next);
		return;
	case CONTINUATION_UNKNOWN:
		if (steps->next_counted)
			UNPROVEN("the save came too early in what the job counts to tell its "
				 "resumption from a new beginning. Give a greater --notice-after");
		else
			UNPROVEN(
				"the checkpoint was restored, and nothing shows that the job went "
				"on from there: it prints no step on both machines. " HOW_TO_COUNT);
		return;
	}
	snprintf(verdict->proof, sizeof(verdict->proof),
		 "saved at %s%s %.10g, and its first on the next machine was %s %.10g",
		 exact ? "" : "about ", word, saved, word, steps->next);
}

static void add_remark(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	char *remark = verdict->remark;
	size_t size = sizeof(verdict->remark);

	if (events->commit.at_ms > facts->deadline_ms)
		snprintf(remark, size,
			 "its newest checkpoint was durable only %" PRId64
			 " ms after the deadline, and a real machine may lose it; the one before "
			 "it was in time",
			 events->commit.at_ms - facts->deadline_ms);
	else if (facts->killed)
		snprintf(remark, size,
			 "the job had not exited at the deadline and was killed with its machine; "
			 "its checkpoint was safe");
	else if (events->asked_ms < 0)
		snprintf(remark, size,
			 "the job was not asked to save: its own last checkpoint survives. A "
			 "script that saves at a signal loses less (run --checkpoint-signal)");
	else if (events->commit.checkpoint.at_ms < facts->fired_ms)
		snprintf(remark, size,
			 "the job was asked (%s) and saved nothing: its own last checkpoint "
			 "survives",
			 events->asked_how);
}

static void limit_loss(const struct round_facts *facts, struct round_verdict *verdict)
{
	const char *what = facts->steps.word;
	int64_t least = verdict->lost_steps_least, most = verdict->lost_steps;

	if (facts->lost_most == UINT_MAX || verdict->result != DRILL_PASS)
		return;
	if (most == VERDICT_UNKNOWN)
		UNPROVEN("how many steps were lost is not known, and no more than %u may be: let "
			 "the job print its step (\"step 121\")",
			 facts->lost_most);
	else if (least > facts->lost_most)
		FAIL("%s%" PRId64 " %ss were lost, and no more than %u may be (--max-lost)",
		     least < most ? "at least " : "", least, what, facts->lost_most);
	else if (most > facts->lost_most)
		UNPROVEN("up to %" PRId64 " %ss were lost, and no more than %u may be "
			 "(--max-lost): the job prints only each %.0f %ss, so no more is known. "
			 "Let it print each %s",
			 most, what, facts->lost_most, facts->steps.stride, what, what);
}

static void judge_machine(const struct round_facts *facts, struct round_verdict *verdict)
{
	enum continuation continuation = step_facts_judge(&facts->steps);

	*verdict = (struct round_verdict){.result = DRILL_PASS};
	measure(facts, continuation, verdict);
	if (!was_preempted(facts, verdict) || !was_saved(facts, verdict) ||
	    !was_restored(facts, verdict))
		return;
	went_on(facts, continuation, verdict);
	/* What it left to do was too little to prove anything. */
	if (verdict->result == DRILL_UNPROVEN && facts->events.finished)
		not_tried(facts, verdict, "during the notice");
	if (verdict->result == DRILL_PASS)
		add_remark(facts, verdict);
	limit_loss(facts, verdict);
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

	for (uint32_t i = 1; i < round->members; i++)
		if (snapshot_id_compare(round->each[i].events.commit.id, newest.id) > 0)
			newest = round->each[i].events.commit;
	for (uint32_t i = 0; i < round->members; i++) {
		struct run_events *events = &round->each[i].events;
		const struct run_checkpoint *own = find_step(events, newest.step);
		struct run_commit commit = newest;

		if (snapshot_id_compare(events->commit.id, newest.id) == 0)
			continue;
		if (own)
			commit.checkpoint = *own;
		run_events_set_commit(events, &commit);
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

/* Two of them have saved since the snapshot, each more than once, and nothing that all have. */
bool verdict_is_lost(const struct round *round)
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

			if (step < 0 || (!snapshot_id_is_none(commit->id) && step <= commit->step))
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
			FAIL("the machine of member %" PRIu32 " was taken away, and this one had "
			     "not ended long after: its job does not end, or it did not hear of it",
			     round->lost);
	}
	take_reason(round);
	if (round->members > 1 && verdict_is_lost(round))
		blame_steps(round);
}

/* --- the whole --- */

/* NULL: the comparison says nothing against the job. `result`: how bad it is. */
static const char *what_differs(enum comparison comparison, enum drill_result result)
{
	static const struct {
		enum drill_result result;
		const char *said;
	} rows[] = {
		[COMPARISON_NOT_ASKED] = {DRILL_PASS, NULL},
		[COMPARISON_EQUAL] = {DRILL_PASS, NULL},
		[COMPARISON_DIFFERENT] =
			{DRILL_FAIL, "the result differs from the undisturbed run's. (Is it the "
				     "same each time without a preemption? Run the job twice, "
				     "without reprieve, and compare: if not, seed it, and write no "
				     "time into the file)"},
		[COMPARISON_MISSING] = {DRILL_FAIL,
					"the preempted run did not write the file to compare"},
		[COMPARISON_MISSING_UNDISTURBED] =
			{DRILL_UNPROVEN, "the undisturbed run did not write the file to compare"},
		[COMPARISON_NOT_MADE] = {DRILL_UNPROVEN, "the results could not be compared"},
	};

	return rows[comparison].result == result ? rows[comparison].said : NULL;
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

enum drill_result verdict_drill(const struct drill_facts *facts, char *reason, size_t capacity)
{
#define SAY(result, ...) say(result, reason, capacity, __VA_ARGS__)
	unsigned failed = facts->rounds_done - facts->rounds_passed - facts->rounds_unproven;

	if (facts->too_large[0])
		return SAY(DRILL_UNPROVEN, "%s", facts->too_large);
	/* A whole line in quotes is one word. */
	if (facts->command_exit == 127 && facts->command && strchr(facts->command, ' '))
		return SAY(DRILL_NOT_RUN,
			   "the command cannot be run: there is no command named '%s' (127): write "
			   "it without the quotes, or behind `sh -c`",
			   facts->command);
	if (facts->command_exit != 0)
		return SAY(DRILL_NOT_RUN, "the command cannot be run: %s (%d)",
			   facts->command_exit == 127 ? "there is no such command"
						      : "it is no program that may be executed",
			   facts->command_exit);
	if (facts->undisturbed_exit != 0)
		return SAY(DRILL_FAIL, "the undisturbed run failed with %d",
			   facts->undisturbed_exit);
	if (failed > 0)
		return SAY(DRILL_FAIL, "%u of %u preemptions failed", failed, facts->rounds_wanted);
	if (facts->last_ran && facts->last_exit != 0)
		return SAY(DRILL_FAIL, "the last run failed with %d", facts->last_exit);
	if (what_differs(facts->comparison, DRILL_FAIL))
		return SAY(DRILL_FAIL, "%s", what_differs(facts->comparison, DRILL_FAIL));
	if (facts->timed_out)
		return SAY(DRILL_UNPROVEN, "the drill did not end within --timeout: give it more "
					   "time, or the job fewer steps");
	if (facts->rounds_unproven > 0)
		return SAY(DRILL_UNPROVEN, "%u of %u preemptions prove nothing",
			   facts->rounds_unproven, facts->rounds_wanted);
	if (facts->rounds_done < facts->rounds_wanted)
		return SAY(DRILL_UNPROVEN, "only %u of %u preemptions took place",
			   facts->rounds_done, facts->rounds_wanted);
	if (!facts->last_ran)
		return SAY(DRILL_UNPROVEN, "the job was not run to its end");
	if (what_differs(facts->comparison, DRILL_UNPROVEN))
		return SAY(DRILL_UNPROVEN, "%s", what_differs(facts->comparison, DRILL_UNPROVEN));
	return SAY(DRILL_PASS, "%s", "");
}
