#include "restart_rules.h"

/* --- progress --- */

/* How many snapshots lie in a row behind what an attempt has saved last. */
static uint64_t reach_of(const struct attempt_outcome *items, size_t count, size_t at)
{
	uint64_t reach = items[at].newest;
	struct snapshot_id from = items[at].start;

	for (size_t i = at + 1; i < count; i++)
		if (items[i].number == from.attempt) {
			reach += from.sequence;
			from = items[i].start;
		}
	return reach + from.sequence;
}

/* Does the attempt behind `at` begin where that one had come to, or where a step back has put it?
 * Else the user has chosen what it starts from, and what was reached before counts no longer. */
static bool goes_on(const struct attempt_outcome *items, size_t at)
{
	const struct attempt_outcome *before = &items[at + 1];
	struct snapshot_id newest = before->start;

	if (before->newest > 0)
		newest = (struct snapshot_id){before->number, before->newest};
	return snapshot_id_compare(items[at].start, newest) == 0 ||
	       !snapshot_id_is_none(items[at].rolled_back_from);
}

/* How many of the newest attempts have saved nothing beyond the best that there was before. */
static uint32_t count_without_progress(const struct attempt_outcome *items, size_t count)
{
	uint64_t best = 0;
	uint32_t streak = 0;

	for (size_t i = count; i-- > 0;) {
		uint64_t reach = reach_of(items, count, i);

		if (i + 1 < count && !goes_on(items, i))
			best = reach - items[i].newest;
		streak = items[i].finished || (items[i].snapshots > 0 && reach > best)
				 ? 0
				 : streak + 1;
		best = reach > best ? reach : best;
	}
	return streak;
}

/* --- a step back --- */

/* The job crashed soon after it had got its checkpoint, and saved nothing in between. */
static bool died_of_its_start(const struct attempt_outcome *item)
{
	return item->crashed && item->same_command && item->snapshots == 0 &&
	       !item->checkpoint_complete && item->ran_ms >= 0 &&
	       item->ran_ms < RESTART_EARLY_CRASH_MS && !snapshot_id_is_none(item->start);
}

/* Two deaths begin it; from then on each further one is a step. Where there is no older snapshot,
 * the cause is another one, and the newest is as good as any. */
static void decide_start(const struct attempt_outcome *items, size_t count,
			 struct restart_decision *decision)
{
	bool twice, back;

	if (count == 0 || items[0].snapshots > 0)
		return;
	decision->had_no_effect = items[0].had_no_effect;
	decision->rolled_back_from = items[0].rolled_back_from;
	if (decision->had_no_effect || !died_of_its_start(&items[0]))
		return;
	back = !snapshot_id_is_none(decision->rolled_back_from);
	twice = count >= 2 && died_of_its_start(&items[1]) &&
		snapshot_id_compare(items[0].start, items[1].start) == 0;
	if (back != twice) {
		decision->action = RESTART_ROLL_BACK;
		decision->snapshot = items[0].start;
		if (!back)
			decision->rolled_back_from = items[0].start;
	} else if (twice && snapshot_id_compare(decision->rolled_back_from, items[0].start) != 0) {
		decision->action = RESTART_REVERT;
		decision->snapshot = decision->rolled_back_from;
		decision->rolled_back_from = (struct snapshot_id){0};
		decision->had_no_effect = true;
	}
}

/* One that was refused, or killed before it had saved or ended, has trained nothing from there. */
static bool has_had(const struct attempt_outcome *item, struct snapshot_id wanted)
{
	return !snapshot_id_is_none(wanted) && item->same_command &&
	       snapshot_id_compare(item->wanted, wanted) == 0 &&
	       (item->snapshots > 0 || item->ran_ms >= 0);
}

struct restart_decision restart_rules_decide(const struct attempt_outcome *items, size_t count,
					     const struct restart_rules *rules)
{
	struct restart_decision decision = {
		.action = RESTART_PROCEED,
		.without_progress = count_without_progress(items, count),
		.had_wanted = count > 0 && has_had(&items[0], rules->wanted),
	};

	if (rules->max_no_progress > 0 && decision.without_progress >= rules->max_no_progress)
		decision.action = RESTART_NO_PROGRESS;
	else if (rules->may_roll_back || decision.had_wanted)
		decide_start(items, count, &decision);
	return decision;
}

bool restart_rules_end_unrecorded(const struct restart_decision *decision,
				  const struct restart_rules *rules)
{
	return rules->max_no_progress > 0 && decision->without_progress > 0;
}
