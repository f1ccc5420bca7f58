/* When a call is made again: by tables, and for the bounds with the two ends of
 * the random numbers. */
#include "storage/http/retrying_client.h"

#include "base/clock.h"

#include "unit.h"

#define LEAST 0u
#define MOST UINT32_MAX

static void test_decisions(void **state)
{
	// clang-format off
	static const struct {
		struct retry_policy_facts facts;
		bool again;
		int64_t after_ms;
	} rows[] = {
		/* full jitter: from 0 up to a bound that doubles */
		{{RETRY_FAULT, 1, 0, 30000, CLOCK_NEVER, -1, LEAST}, true, 0},
		{{RETRY_FAULT, 1, 0, 30000, CLOCK_NEVER, -1, MOST}, true, 100},
		{{RETRY_FAULT, 2, 0, 30000, CLOCK_NEVER, -1, MOST}, true, 200},
		{{RETRY_FAULT, 4, 0, 30000, CLOCK_NEVER, -1, MOST}, true, 800},
		{{RETRY_FAULT, 60, 0, 30000, CLOCK_NEVER, -1, MOST}, true, 10000},
		{{RETRY_THROTTLED, 1, 0, 30000, CLOCK_NEVER, -1, MOST}, true, 1000},
		{{RETRY_THROTTLED, 3, 0, 30000, CLOCK_NEVER, -1, MOST}, true, 4000},
		/* what the server asks for comes on top, but not without limit */
		{{RETRY_THROTTLED, 1, 0, 60000, CLOCK_NEVER, 3000, LEAST}, true, 3000},
		{{RETRY_THROTTLED, 1, 0, 60000, CLOCK_NEVER, 3600000, LEAST}, true, 30000},
		/* patience */
		{{RETRY_FAULT, 9, 30000, 30000, CLOCK_NEVER, -1, LEAST}, true, 0},
		{{RETRY_FAULT, 9, 30001, 30000, CLOCK_NEVER, -1, LEAST}, false, 0},
		{{RETRY_FAULT, 9, 25000, 30000, CLOCK_NEVER, -1, MOST}, true, 5000},
		{{RETRY_THROTTLED, 9, 25000, 30000, CLOCK_NEVER, 2000, MOST}, true, 5000},
		{{RETRY_THROTTLED, 9, 25000, 30000, CLOCK_NEVER, 6000, LEAST}, false, 0},
		{{RETRY_FAULT, 9, 30001, 30000, 3600000, -1, LEAST}, false, 0},
		/* the last window: short pauses, and only the deadline ends it */
		{{RETRY_FAULT, 9, 999999, 30000, 60000, -1, MOST}, true, 500},
		{{RETRY_THROTTLED, 9, 999999, 30000, 10000, 5000, MOST}, true, 500},
		{{RETRY_FAULT, 1, 999999, 30000, 10000, -1, MOST}, true, 100},
		{{RETRY_FAULT, 9, 0, 30000, 500, -1, MOST}, false, 500},
		{{RETRY_FAULT, 9, 0, 30000, 501, -1, MOST}, true, 500},
		{{RETRY_FAULT, 1, 0, 30000, 0, -1, LEAST}, false, 0},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct retry_policy_decision choice = retry_policy_decide(&rows[i].facts);

		if (choice.again != rows[i].again || choice.after_ms != rows[i].after_ms)
			fail_msg("row %zu: %d after %lld ms", i, choice.again,
				 (long long)choice.after_ms);
	}
}

static void test_stall(void **state)
{
	(void)state;
	assert_true(retry_policy_stall_ms(CLOCK_NEVER) > retry_policy_stall_ms(30000));
	assert_true(retry_policy_stall_ms(30000) < 30000 / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_stall),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
