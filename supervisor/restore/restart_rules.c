#include "restart_rules.h"

static uint32_t count_without_progress(const struct attempt_outcome *items, size_t count)
{
	uint32_t streak = 0;

	while (streak < count && items[streak].snapshots == 0 && !items[streak].finished)
		streak++;
	return streak;
}

/* The job crashed soon after it had got its checkpoint, and saved nothing in between. */
static bool died_of_its_start(const struct attempt_outcome *item)
{
	return item->crashed && item->same_command && item->snapshots == 0 &&
	       !item->checkpoint_complete && item->ran_ms >= 0 &&
	       item->ran_ms < RESTART_EARLY_CRASH_MS && !snapshot_id_is_none(item->start);
}

static bool died_twice_of_same_start(const struct attempt_outcome *items, size_t count)
{
	return count >= 2 && died_of_its_start(&items[0]) && died_of_its_start(&items[1]) &&
	       snapshot_id_compare(items[0].start, items[1].start) == 0;
}

/* Rolls back by one snapshot only. If the job crashes from the previous one too, the cause is
 * another, and more steps would only lose more work. */
static void decide_start(const struct attempt_outcome *items, size_t count,
			 struct restart_decision *decision)
{
	if (count == 0 || items[0].snapshots > 0)
		return;
	decision->had_no_effect = items[0].had_no_effect;
	decision->rolled_back_from = items[0].rolled_back_from;
	if (decision->had_no_effect || !died_twice_of_same_start(items, count))
		return;
	if (snapshot_id_is_none(decision->rolled_back_from)) {
		decision->action = RESTART_ROLL_BACK;
		decision->snapshot = decision->rolled_back_from = items[0].start;
		return;
	}
	/* There was no earlier snapshot to roll back to: both attempts started from the same one.
	 */
	if (snapshot_id_compare(decision->rolled_back_from, items[0].start) == 0)
		return;
	decision->action = RESTART_REVERT;
	decision->snapshot = decision->rolled_back_from;
	decision->rolled_back_from = (struct snapshot_id){0};
	decision->had_no_effect = true;
}

struct restart_decision restart_rules_decide(const struct attempt_outcome *items, size_t count,
					     const struct restart_rules *rules)
{
	struct restart_decision decision = {
		.action = RESTART_PROCEED,
		.without_progress = count_without_progress(items, count),
	};

	if (rules->done_counts && count > 0 && items[0].finished && items[0].same_command)
		decision.action = RESTART_DONE;
	else if (rules->max_no_progress > 0 && decision.without_progress >= rules->max_no_progress)
		decision.action = RESTART_NO_PROGRESS;
	else if (rules->may_roll_back)
		decide_start(items, count, &decision);
	return decision;
}
