/* Signals by name and back. */
#include "process/process.h"

#include "unit.h"

#include <signal.h>
#include <string.h>

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

/* --- signal rules --- */

/* What becomes of received signals and of the exit code. */

static void every_signal_counts_as_itself(void **state)
{
	const struct signal_rules signal_rules = {0};

	(void)state;
	for (int number = 1; number < SIGNAL_RULES_COUNT; number++)
		assert_int_equal(signal_rules_map(&signal_rules, number), number);
	for (int code = 0; code < 256; code++)
		assert_int_equal(signal_rules_map_wait_status(&signal_rules, code << 8), code << 8);
}

static void rewrites(void **state)
{
	const struct {
		const char *text;
		int from, to;
	} rows[] = {
		{"INT=TERM", SIGINT, SIGTERM},
		{"SIGTERM=usr1", SIGTERM, SIGUSR1},
		{"15:10", 0, 0}, /* dumb-init's own spelling: said, not guessed */
		{"15=10", SIGTERM, SIGUSR1},
		{"RTMIN+3=TERM", SIGRTMIN + 3, SIGTERM},
		{"HUP=none", SIGHUP, 0},
		{"HUP=0", SIGHUP, 0},
		{"HUP=none,INT=TERM", SIGINT, SIGTERM},
		{"TERM=KILL", SIGTERM, SIGKILL},
		{"TERM=STOP", SIGTERM, SIGSTOP},
		{"KILL=TERM", 0, 0},
		{"STOP=TERM", 0, 0},
		{"CHLD=TERM", 0, 0},
		{"TERM", 0, 0},
		{"TERM=", 0, 0},
		{"=TERM", 0, 0},
		{"TERM=NOPE", 0, 0},
		{"NOPE=TERM", 0, 0},
		{"INT=TERM,", 0, 0},
		{"", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct signal_rules signal_rules = {0};
		struct err err = {0};
		int result = signal_rules_add_rewrite(&signal_rules, rows[i].text, &err);

		assert_int_equal(result, rows[i].from ? 0 : -1);
		if (rows[i].from)
			assert_int_equal(signal_rules_map(&signal_rules, rows[i].from), rows[i].to);
		else
			assert_int_equal(err.kind, ERR_INVALID);
	}
}

static void rewrites_add_up_and_do_not_chain(void **state)
{
	struct signal_rules signal_rules = {0};

	(void)state;
	assert_int_equal(signal_rules_add_rewrite(&signal_rules, "INT=TERM", NULL), 0);
	assert_int_equal(signal_rules_add_rewrite(&signal_rules, "TERM=QUIT", NULL), 0);
	assert_int_equal(signal_rules_map(&signal_rules, SIGINT), SIGTERM);
	assert_int_equal(signal_rules_map(&signal_rules, SIGTERM), SIGQUIT);
	assert_int_equal(signal_rules_map(&signal_rules, SIGQUIT), SIGQUIT);
}

static void parents(void **state)
{
	struct signal_rules signal_rules = {0};

	(void)state;
	assert_int_equal(signal_rules_set_parent_death(&signal_rules, "TERM", NULL), 0);
	assert_int_equal(signal_rules.parent_death, SIGTERM);
	assert_int_equal(signal_rules_set_parent_death(&signal_rules, "none", NULL), 0);
	assert_int_equal(signal_rules.parent_death, 0);
	assert_int_equal(signal_rules_set_parent_death(&signal_rules, "0", NULL), -1);
	assert_int_equal(signal_rules_set_parent_death(&signal_rules, "NOPE", NULL), -1);
}

static void success_codes(void **state)
{
	struct signal_rules signal_rules = {0};

	(void)state;
	assert_int_equal(signal_rules_add_success(&signal_rules, "143", NULL), 0);
	assert_int_equal(signal_rules_add_success(&signal_rules, "0,63,255", NULL), 0);
	for (int code = 0; code < 256; code++) {
		bool listed = code == 143 || code == 63 || code == 255;

		assert_int_equal(signal_rules_map_wait_status(&signal_rules, code << 8),
				 listed ? 0 : code << 8);
	}
	assert_int_equal(signal_rules_add_success(&signal_rules, "256", NULL), -1);
	assert_int_equal(signal_rules_add_success(&signal_rules, "143,", NULL), -1);
	assert_int_equal(signal_rules_add_success(&signal_rules, "TERM", NULL), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_every_spelling),
		cmocka_unit_test(formats_what_it_parses),
		cmocka_unit_test(every_signal_counts_as_itself),
		cmocka_unit_test(rewrites),
		cmocka_unit_test(rewrites_add_up_and_do_not_chain),
		cmocka_unit_test(parents),
		cmocka_unit_test(success_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
