#include "round_verdict.h"

#include "base/text.h"
#include "scheduler/scheduler.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool fail_round(struct round_verdict *verdict,
							     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
	va_end(args);
	verdict->result = DRILL_FAIL;
	return false;
}

/* The job has not been tried: nothing was lost. */
static bool not_tried(const struct round_facts *facts, struct round_verdict *verdict,
		      const char *when)
{
	const char *elsewhere = facts->events.elsewhere;

	fail_round(verdict,
		   "the job finished %s: it was not preempted. Give a smaller --notice-after, a "
		   "shorter --notice, or more work%s%s%s",
		   when, *elsewhere ? ". It would not have passed: it saves elsewhere (" : "",
		   elsewhere,
		   *elsewhere ? "). Set --checkpoint-dir to where its checkpoints are" : "");
	verdict->result = DRILL_UNPROVEN;
	verdict->lost_ms = verdict->lost_steps = verdict->lost_steps_least = VERDICT_UNKNOWN;
	return false;
}

static bool has_commit(const struct round_facts *facts)
{
	return !snapshot_id_is_none(facts->events.commit.id);
}

static bool saved_after_notice(const struct round_facts *facts)
{
	return has_commit(facts) && facts->events.commit.checkpoint.at_ms >= facts->fired_ms;
}

/* The first checkpoint after the notice or, if it has brought none, the newest before it. A job
 * that goes on saves more until it is killed: what comes last may be too late. */
static struct run_checkpoint last_due(const struct run_events *events)
{
	return events->first_after_notice.at_ms >= 0 || events->checkpoint_count == 0
		       ? events->first_after_notice
		       : events->checkpoints[events->checkpoint_count - 1];
}

/* The commit that the verdict is about: the newest one, unless it came after the deadline and one
 * that came in time holds what was due. */
static const struct run_commit *judged_commit(const struct round_facts *facts)
{
	const struct run_events *events = &facts->events;
	const struct run_commit *in_time = run_events_commit_by(events, facts->deadline_ms);

	return in_time && in_time->checkpoint.at_ms >= last_due(events).at_ms
		       ? in_time
		       : &events->commit;
}

static int64_t since_notice(int64_t at_ms, int64_t fired_ms)
{
	return at_ms < 0 || fired_ms < 0 ? VERDICT_UNKNOWN : at_ms - fired_ms;
}

static bool begins_anew(const struct round_facts *facts)
{
	return facts->next_launched &&
	       (snapshot_id_is_none(facts->next_restored) ||
		facts->resumption.continuation.continuation == CONTINUATION_ANEW);
}

static struct steps_between lost_steps(const struct round_facts *facts)
{
	const struct run_events *events = &facts->events;
	const struct count_facts *count = &facts->count;
	const struct steps_between unknown = {VERDICT_UNKNOWN, VERDICT_UNKNOWN};
	double kept = 0;

	if (!facts->counted)
		return unknown;
	if (facts->next_launched && facts->next_counted)
		return continuation_lost_steps(count);
	/* It has not said where it goes on. */
	if (facts->next_launched &&
	    facts->resumption.continuation.continuation != CONTINUATION_PROVEN)
		return unknown;
	if (has_commit(facts))
		kept = continuation_is_same_count(count) ? count->step : -1;
	else if (!snapshot_id_is_none(events->restored))
		kept = (double)events->restored_step;
	return kept < 0 ? unknown : continuation_steps_since(count, kept);
}

static int64_t lost_ms(const struct round_facts *facts, int64_t steps)
{
	const struct run_events *events = &facts->events;
	int64_t ended_ms = events->child_exited_ms >= 0 ? events->child_exited_ms : facts->gone_ms;
	int64_t since_ms = events->launched_ms;

	/* The time of a slow save is no work. */
	if (steps == 0)
		return 0;
	if (has_commit(facts) && !begins_anew(facts))
		since_ms = events->commit.checkpoint.captured_ms;
	if (since_ms < 0 || facts->resumption.continuation.continuation == CONTINUATION_OLDER)
		return VERDICT_UNKNOWN;
	return ended_ms > since_ms ? ended_ms - since_ms : 0;
}

static void measure_times(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	const struct run_commit *commit = judged_commit(facts);
	struct steps_between steps = lost_steps(facts);

	verdict->noticed_ms = since_notice(events->noticed_ms, facts->fired_ms);
	verdict->asked_ms = since_notice(events->asked_ms, facts->fired_ms);
	verdict->saved_ms = verdict->durable_ms = verdict->margin_ms = VERDICT_UNKNOWN;
	verdict->lost_steps = steps.most;
	verdict->lost_steps_least = steps.least;
	verdict->lost_epochs = facts->epochs;
	verdict->lost_ms = lost_ms(facts, verdict->lost_steps);
	if (!has_commit(facts))
		return;
	verdict->saved_ms = since_notice(commit->checkpoint.at_ms, facts->fired_ms);
	verdict->durable_ms = since_notice(commit->at_ms, facts->fired_ms);
	if (facts->fired_ms >= 0)
		verdict->margin_ms = facts->deadline_ms - commit->at_ms;
}

bool verdict_is_no_command(int exit_code)
{
	return exit_code == 126 || exit_code == 127;
}

static bool has_no_command(const struct round_facts *facts, struct round_verdict *verdict)
{
	if (facts->fired_ms >= 0 || facts->killed || !verdict_is_no_command(facts->exit_code))
		return false;
	fail_round(verdict, "the command ended with %d before the notice", facts->exit_code);
	verdict->result = DRILL_NOT_RUN;
	return true;
}

/* What stands before the job's last line. */
static const char *said_mark(const struct round_facts *facts)
{
	return facts->said[0] ? ". Its last line: " : "";
}

static bool was_preempted(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;

	if (has_no_command(facts, verdict))
		return false;
	if (events->launched_ms < 0)
		return fail_round(verdict, "the job was not started: `reprieve run` ended with %d",
				  facts->exit_code);
	if (facts->fired_ms < 0 && facts->exit_code == 0)
		return not_tried(facts, verdict, "before the notice");
	if (facts->fired_ms < 0)
		return fail_round(verdict, "the job ended by itself before the notice, with %d%s%s",
				  facts->exit_code, said_mark(facts), facts->said);
	if (!facts->killed && facts->exit_code == 0)
		return not_tried(facts, verdict, "during the notice");
	if (events->noticed_ms < 0)
		return fail_round(verdict, "reprieve did not see the notice within %" PRId64 " s",
				  (facts->gone_ms - facts->fired_ms) / 1000);
	return true;
}

/* By itself, be it that it was asked: it was not told to stop. */
static bool has_crashed(const struct run_events *events)
{
	return events->child_code > 0 && events->stopping_ms < 0;
}

static bool fail_crashed(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	bool asked = events->asked_ms >= 0;

	return fail_round(verdict,
			  "nothing is durable: the job %s%s%sitself ended with %d before it had "
			  "saved%s%s",
			  asked ? "was asked (" : "", asked ? events->asked_how : "",
			  asked ? "), and " : "", events->child_code, said_mark(facts),
			  facts->said);
}

/* Reprieve's own last warning says best why files that were written are no checkpoint. */
static bool fail_incomplete(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct file_accesses *accesses = &facts->accesses;
	char written[240] = "";

	if (accesses->written > 0)
		snprintf(written, sizeof(written), " (%u time%s, last %s)", accesses->written,
			 accesses->written == 1 ? "" : "s", accesses->last_written);
	return fail_round(verdict,
			  "nothing is durable: the job wrote to its checkpoint directory%s, but no "
			  "checkpoint there was known to be complete%s%s",
			  written, facts->warning[0] ? ". Reprieve said: " : "", facts->warning);
}

static bool fail_without_commit(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;

	if (events->failed[0])
		return fail_round(verdict, "nothing is durable: %s", events->failed);
	if (events->checkpoint_count > 0)
		return fail_round(verdict,
				  "nothing is durable: a checkpoint was complete, but its upload "
				  "was not finished in time");
	if (has_crashed(events))
		return fail_crashed(facts, verdict);
	if (events->saving_ms >= 0 || facts->accesses.written > 0)
		return fail_incomplete(facts, verdict);
	if (events->elsewhere[0])
		return fail_round(verdict,
				  "nothing is durable: the job saves elsewhere (%s). Set "
				  "--checkpoint-dir to where its checkpoints are",
				  events->elsewhere);
	if (events->asked_ms >= 0)
		return fail_round(verdict,
				  "nothing is durable: the job was asked (%s) and no complete "
				  "checkpoint appeared. Does it save into the checkpoint "
				  "directory?",
				  events->asked_how);
	if (facts->wrote[0])
		return fail_round(verdict,
				  "nothing is durable: the job saved nothing in its checkpoint "
				  "directory, but it wrote %s. If that is its checkpoint, set "
				  "--checkpoint-dir to its directory",
				  facts->wrote);
	return fail_round(verdict,
			  "nothing is durable: the job saved nothing, and it was not asked to. Let "
			  "it save more often, or if it can be asked, set --checkpoint-signal");
}

/* And `run` does not say that it is, or was killed before it could say anything. */
static bool is_due_one_missing(const struct round_facts *facts)
{
	return (facts->killed || facts->exit_code == EXIT_NOT_DURABLE) &&
	       last_due(&facts->events).at_ms > facts->events.commit.checkpoint.at_ms;
}

static bool was_saved(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	char age[32];

	if (!has_commit(facts))
		return fail_without_commit(facts, verdict);
	if (judged_commit(facts)->at_ms > facts->deadline_ms)
		return fail_round(verdict, "the checkpoint was durable only after the deadline");
	if (is_due_one_missing(facts)) {
		text_duration(last_due(events).captured_ms - events->commit.checkpoint.captured_ms,
			      age, sizeof(age));
		return fail_round(verdict,
				  "a newer checkpoint was complete on the disk, and not durable in "
				  "time%s%s. The surviving one is %s older",
				  events->failed[0] ? ": " : "", events->failed, age);
	}
	if (!facts->killed && facts->exit_code != EXIT_NOT_DURABLE &&
	    facts->exit_code != EXIT_PREEMPTED)
		return fail_round(verdict,
				  "%s%s%s`reprieve run` ended with %d instead of %d: nothing would "
				  "start it again",
				  events->asked_ms >= 0 ? "the job was asked (" : "",
				  events->asked_ms >= 0 ? events->asked_how : "",
				  events->asked_ms >= 0 ? "), and " : "", facts->exit_code,
				  EXIT_PREEMPTED);
	return true;
}

static bool is_in_store(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct snapshot_id said = facts->events.commit.id;
	char text[SNAPSHOT_ID_TEXT], newest[SNAPSHOT_ID_TEXT];

	snapshot_id_format(said, text);
	if (!facts->store_read)
		return fail_round(verdict, "the store cannot be read: %s", facts->store_error);
	if (!facts->commit_good)
		return fail_round(verdict,
				  "%s was reported durable, but the store has no valid snapshot of "
				  "it",
				  text);
	if (snapshot_id_compare(facts->store_newest, said) != 0)
		return fail_round(verdict,
				  "the store would resume from %s, but %s is the newest commit",
				  snapshot_id_is_none(facts->store_newest)
					  ? "nothing"
					  : snapshot_id_format(facts->store_newest, newest),
				  text);
	return true;
}

static bool was_restored(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct snapshot_id said = facts->events.commit.id;
	char text[SNAPSHOT_ID_TEXT], other[SNAPSHOT_ID_TEXT];

	snapshot_id_format(said, text);
	if (facts->next_cut) {
		fail_round(verdict, "--timeout ended the drill before the next machine had shown "
				    "where it goes on: give it more time, or the job fewer steps");
		verdict->result = DRILL_UNPROVEN;
		return false;
	}
	if (!facts->next_launched)
		return fail_round(verdict, "the next machine did not start the job");
	if (snapshot_id_is_none(facts->next_restored))
		return fail_round(verdict,
				  "the next machine started from scratch instead of from %s", text);
	if (snapshot_id_compare(facts->next_restored, said) != 0)
		return fail_round(verdict, "the next machine started from %s instead of %s",
				  snapshot_id_format(facts->next_restored, other), text);
	return true;
}

__attribute__((format(printf, 2, 3))) static void add_remark(struct round_verdict *verdict,
							     const char *format, ...)
{
	size_t used = strlen(verdict->remark);
	va_list args;

	if (used > 0)
		used += (size_t)snprintf(verdict->remark + used, sizeof(verdict->remark) - used,
					 ". ");
	va_start(args, format);
	if (used < sizeof(verdict->remark))
		vsnprintf(verdict->remark + used, sizeof(verdict->remark) - used, format, args);
	va_end(args);
}

static void add_remarks(const struct round_facts *facts, struct round_verdict *verdict)
{
	if (facts->killed)
		add_remark(verdict, "the job had not exited at the deadline and was killed with "
				    "its machine; "
				    "its checkpoint was safe");
	else if (facts->events.asked_ms < 0)
		add_remark(verdict,
			   "the job was not asked to save: its own last checkpoint survives. A "
			   "script that saves at a signal loses less (run --checkpoint-signal)");
	else if (!saved_after_notice(facts))
		add_remark(verdict,
			   "the job was asked (%s) and saved nothing: its own last checkpoint "
			   "survives",
			   facts->events.asked_how);
	if (facts->events.commit.at_ms > facts->deadline_ms)
		add_remark(verdict,
			   "its newest checkpoint was durable only %" PRId64
			   " ms after the deadline, and a real machine may lose it; the one before "
			   "it was in time",
			   facts->events.commit.at_ms - facts->deadline_ms);
	if (facts->wrote[0])
		add_remark(verdict, "it also wrote %s, which is not saved", facts->wrote);
}

/* Its state may be there. */
static void name_unsaved_files(const struct round_facts *facts, struct round_verdict *verdict)
{
	size_t used = strlen(verdict->reason);

	if (facts->wrote[0] && verdict->result != DRILL_PASS)
		snprintf(verdict->reason + used, sizeof(verdict->reason) - used,
			 ". It also wrote %s, which is not saved: if it needs that, set "
			 "--checkpoint-dir to a directory that holds both",
			 facts->wrote);
}

static void limit_loss(const struct round_facts *facts, struct round_verdict *verdict)
{
	const char *what = facts->epochs ? "epoch" : "step";

	if (facts->lost_most == UINT_MAX || verdict->result != DRILL_PASS)
		return;
	if (verdict->lost_steps == VERDICT_UNKNOWN) {
		fail_round(verdict,
			   "how many steps were lost is not known, and no more than %u may be: let "
			   "the job print its step (\"step 121\")",
			   facts->lost_most);
		verdict->result = DRILL_UNPROVEN;
	} else if (verdict->lost_steps_least > facts->lost_most) {
		fail_round(verdict,
			   "%s%" PRId64 " %ss were lost, and no more than %u may be (--max-lost)",
			   verdict->lost_steps_least < verdict->lost_steps ? "at least " : "",
			   verdict->lost_steps_least, what, facts->lost_most);
	} else if (verdict->lost_steps > facts->lost_most) {
		fail_round(verdict,
			   "up to %" PRId64 " %ss were lost, and no more than %u may be "
			   "(--max-lost): the job prints only each %.0f %ss, so no more is known. "
			   "Let it print each %s",
			   verdict->lost_steps, what, facts->lost_most, facts->count.stride, what,
			   what);
		verdict->result = DRILL_UNPROVEN;
	}
}

void verdict_round(const struct round_facts *facts, struct round_verdict *verdict)
{
	struct resumption resumption;

	*verdict = (struct round_verdict){.result = DRILL_PASS};
	measure_times(facts, verdict);
	if (!was_preempted(facts, verdict) || !was_saved(facts, verdict) ||
	    !is_in_store(facts, verdict) || !was_restored(facts, verdict))
		return;
	resumption = resumption_judge(&facts->resumption);
	verdict->result = resumption.result;
	text_set(verdict->reason, sizeof(verdict->reason), resumption.reason);
	text_set(verdict->proof, sizeof(verdict->proof), resumption.proof);
	/* What it left to do was too little to prove anything. */
	if (verdict->result == DRILL_UNPROVEN && facts->events.finished)
		not_tried(facts, verdict, "during the notice");
	else
		name_unsaved_files(facts, verdict);
	if (verdict->result == DRILL_PASS)
		add_remarks(facts, verdict);
	limit_loss(facts, verdict);
}
