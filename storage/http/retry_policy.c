#include "retry_policy.h"

#include "base/backoff.h"

enum {
	LAST_WINDOW_MS = 60 * 1000,
	LAST_WINDOW_PAUSE_MS = 500,
	FIRST_PAUSE_MS = 100,
	FIRST_PAUSE_THROTTLED_MS = 1000,
	LONGEST_PAUSE_MS = 10 * 1000,
	RETRY_AFTER_MOST_MS = 30 * 1000,
	STALL_MS = 20 * 1000,
	STALL_IN_LAST_WINDOW_MS = 4 * 1000,
};

static int64_t minimum_ms(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

struct retry_policy_decision retry_policy_decide(const struct retry_policy_facts *facts)
{
	bool last_window = facts->left_ms <= LAST_WINDOW_MS;
	int64_t patience_left_ms = facts->patience_ms - facts->spent_ms;
	struct backoff backoff = {
		.tries = facts->tries,
		.first_ms =
			facts->cause == RETRY_THROTTLED ? FIRST_PAUSE_THROTTLED_MS : FIRST_PAUSE_MS,
		.most_ms = last_window ? LAST_WINDOW_PAUSE_MS : LONGEST_PAUSE_MS,
		.random = facts->random,
	};
	int64_t pause_ms = backoff_ms(&backoff);

	if (last_window)
		return (struct retry_policy_decision){facts->left_ms > pause_ms, pause_ms};
	backoff.retry_after_ms = minimum_ms(facts->asked_ms, RETRY_AFTER_MOST_MS);
	if (backoff.retry_after_ms > patience_left_ms || patience_left_ms < 0)
		return (struct retry_policy_decision){false, 0};
	/* A long pause is cut, not the last try: patience of 30 s is 30 s, whatever comes up. */
	return (struct retry_policy_decision){true,
					      minimum_ms(backoff_ms(&backoff), patience_left_ms)};
}

int64_t retry_policy_stall_ms(int64_t left_ms)
{
	return left_ms <= LAST_WINDOW_MS ? STALL_IN_LAST_WINDOW_MS : STALL_MS;
}
