/* Signals by name and back. */
#include "process/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>

static void parses_every_spelling(void **state)
{
	const struct {
		const char *text;
		int number;
	} rows[] = {
		{"USR1", SIGUSR1},
		{"SIGUSR1", SIGUSR1},
		{"usr1", SIGUSR1},
		{"sigUsr1", SIGUSR1},
		{"10", SIGUSR1},
		{"TERM", 15},
		{"IOT", SIGABRT},
		{"RTMIN", SIGRTMIN},
		{"SIGRTMIN+1", SIGRTMIN + 1},
		{"RTMIN+0", SIGRTMIN},
		{"RTMAX", SIGRTMAX},
		{"RTMAX-2", SIGRTMAX - 2},
		{"64", SIGRTMAX},
		{"", 0},
		{"SIG", 0},
		{"0", 0},
		{"-1", 0},
		{"65", 0},
		{"32", 0}, /* kept by the C library, as 33 */
		{"33", 0},
		{"USR3", 0},
		{"USR1 ", 0},
		{"RTMIN+", 0},
		{"RTMIN-1", 0},
		{"RTMIN+99", 0},
		{"RTMINX", 0},
		{"SIGSIGUSR1", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("'%s'\n", rows[i].text);
		assert_int_equal(signal_name_parse(rows[i].text), rows[i].number);
	}
}

static void formats_what_it_parses(void **state)
{
	char name[SIGNAL_NAME_SIZE];

	(void)state;
	for (int number = 1; number <= SIGRTMAX; number++) {
		if (number >= 32 && number < SIGRTMIN)
			continue;
		assert_int_equal(signal_name_parse(signal_name_format(number, name)), number);
	}
	assert_string_equal(signal_name_format(SIGUSR1, name), "SIGUSR1");
	assert_string_equal(signal_name_format(SIGABRT, name), "SIGABRT");
	assert_string_equal(signal_name_format(SIGRTMIN + 3, name), "SIGRTMIN+3");
	assert_string_equal(signal_name_format(32, name), "signal 32");
	assert_string_equal(signal_name_format(-2147483647, name), "signal -2147483");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_every_spelling),
		cmocka_unit_test(formats_what_it_parses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
