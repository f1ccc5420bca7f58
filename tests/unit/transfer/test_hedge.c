/* What is late compared with the others. */
#include "storage/transfer/job_transfer.h"

#include "base/clock.h"

#include "unit.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void test_late(void **state)
{
	static const struct {
		const char *name;
		int64_t took_ms[HEDGE_SAMPLES + 40];
		unsigned count;
		int64_t late_ms;
	} rows[] = {
		// clang-format off
		{"nothing known", {0}, 0, CLOCK_NEVER},
		{"too little known", {200, 200, 200}, 3, CLOCK_NEVER},
		{"fast ones: a second at least", {100, 110, 120, 130}, 4, 1000},
		{"beyond the ninetieth of a hundred", {10, 20, 30, 40, 50, 60, 70, 80, 900, 5000},
			10, 1600},
		{"eleven: the tenth", {10, 20, 30, 40, 50, 60, 70, 80, 900, 1900, 5000}, 11, 2600},
		{"twenty: the eighteenth", {10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
			10, 10, 10, 10, 10, 10, 10, 900, 5000, 9000}, 20, 1600},
		{"in whatever order they came", {900, 5000, 80, 70, 60, 50, 40, 30, 20, 10}, 10, 1600},
		{"the slow ones in between", {10, 20, 5000, 30, 40, 900, 50, 60, 70, 80}, 10, 1600},
		{"all slow: not late", {9000, 9100, 9200, 9300}, 4, 10000},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct hedge hedge = {0};

		for (unsigned j = 0; j < rows[i].count; j++)
			hedge_add_sample(&hedge, rows[i].took_ms[j]);
		if (hedge_late_ms(&hedge) != rows[i].late_ms)
			fail_msg("%s: %lld", rows[i].name, (long long)hedge_late_ms(&hedge));
	}
}

static void test_only_the_last_ones_count(void **state)
{
	struct hedge hedge = {0};

	(void)state;
	for (int i = 0; i < HEDGE_SAMPLES; i++)
		hedge_add_sample(&hedge, 60000);
	for (int i = 0; i < HEDGE_SAMPLES; i++)
		hedge_add_sample(&hedge, 400);
	assert_int_equal(hedge_late_ms(&hedge), 1100);
}

static void test_due(void **state)
{
	static const struct {
		struct hedge_facts facts;
		bool due;
	} rows[] = {
		{{.age_ms = 1099, .sent = 1, .connections = 8}, false},
		{{.age_ms = 1100, .sent = 1, .connections = 8}, true},
		{{.age_ms = 9999, .sent = 2, .connections = 8}, false},
		{{.age_ms = 9999, .sent = 1, .hedged_now = 1, .connections = 8}, true},
		{{.age_ms = 9999, .sent = 1, .hedged_now = 2, .connections = 8}, false},
		{{.age_ms = 9999, .sent = 1, .hedged_now = 0, .connections = 1}, true},
		{{.age_ms = 9999, .sent = 1, .hedged_now = 1, .connections = 1}, false},
		{{.age_ms = 9999, .sent = 0, .connections = 8}, false},
	};
	struct hedge hedge = {0};

	(void)state;
	for (int i = 0; i < 10; i++)
		hedge_add_sample(&hedge, 400);
	for (size_t i = 0; i < COUNT(rows); i++)
		if (hedge_is_due(&hedge, &rows[i].facts) != rows[i].due)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_only_the_last_ones_count),
		cmocka_unit_test(test_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
