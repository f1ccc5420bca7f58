/* When what was moved aside has become so much that somebody should look at it. */
#include "restore/restore.h"

#include "unit.h"

#define GIB ((uint64_t)1 << 30)

static void test_much(void **state)
{
	static const struct {
		uint64_t held, own, free;
		bool much;
	} rows[] = {
		{0, 0, 0, false},
		{1000, 0, 0, false}, /* too little to matter anywhere */
		{GIB, 0, 100 * GIB, true},
		{40 * GIB, 40 * GIB, 100 * GIB, false}, /* one torn set beside a whole one */
		{80 * GIB, 40 * GIB, 1000 * GIB, true},
		{40 * GIB, 400 * GIB, 30 * GIB, true}, /* the next one would not fit */
		{40 * GIB, 400 * GIB, UINT64_MAX, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(quarantine_is_large(rows[i].held, rows[i].own, rows[i].free),
				 rows[i].much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
