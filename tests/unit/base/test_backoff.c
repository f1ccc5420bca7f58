/* How long to wait before the next try, by a table. */
#include "unit.h"

#include "base/clock.h"

static void waits(void **state)
{
	static const struct {
		unsigned tries;
		int64_t first_ms, most_ms;
		uint32_t random;
		int64_t wait_ms;
	} rows[] = {
		{1, 100, 10000, BACKOFF_WHOLE, 100},
		{0, 100, 10000, BACKOFF_WHOLE, 100},
		{2, 100, 10000, BACKOFF_WHOLE, 200},
		{3, 100, 10000, BACKOFF_WHOLE, 400},
		{7, 100, 10000, BACKOFF_WHOLE, 6400},
		{8, 100, 10000, BACKOFF_WHOLE, 10000},
		{UINT32_MAX, 100, 10000, BACKOFF_WHOLE, 10000},
		/* Google's metadata service is away for less than a second. */
		{1, 200, 1000, BACKOFF_WHOLE, 200},
		{2, 200, 1000, BACKOFF_WHOLE, 400},
		{3, 200, 1000, BACKOFF_WHOLE, 800},
		{4, 200, 1000, BACKOFF_WHOLE, 1000},
		{1000, 200, 1000, BACKOFF_WHOLE, 1000},
		/* Azure's, after a 429. */
		{1, 2000, 3000, BACKOFF_WHOLE, 2000},
		{2, 2000, 3000, BACKOFF_WHOLE, 3000},
		{1000, 2000, 3000, BACKOFF_WHOLE, 3000},
		/* The bound may be below the first one: shortly before a deadline. */
		{1, 1000, 500, BACKOFF_WHOLE, 500},
		{9, 2000, 2000, BACKOFF_WHOLE, 2000},
		/* Jitter is from nothing to the whole bound. */
		{1, 100, 10000, 0, 0},
		{8, 100, 10000, 0, 0},
		{1, 100, 10000, UINT32_MAX / 2, 50},
		{8, 100, 10000, UINT32_MAX / 4, 2500},
		{1, 0, 0, BACKOFF_WHOLE, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (backoff_ms(rows[i].tries, rows[i].first_ms, rows[i].most_ms, rows[i].random) !=
		    rows[i].wait_ms)
			fail_msg("row %zu", i);
}

static void random_numbers_differ(void **state)
{
	uint32_t first = backoff_random();
	int same = 0;

	(void)state;
	for (int i = 0; i < 8; i++)
		same += backoff_random() == first;
	assert_true(same < 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits),
		cmocka_unit_test(random_numbers_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
