#include "restart_rules.h"

static uint32_t without_progress(const struct precedent *items, size_t count)
{
	uint32_t streak = 0;

	while (streak < count && items[streak].snapshots == 0 && !items[streak].finished)
		streak++;
	return streak;
}

/* The job itself, soon after it had been given its checkpoint, and with nothing saved since. */
static bool died_of_its_start(const struct precedent *item)
{
	return item->crashed && item->same_command && item->snapshots == 0 && !item->sealed &&
	       item->ran_ms >= 0 && item->ran_ms < PRECEDENT_SOON_MS &&
	       !snapshot_id_is_none(item->start);
}

static bool died_of_one_start(const struct precedent *items, size_t count)
{
	return count >= 2 && died_of_its_start(&items[0]) && died_of_its_start(&items[1]) &&
	       snapshot_id_compare(items[0].start, items[1].start) == 0;
}

/* Only one step: a job that dies of the one before as well dies of something else, and more steps would cost more work. */
static void rule_on_start(
	const struct precedent *items, size_t count, struct precedent_ruling *ruling)
{
	if (count == 0 || items[0].snapshots > 0)
		return;
	ruling->in_vain = items[0].in_vain;
	ruling->stepped_back_from = items[0].stepped_back_from;
	if (ruling->in_vain || !died_of_one_start(items, count))
		return;
	if (snapshot_id_is_none(ruling->stepped_back_from)) {
		ruling->action = PRECEDENT_STEP_BACK;
		ruling->snapshot = ruling->stepped_back_from = items[0].start;
		return;
	}
	/* There was nothing to step back to: both are from the same one still. */
	if (snapshot_id_compare(ruling->stepped_back_from, items[0].start) == 0)
		return;
	ruling->action = PRECEDENT_RETURN;
	ruling->snapshot = ruling->stepped_back_from;
	ruling->stepped_back_from = (struct snapshot_id){0};
	ruling->in_vain = true;
}

struct precedent_ruling precedent_rule(
	const struct precedent *items, size_t count, const struct precedent_rules *rules)
{
	struct precedent_ruling ruling = {
		.action = PRECEDENT_START, .without_progress = without_progress(items, count)};

	if (rules->done_counts && count > 0 && items[0].finished && items[0].same_command)
		ruling.action = PRECEDENT_DONE;
	else if (rules->max_no_progress > 0 && ruling.without_progress >= rules->max_no_progress)
		ruling.action = PRECEDENT_STUCK;
	else if (rules->may_step_back)
		rule_on_start(items, count, &ruling);
	return ruling;
}
