#include "budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_order_holds_for_every_window(void **state)
{
	static const int64_t uploads[] = {-1, 0, 10, 1000, 30000, 10000000};

	(void)state;
	for (int64_t window = -5000; window < 300000; window += 137) {
		for (size_t i = 0; i < sizeof(uploads) / sizeof(uploads[0]); i++) {
			struct budget_facts facts = {.now_ms = 1000000,
				.deadline_ms = 1000000 + window,
				.upload_ms = uploads[i]};
			struct budget budget = budget_split(&facts);
			int64_t end = window > 0 ? facts.deadline_ms : facts.now_ms;

			assert_true(facts.now_ms <= budget.ask_until_ms);
			assert_true(budget.ask_until_ms <= budget.stop_until_ms);
			assert_true(budget.stop_until_ms <= budget.commit_until_ms);
			assert_true(budget.commit_until_ms <= end);
		}
	}
}

/* A short upload leaves the job more of the notice than a long one; nothing measured is in between. */
static void test_a_measured_upload_moves_the_plan(void **state)
{
	struct budget_facts facts = {.now_ms = 0, .deadline_ms = 120000};
	struct budget quick, slow, unknown;

	(void)state;
	facts.upload_ms = 500;
	quick = budget_split(&facts);
	facts.upload_ms = 40000;
	slow = budget_split(&facts);
	facts.upload_ms = -1;
	unknown = budget_split(&facts);
	assert_true(quick.ask_until_ms > unknown.ask_until_ms);
	assert_true(unknown.ask_until_ms > slow.ask_until_ms);
	/* However slow, the job gets some of it. */
	assert_true(slow.ask_until_ms > 30000);
	/* And two minutes leave more than a minute for a fresh checkpoint, even when nothing is known. */
	assert_true(unknown.ask_until_ms > 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_holds_for_every_window),
		cmocka_unit_test(test_a_measured_upload_moves_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
