#include "slurm_tasks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_table(void **state)
{
	static const struct {
		const char *count, *number, *job, *step, *restarts;
		const char *roll; /* NULL: not one of several */
	} rows[] = {
		{"4", "0", "77", "0", NULL, "slurm-77.0.0"},
		{"4", "3", "77", "2", "5", "slurm-77.2.5"},
		/* alone; a batch script, which has a PROCID, too */
		{"1", "0", "77", "0", NULL, NULL},
		{NULL, "0", "77", NULL, NULL, NULL},
		{"4", "0", "77", NULL, NULL, NULL},
		/* nonsense */
		{"4", "4", "77", "0", NULL, NULL},
		{"", "0", "77", "0", NULL, NULL},
		{"4", "-1", "77", "0", NULL, NULL},
		{"4", "0", "../x", "0", NULL, NULL},
		{"4", "0", "77", "0", "x", NULL},
		{"99999999999", "0", "77", "0", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slurm_tasks tasks;
		bool several = slurm_tasks_parse(rows[i].count, rows[i].number, rows[i].job,
			rows[i].step, rows[i].restarts, &tasks);

		if (several != (rows[i].roll != NULL))
			fail_msg("row %zu", i);
		if (several)
			assert_string_equal(tasks.roll, rows[i].roll);
	}
}

static void test_who_it_is(void **state)
{
	struct slurm_tasks tasks;

	(void)state;
	assert_true(slurm_tasks_parse("4", "3", "77", "0", NULL, &tasks));
	assert_int_equal(tasks.count, 4);
	assert_int_equal(tasks.number, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_who_it_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
