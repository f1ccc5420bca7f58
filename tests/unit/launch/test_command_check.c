/* Which commands are refused before anything is begun for them. */
#include "launch/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

static void test_commands(void **state)
{
	static const struct {
		const char *command;
		int code;
	} rows[] = {
		/* As the shell finds it here, in "/". */
		{"./checkpoints/run.sh", 0},
		{"././checkpoints/run.sh", 0},
		{"checkpoints/run.sh", 0},
		{"./checkpoints2/run.sh", 127},
		{"sh", 0},
		{"/bin/sh", 0},
		{"no-such-program", 127},
		{"/no/such/program", 127},
		{"/dev", 126},
		/* They may come with the restore. */
		{"/checkpoints/run.sh", 0},
		{"/elsewhere/../checkpoints/run.sh", 0},
		{"/checkpoints2/run.sh", 127},
	};

	(void)state;
	assert_int_equal(chdir("/"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err;
		int code = command_check(rows[i].command, "/checkpoints", &err);

		if (code != rows[i].code)
			fail_msg("%s: %d", rows[i].command, code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
