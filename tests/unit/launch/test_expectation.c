/* Of which commands checkpoints are expected. */
#include "launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static const struct profile training = {.name = "training"}, format = {.only_format = true};

static void test_by_the_command(void **state)
{
	static const struct {
		const char *command[5];
		const struct profile *profile;
		const char *tasks; /* of the launcher */
		enum expectation expected;
	} rows[] = {
		{{"python", "train.py"}, &training, NULL, EXPECT_BY_COMMAND},
		{{"make"}, NULL, NULL, EXPECT_NOTHING},
		{{"python", "look.py"}, &format, NULL, EXPECT_NOTHING},
		{{"bash", "-c", "cd a && reprieve run -- python train.py"},
		 &training,
		 NULL,
		 EXPECT_NOTHING},
		{{"/usr/bin/reprieve", "run", "python", "train.py"},
		 &training,
		 NULL,
		 EXPECT_NOTHING},
		{{"run", "train.py"}, &training, NULL, EXPECT_BY_COMMAND},
		{{"python", "train.py"}, &training, "1", EXPECT_BY_COMMAND},
		{{"python", "train.py"}, &training, "4", EXPECT_NOTHING},
		{{"python", "train.py"}, &training, "many", EXPECT_BY_COMMAND},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].tasks)
			setenv("OMPI_COMM_WORLD_SIZE", rows[i].tasks, 1);
		else
			unsetenv("OMPI_COMM_WORLD_SIZE");
		if (expectation_of((char *const *)rows[i].command, rows[i].profile) !=
		    rows[i].expected)
			fail_msg("row %zu", i);
	}
	unsetenv("OMPI_COMM_WORLD_SIZE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_the_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
