#include "drill/verdict.h"

#include "base/text.h"
#include "scheduler/scheduler.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static bool fail_round(struct round_verdict *verdict,
							     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
	va_end(args);
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

static int64_t since_notice(int64_t at_ms, int64_t fired_ms)
{
	return at_ms < 0 || fired_ms < 0 ? VERDICT_UNKNOWN : at_ms - fired_ms;
}

/* After the restore, the first step that the job printed is before its checkpoint's. It may have
 * ignored the checkpoint; or it counts steps per epoch, or names checkpoints by epoch, so that the
 * two numbers cannot be compared. */
static bool began_earlier(const struct round_facts *facts)
{
	return facts->events.commit.step >= 0 && facts->next_steps.first >= 0 &&
	       facts->next_steps.first < facts->events.commit.step;
}

/* The numbers can be compared if the checkpoint's is among the steps that this machine printed, and
 * nearer to the last than to the first. */
static bool numbers_agree(const struct round_facts *facts)
{
	int64_t step = facts->events.commit.step;

	return facts->steps.first >= 0 && step <= facts->steps.last &&
	       step - facts->steps.first >= facts->steps.last - step;
}

static int64_t lost_steps(const struct round_facts *facts)
{
	const struct run_events *events = &facts->events;
	int64_t kept = has_commit(facts)                       ? events->commit.step
		       : snapshot_id_is_none(events->restored) ? 0
							       : events->restored_step;

	if (kept < 0 || facts->steps.last < 0 || (began_earlier(facts) && !numbers_agree(facts)))
		return VERDICT_UNKNOWN;
	return facts->steps.last > kept ? facts->steps.last - kept : 0;
}

static void measure_times(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	int64_t ended_ms = events->child_exited_ms >= 0 ? events->child_exited_ms : facts->gone_ms;

	verdict->noticed_ms = since_notice(events->noticed_ms, facts->fired_ms);
	verdict->asked_ms = since_notice(events->asked_ms, facts->fired_ms);
	verdict->saved_ms = verdict->durable_ms = verdict->margin_ms = VERDICT_UNKNOWN;
	verdict->lost_ms = VERDICT_UNKNOWN;
	verdict->lost_steps = lost_steps(facts);
	if (has_commit(facts)) {
		verdict->saved_ms = since_notice(events->commit.checkpoint.at_ms, facts->fired_ms);
		verdict->durable_ms = since_notice(events->commit.at_ms, facts->fired_ms);
		verdict->lost_ms = ended_ms - events->commit.checkpoint.captured_ms;
		if (facts->fired_ms >= 0)
			verdict->margin_ms = facts->deadline_ms - events->commit.at_ms;
	} else if (events->launched_ms >= 0) {
		verdict->lost_ms = ended_ms - events->launched_ms;
	}
	if (verdict->lost_ms != VERDICT_UNKNOWN && verdict->lost_ms < 0)
		verdict->lost_ms = 0;
}

static bool was_preempted(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;

	if (events->launched_ms < 0)
		return fail_round(verdict, "the job was not started: `reprieve run` ended with %d",
				  facts->exit_code);
	if (facts->fired_ms < 0 && facts->exit_code == 0)
		return fail_round(verdict, "the job finished before the notice: give a smaller "
					   "--notice-after, or more work");
	if (facts->fired_ms < 0)
		return fail_round(verdict, "the job ended by itself before the notice, with %d",
				  facts->exit_code);
	if (!facts->killed && facts->exit_code == 0)
		return fail_round(verdict, "the job finished during the notice: give a smaller "
					   "--notice-after, or more work");
	if (events->noticed_ms < 0)
		return fail_round(verdict, "reprieve did not see the notice within %" PRId64 " s",
				  (facts->gone_ms - facts->fired_ms) / 1000);
	return true;
}

static bool was_saved(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct run_events *events = &facts->events;
	char age[32];

	if (!has_commit(facts) && events->failed[0])
		return fail_round(verdict, "nothing is durable: %s", events->failed);
	if (!has_commit(facts) && events->checkpoint_count > 0)
		return fail_round(verdict,
				  "nothing is durable: a checkpoint was complete, but its upload "
				  "was not finished in time");
	if (!has_commit(facts) && events->saving_ms >= 0)
		return fail_round(verdict,
				  "nothing is durable: the job wrote to its checkpoint directory, "
				  "but no checkpoint there was known to be complete; the log of "
				  "this machine says why");
	if (!has_commit(facts) && events->elsewhere[0])
		return fail_round(verdict,
				  "nothing is durable: the job saves elsewhere (%s). Set "
				  "--checkpoint-dir",
				  events->elsewhere);
	if (!has_commit(facts) && events->asked_ms >= 0)
		return fail_round(verdict,
				  "nothing is durable: the job was asked (%s) and no complete "
				  "checkpoint appeared. Does it save into the checkpoint "
				  "directory?",
				  events->asked_how);
	if (!has_commit(facts))
		return fail_round(verdict,
				  "nothing is durable: the job was not asked to save, and had "
				  "saved nothing by itself. Use --checkpoint-signal");
	if (events->commit.at_ms > facts->deadline_ms)
		return fail_round(verdict, "the checkpoint was durable only after the deadline");
	text_duration(verdict->lost_ms, age, sizeof(age));
	if (!saved_after_notice(facts) && events->asked_ms >= 0)
		return fail_round(verdict,
				  "the job was asked (%s) and saved nothing: the surviving "
				  "checkpoint is %s old",
				  events->asked_how, age);
	if (facts->killed && !saved_after_notice(facts))
		return fail_round(verdict,
				  "nothing was saved after the notice: the surviving checkpoint is "
				  "%s old",
				  age);
	if (!facts->killed && facts->exit_code == EXIT_NOT_DURABLE)
		return fail_round(verdict,
				  "the newest work is not durable: the surviving checkpoint is %s "
				  "old",
				  age);
	if (!facts->killed && facts->exit_code != EXIT_PREEMPTED)
		return fail_round(verdict, "`reprieve run` ended with %d instead of %d",
				  facts->exit_code, EXIT_PREEMPTED);
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

static bool was_resumed(const struct round_facts *facts, struct round_verdict *verdict)
{
	const struct snapshot_id said = facts->events.commit.id;
	char text[SNAPSHOT_ID_TEXT], other[SNAPSHOT_ID_TEXT];

	snapshot_id_format(said, text);
	if (!facts->next_launched)
		return fail_round(verdict, "the next machine did not start the job");
	if (snapshot_id_is_none(facts->next_restored))
		return fail_round(verdict,
				  "the next machine started from scratch instead of from %s", text);
	if (snapshot_id_compare(facts->next_restored, said) != 0)
		return fail_round(verdict, "the next machine started from %s instead of %s",
				  snapshot_id_format(facts->next_restored, other), text);
	if (began_earlier(facts) && numbers_agree(facts))
		return fail_round(verdict,
				  "step %" PRId64
				  " was restored, but the job continued with step %" PRId64
				  ": it does not load its checkpoint",
				  facts->events.commit.step, facts->next_steps.first);
	return true;
}

static void add_remark(const struct round_facts *facts, struct round_verdict *verdict)
{
	if (began_earlier(facts))
		snprintf(verdict->remark, sizeof(verdict->remark),
			 "step %" PRId64
			 " was restored, but the first step that the job printed then was %" PRId64
			 ": does it load its checkpoint, or restart its count?",
			 facts->events.commit.step, facts->next_steps.first);
	else if (facts->killed)
		snprintf(verdict->remark, sizeof(verdict->remark),
			 "the job had not exited at the deadline and was killed with its machine; "
			 "its work was safe");
	else if (facts->events.asked_ms < 0)
		snprintf(verdict->remark, sizeof(verdict->remark),
			 "the job was not asked to save: its own last checkpoint survives. "
			 "--checkpoint-signal would lose less");
}

void verdict_round(const struct round_facts *facts, struct round_verdict *verdict)
{
	*verdict = (struct round_verdict){0};
	measure_times(facts, verdict);
	verdict->passed = was_preempted(facts, verdict) && was_saved(facts, verdict) &&
			  is_in_store(facts, verdict) && was_resumed(facts, verdict);
	if (verdict->passed)
		add_remark(facts, verdict);
}

static const char *what_differs(enum comparison comparison)
{
	switch (comparison) {
	case COMPARISON_NOT_ASKED:
	case COMPARISON_EQUAL:
		return NULL;
	case COMPARISON_DIFFERENT:
		return "the result differs from the undisturbed run's";
	case COMPARISON_MISSING_UNDISTURBED:
		return "the undisturbed run did not write the file to compare";
	case COMPARISON_MISSING:
		return "the preempted run did not write the file to compare";
	case COMPARISON_NOT_MADE:
		return "the results could not be compared";
	}
	return NULL;
}

bool verdict_drill(const struct drill_facts *facts, char *reason, size_t capacity)
{
	char nowhere[1];

	if (!reason) {
		reason = nowhere;
		capacity = sizeof(nowhere);
	}
	reason[0] = '\0';
	if (facts->undisturbed_exit != 0)
		snprintf(reason, capacity, "the undisturbed run failed with %d",
			 facts->undisturbed_exit);
	else if (facts->rounds_passed < facts->rounds_done)
		snprintf(reason, capacity, "%u of %u preemptions failed",
			 facts->rounds_done - facts->rounds_passed, facts->rounds_wanted);
	else if (facts->rounds_done < facts->rounds_wanted)
		snprintf(reason, capacity, "only %u of %u preemptions took place",
			 facts->rounds_done, facts->rounds_wanted);
	else if (!facts->last_ran)
		snprintf(reason, capacity, "the job was not run to its end");
	else if (facts->last_exit != 0)
		snprintf(reason, capacity, "the last run failed with %d", facts->last_exit);
	else if (what_differs(facts->comparison))
		snprintf(reason, capacity, "%s", what_differs(facts->comparison));
	else
		return true;
	return false;
}
