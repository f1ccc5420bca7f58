#include "planning.h"

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

struct deadline_budget deadline_budget_split(const struct deadline_budget_facts *facts)
{
	int64_t window = facts->deadline_ms - facts->now_ms;
	int64_t margin, upload, stop;
	struct deadline_budget budget;

	if (window < 0)
		window = 0;
	/* A poll sees the notice late, clocks differ, and machines have been taken early. */
	margin = clamp(window / 20, window < 400 ? window / 2 : 200, 2000);
	/*
	 * Twice the measured time, because the network may be slower than it was then. Not
	 * measured yet: a fifth of the time. At least a tenth, because a job that saves until the
	 * last moment needs it to exit.
	 */
	upload = facts->upload_ms < 0 ? window / 5
				      : clamp(2 * facts->upload_ms, window / 10, window / 2);
	stop = clamp(window / 20, window < 1000 ? window / 20 : 50, 5000);

	budget.commit_until_ms = facts->now_ms + window - margin;
	budget.stop_until_ms =
		clamp(budget.commit_until_ms - upload, facts->now_ms, budget.commit_until_ms);
	budget.ask_until_ms =
		clamp(budget.stop_until_ms - stop, facts->now_ms, budget.stop_until_ms);
	return budget;
}

int64_t deadline_budget_kill_ms(const struct deadline_budget *budget,
				const struct kill_facts *facts)
{
	int64_t commit_ms = budget->commit_until_ms;
	int64_t since_ms = facts->told_ms, half_ms;

	if (!facts->pending && facts->closed_ms == 0)
		return commit_ms;
	if (facts->closed_ms > since_ms)
		since_ms = facts->closed_ms;
	half_ms = since_ms + (commit_ms - since_ms) / 2;
	return half_ms > budget->stop_until_ms ? half_ms : budget->stop_until_ms;
}

int64_t deadline_budget_rest_ms(int64_t since_ms, int64_t kill_ms, bool saving)
{
	int64_t quarter_ms = (kill_ms - since_ms) / 4;

	return since_ms + (saving ? 3 * quarter_ms : quarter_ms);
}
