/* Time: arithmetic around CLOCK_NEVER, and the one written form. Nothing here asserts how long
 * anything took. */
#include "base/clock.h"

#include "unit.h"

static void test_deadlines(void **state)
{
	int64_t now = clock_monotonic_ms();

	(void)state;
	assert_true(clock_left_ms(CLOCK_NEVER) == CLOCK_NEVER);
	assert_true(clock_left_ms(now - 1) == 0);
	assert_true(clock_left_ms(0) == 0);
	assert_true(clock_left_ms(now + 3600000) <= 3600000);
	assert_true(clock_left_ms(now + 3600000) > 0);
}

static void test_monotonic_does_not_go_back(void **state)
{
	int64_t before = clock_monotonic_ms();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t after = clock_monotonic_ms();

		assert_true(after >= before);
		before = after;
	}
}

static void test_wall_time_becomes_monotonic(void **state)
{
	int64_t before = clock_monotonic_ms();
	int64_t deadline = clock_from_wall_ms(clock_wall_ms() + 3600000);

	(void)state;
	/* An hour's slack to either side: only the direction and the order of size are meant. */
	assert_true(deadline > before);
	assert_true(deadline < clock_monotonic_ms() + 2 * 3600000);
}

static void test_written_form(void **state)
{
	static const struct {
		int64_t wall_ms;
		const char *text;
	} rows[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{1787393700123, "2026-08-22T10:15:00.123Z"},
		{1709208000007, "2024-02-29T12:00:00.007Z"},
		{4102444799999, "2099-12-31T23:59:59.999Z"},
	};
	char buffer[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(clock_format(rows[i].wall_ms, buffer, sizeof(buffer)),
				    rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_monotonic_does_not_go_back),
		cmocka_unit_test(test_wall_time_becomes_monotonic),
		cmocka_unit_test(test_written_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
