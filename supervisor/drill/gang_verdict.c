#include "gang_verdict.h"

#include "base/exit_code.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* --- one commit --- */

static const struct run_checkpoint *find_step(const struct run_events *events, int64_t step)
{
	for (size_t i = events->checkpoint_count; step >= 0 && i-- > 0;)
		if (events->checkpoints[i].step == step)
			return &events->checkpoints[i];
	return NULL;
}

void gang_verdict_share_commit(struct round_facts *each, uint32_t members)
{
	const struct run_commit *newest = &each[0].events.commit;

	for (uint32_t i = 1; i < members; i++)
		if (snapshot_id_compare(each[i].events.commit.id, newest->id) > 0)
			newest = &each[i].events.commit;
	for (uint32_t i = 0; i < members; i++) {
		struct run_events *events = &each[i].events;
		const struct run_checkpoint *own = find_step(events, newest->step);

		if (snapshot_id_compare(events->commit.id, newest->id) == 0)
			continue;
		run_events_set_commit(events, newest);
		if (own)
			events->commit.checkpoint = *own;
	}
}

/* --- the verdict --- */

__attribute__((format(printf, 4, 5))) static void decide(struct gang_preemption *round,
							 uint32_t member, enum drill_result result,
							 const char *format, ...)
{
	struct round_verdict *verdict = &round->verdicts[member];
	va_list args;

	va_start(args, format);
	vsnprintf(verdict->reason, sizeof(verdict->reason), format, args);
	va_end(args);
	verdict->result = result;
}

static bool is_newer_than_commit(const struct gang_preemption *round, int64_t step)
{
	const struct run_commit *commit = &round->each[0].events.commit;

	return step >= 0 && (snapshot_id_is_none(commit->id) || step > commit->step);
}

/* Whether all who save have this step. */
static bool is_common_step(const struct gang_preemption *round, int64_t step)
{
	for (uint32_t i = 0; i < round->members; i++)
		if (round->each[i].events.checkpoint_count > 0 &&
		    !find_step(&round->each[i].events, step))
			return false;
	return true;
}

/* It has saved before and after that step, and not there. */
static bool left_out_step(const struct run_events *events, int64_t step)
{
	size_t count = events->checkpoint_count;

	return count > 0 && events->checkpoints[0].step >= 0 &&
	       events->checkpoints[0].step < step && events->checkpoints[count - 1].step > step &&
	       !find_step(events, step);
}

/* Some of what is newer than the snapshot was left out by others, and nothing was saved by all. */
static bool differ_in_steps(const struct gang_preemption *round)
{
	bool left_out = false;

	for (uint32_t i = 0; i < round->members; i++) {
		const struct run_events *events = &round->each[i].events;

		for (size_t at = 0; at < events->checkpoint_count; at++) {
			int64_t step = events->checkpoints[at].step;

			if (!is_newer_than_commit(round, step))
				continue;
			if (is_common_step(round, step))
				return false;
			for (uint32_t other = 0; other < round->members; other++)
				left_out |= left_out_step(&round->each[other].events, step);
		}
	}
	return left_out;
}

static void print_last_steps(const struct gang_preemption *round, char *text, size_t capacity)
{
	size_t used = 0;

	for (uint32_t i = 0; i < round->members && used < capacity; i++) {
		const struct run_events *events = &round->each[i].events;
		int said;

		if (events->checkpoint_count == 0)
			continue;
		said = snprintf(text + used, capacity - used, "%smember %" PRIu32 " at %" PRId64,
				used > 0 ? ", " : "", i,
				events->checkpoints[events->checkpoint_count - 1].step);
		used += said > 0 ? (size_t)said : 0;
	}
}

bool gang_verdict_is_lost(const struct gang_preemption *round)
{
	bool late = snapshot_id_is_none(round->each[0].events.commit.id);

	for (uint32_t i = 0; i < round->members; i++)
		late |= round->each[i].exit_code == EXIT_NOT_DURABLE;
	return round->each[0].fired_ms >= 0 && late && differ_in_steps(round);
}

/* Nothing that is new is durable, because of what was saved, and not because of one of them. */
static bool blame_steps(struct gang_preemption *round)
{
	char steps[240] = "";

	if (!gang_verdict_is_lost(round))
		return false;
	print_last_steps(round, steps, sizeof(steps));
	snprintf(round->reason, sizeof(round->reason),
		 "the members do not save at the same steps (last %s): what only some of them have "
		 "is no snapshot. Let all ranks save at the same steps, as by `step %% 100 == 0` "
		 "and "
		 "not by a clock, or all when they are asked (run --checkpoint-signal)",
		 steps);
	round->result = DRILL_FAIL;
	return true;
}

/* Whoever saves nothing may be given its state by another one: that it opens nothing proves
 * nothing, and passes nothing either. */
static void consider_given_state(struct gang_preemption *round, uint32_t member)
{
	const struct resumption_facts *facts = &round->each[member].resumption;
	enum continuation continuation = facts->continuation.continuation;

	if (round->has_part[member] || round->verdicts[member].result != DRILL_FAIL ||
	    facts->reading.reading != READING_NOTHING || facts->failed ||
	    (continuation != CONTINUATION_UNKNOWN && continuation != CONTINUATION_PROVEN))
		return;
	decide(round, member, DRILL_UNPROVEN,
	       "it opened none of the restored files%s. It saves nothing itself, and may be given "
	       "its state by another member: --compare its result to know",
	       continuation == CONTINUATION_PROVEN ? ", and counts on" : "");
}

static void judge_member(struct gang_preemption *round, uint32_t member)
{
	const struct round_facts *facts = &round->each[member];

	verdict_round(facts, &round->verdicts[member]);
	if (facts->killed && facts->fired_ms >= 0 && member != round->lost)
		decide(round, member, DRILL_FAIL,
		       "the machine of member %" PRIu32
		       " was taken away, and this one had not ended long after: its job does not "
		       "end, or it did not hear of it",
		       round->lost);
	else
		consider_given_state(round, member);
}

/* Why the others have ended is said by the first: by itself before the notice, or by an error of
 * its own. */
static bool is_cause(const struct round_facts *facts)
{
	return (facts->fired_ms < 0 && facts->exit_code != EXIT_PREEMPTED &&
		facts->exit_code != EXIT_NOT_DURABLE && !facts->killed) ||
	       facts->resumption.failed != 0;
}

static void take_reason(struct gang_preemption *round, uint32_t member)
{
	round->result = round->verdicts[member].result;
	snprintf(round->reason, sizeof(round->reason), "member %" PRIu32 ": %s", member,
		 round->verdicts[member].reason);
}

void gang_verdict_round(struct gang_preemption *round)
{
	static const enum drill_result worst[] = {DRILL_NOT_RUN, DRILL_FAIL, DRILL_UNPROVEN};

	round->result = DRILL_PASS;
	round->reason[0] = '\0';
	for (uint32_t i = 0; i < round->members; i++)
		judge_member(round, i);
	if (blame_steps(round))
		return;
	for (size_t w = 0; w < sizeof(worst) / sizeof(worst[0]); w++) {
		for (uint32_t i = 0; i < round->members; i++)
			if (round->verdicts[i].result == worst[w] && is_cause(&round->each[i])) {
				take_reason(round, i);
				return;
			}
		for (uint32_t i = 0; i < round->members; i++)
			if (round->verdicts[i].result == worst[w]) {
				take_reason(round, i);
				return;
			}
	}
}
