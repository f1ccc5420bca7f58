#include "drill/drill.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define HERE "/home/me/proj"

// clang-format off
static const struct {
	const char *argv[5];
	const char *says; /* NULL: it may be drilled */
} options[] = {
	{{"run", "--", "x"}, NULL},
	{{"run", "-c", "out", "--", "x"}, NULL},
	{{"run", "--deadline", "10m", "--", "x"}, "--deadline has no place"},
	{{"run", "--deadline=10m", "--", "x"}, "--deadline has no place"},
	{{"run", "--metrics-file=m", "--", "x"}, "--metrics-file has no place"},
	{{"run", "--metrics", "1", "x"}, "--metrics has no place"},
	{{"run", "--notify", "http://127.0.0.1/", "--", "x"}, "--notify has no place"},
	{{"run", "--restore=3-1", "--", "x"}, "--restore has no place"},
	{{"run", "--gang=2", "--", "x"}, "reprieve drill --gang N"},
	{{"run", "--member", "0", "--", "x"}, "reprieve drill --gang N"},
	/* What the job is told is its own. */
	{{"run", "--", "x", "--restore", "y"}, NULL},
	/* Another option that begins so. */
	{{"run", "--gang-poke", "off", "--", "x"}, NULL},
};

static const struct {
	const char *word, *written, *relative;
	const char *says; /* NULL: it may be drilled */
} commands[] = {
	{"out", "out", "out", NULL},
	{"--dir=out", "out", "out", NULL},
	{HERE "/out", "out", "out", "write out there"},
	{"--dir=" HERE "/out", "out", "out", "write out there"},
	{HERE "/out/", "out", "out", "write out there"},
	{"cp x " HERE "/out; y", "out", "out", "write out there"},
	{"--dir=/link/out", "/link/out", "out", "write out there"},
	/* A file below may only be read, and others merely begin or end so. */
	{HERE "/out/config.yaml", "out", "out", NULL},
	{HERE "/out2", "out", "out", NULL},
	{HERE "/out.yaml", "out", "out", NULL},
	{"/mnt" HERE "/out", "out", "out", NULL},
	/* A link that is written as such is not there from elsewhere, and no file is. */
	{"../no/such/file", "out", "out", NULL},
	{"../", "out", "out", "leads out of the current directory"},
	{"--data=../", "out", "out", "leads out of the current directory"},
	{"--data=../no/such/file", "out", "out", NULL},
};
// clang-format on

static void check(size_t row, int result, const struct err *err, const char *says)
{
	if ((result < 0) != (says != NULL) || (says && !strstr(err->text, says)))
		fail_msg("row %zu: %s", row, result < 0 ? err->text : "nothing said");
}

static void each_option(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		char *argv[6] = {NULL};
		struct err err = {0};

		for (size_t k = 0; k < 5; k++)
			argv[k] = (char *)options[i].argv[k];
		check(i, drilled_options_check(argv, &err), &err, options[i].says);
	}
}

static void each_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char *command[] = {"python", (char *)commands[i].word, NULL};
		struct err err = {0};

		check(i,
		      drilled_command_check(command, commands[i].written, commands[i].relative,
					    HERE, &err),
		      &err, commands[i].says);
	}
}

static void a_directory_that_is_unknown(void **state)
{
	char *command[] = {"python", HERE "/out", NULL};

	(void)state;
	assert_int_equal(drilled_command_check(command, "out", "out", NULL, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_option),
		cmocka_unit_test(each_command),
		cmocka_unit_test(a_directory_that_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
