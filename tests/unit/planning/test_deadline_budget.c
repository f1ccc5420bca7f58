#include "planning/planning.h"

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
			struct deadline_budget_facts facts = {
				.now_ms = 1000000,
				.deadline_ms = 1000000 + window,
				.upload_ms = uploads[i],
			};
			struct deadline_budget budget = deadline_budget_split(&facts);
			int64_t end = window > 0 ? facts.deadline_ms : facts.now_ms;

			assert_true(facts.now_ms <= budget.ask_until_ms);
			assert_true(budget.ask_until_ms <= budget.stop_until_ms);
			assert_true(budget.stop_until_ms <= budget.commit_until_ms);
			assert_true(budget.commit_until_ms <= end);
		}
	}
}

/* A short upload leaves the job more of the notice than a long one; nothing
 * measured is in between. */
static void test_a_measured_upload_moves_the_plan(void **state)
{
	struct deadline_budget_facts facts = {.now_ms = 0, .deadline_ms = 120000};
	struct deadline_budget quick, slow, unknown;

	(void)state;
	facts.upload_ms = 500;
	quick = deadline_budget_split(&facts);
	facts.upload_ms = 40000;
	slow = deadline_budget_split(&facts);
	facts.upload_ms = -1;
	unknown = deadline_budget_split(&facts);
	assert_true(quick.ask_until_ms > unknown.ask_until_ms);
	assert_true(unknown.ask_until_ms > slow.ask_until_ms);
	/* However slow, the job gets some of it. */
	assert_true(slow.ask_until_ms > 30000);
	/* And two minutes leave more than a minute for a fresh checkpoint, even
	 * when nothing is known. */
	assert_true(unknown.ask_until_ms > 60000);
}

/* A complete checkpoint that is not durable wants the machine for itself; nothing
 * else is won by killing. */
static void test_when_a_job_that_was_told_to_end_is_killed(void **state)
{
	static const struct deadline_budget budget = {
		.ask_until_ms = 14000,
		.stop_until_ms = 15000,
		.commit_until_ms = 19000,
	};
	static const struct {
		struct kill_facts facts;
		int64_t kill_ms;
	} rows[] = {
		{{14000, false, 0}, 19000},
		{{15000, false, 0}, 19000},
		{{0, false, 0}, 19000},
		{{14000, true, 0}, 16500},
		{{15000, true, 0}, 17000},
		{{0, true, 0}, 15000},
		{{19000, true, 0}, 19000},
		/* Closed before it was told: the same as if it were complete. */
		{{15000, false, 14000}, 17000},
		{{0, false, 1}, 15000},
		/* The later it closed its file, the later, but never with nothing left. */
		{{15000, false, 16000}, 17500},
		{{15000, false, 18000}, 18500},
		{{15000, false, 18998}, 18999},
		/* Still early enough for the upload. */
		{{1000, false, 4000}, 15000},
		/* Another one is complete already: what is closed now is not torn for it. */
		{{15000, true, 18000}, 18500},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(deadline_budget_kill_ms(&budget, &rows[i].facts), rows[i].kill_ms);
}

static void test_when_the_rest_of_it_is_told(void **state)
{
	(void)state;
	assert_int_equal(deadline_budget_rest_ms(1000, 9000, false), 3000);
	assert_int_equal(deadline_budget_rest_ms(1000, 9000, true), 7000);
	assert_int_equal(deadline_budget_rest_ms(1000, 1000, true), 1000);
}

/* Never in the same moment, while there is time. */
static void test_every_window_leaves_time_between_telling_and_killing(void **state)
{
	static const int64_t uploads[] = {-1, 0, 1000, 30000};

	(void)state;
	for (int64_t window = 100; window < 300000; window += 137) {
		for (size_t i = 0; i < sizeof(uploads) / sizeof(uploads[0]); i++) {
			struct deadline_budget_facts facts = {
				.deadline_ms = window,
				.upload_ms = uploads[i],
			};
			struct deadline_budget budget = deadline_budget_split(&facts);
			int64_t told_ms = budget.stop_until_ms;

			const struct kill_facts goes_on = {told_ms, false, 0};
			const struct kill_facts pending = {told_ms, true, 0};
			const struct kill_facts closed = {told_ms, false, told_ms};

			assert_true(deadline_budget_kill_ms(&budget, &pending) > told_ms);
			assert_true(deadline_budget_kill_ms(&budget, &closed) > told_ms);
			assert_true(deadline_budget_kill_ms(&budget, &goes_on) >=
				    told_ms + window / 10);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_holds_for_every_window),
		cmocka_unit_test(test_a_measured_upload_moves_the_plan),
		cmocka_unit_test(test_when_a_job_that_was_told_to_end_is_killed),
		cmocka_unit_test(test_when_the_rest_of_it_is_told),
		cmocka_unit_test(test_every_window_leaves_time_between_telling_and_killing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
