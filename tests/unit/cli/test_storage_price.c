/* What keeping bytes costs. */
#include "cli/costs.h"

#include "unit.h"

#include <math.h>

static void test_parse(void **state)
{
	static const char *const wrong[] = {"",      "-1",  "x",   "0.02x", " 1",
					    "1e999", "nan", "inf", "$1"};
	double price;
	struct err err;

	(void)state;
	assert_true(price_set(&price, "0.023", &err) == 0 && fabs(price - 0.023) < 1e-9);
	assert_true(price_set(&price, "0", &err) == 0 && fabs(price) < 1e-9);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(price_set(&price, wrong[i], &err), -1);
}

static void test_words(void **state)
{
	static const struct {
		uint64_t bytes;
		double price;
		const char *text;
	} rows[] = {
		// clang-format off
		{100ull << 30, 0.023, "$2.30"},
		{1ull << 40, 0.023, "$23.55"},
		{1ull << 30, 0.023, "$0.02"},
		{100ull << 20, 0.023, "$0.0022"},
		{1ull << 20, 0.023, "$0.000022"},
		{0, 0.023, "$0.00"},
		{1ull << 50, 0.02, "$20971.52"},
		// clang-format on
	};
	char buffer[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(storage_price_format(storage_price_per_month(rows[i].bytes,
										 rows[i].price),
							 buffer, sizeof(buffer)),
				    rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
