/* Log lines: one prefix, one line each whatever the text holds, and what each level lets through.
 */
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

/* Runs `speak` with stderr in a pipe, and returns what came out. */
static const char *heard(void (*speak)(void))
{
	static char text[8192];
	int ends[2], saved = dup(STDERR_FILENO);
	ssize_t got;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	speak();
	dup2(saved, STDERR_FILENO);
	close(saved);
	got = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	text[got > 0 ? got : 0] = '\0';
	return text;
}

static void speak_all(void)
{
	log_error("store is full");
	log_warn("disk slow");
	log_note("saved %d", 3);
	log_debug("tick");
}

static void speak_odd(void)
{
	log_note("two\nlines\tand \033[31m\x7f\xc2\x9b\xff");
}

static void speak_long(void)
{
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_note("%s", text);
}

static void test_levels(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_QUIET);
	assert_string_equal(heard(speak_all), "reprieve: error: store is full\n");
	log_set_level(LOG_LEVEL_NOTE);
	assert_string_equal(heard(speak_all), "reprieve: error: store is full\n"
					      "reprieve: warning: disk slow\n"
					      "reprieve: saved 3\n");
	log_set_level(LOG_LEVEL_DEBUG);
	assert_non_null(strstr(heard(speak_all), "reprieve: debug: tick\n"));
}

static void test_a_line_is_a_line(void **state)
{
	const char *text;

	(void)state;
	log_set_level(LOG_LEVEL_NOTE);
	assert_string_equal(heard(speak_odd), "reprieve: two?lines?and ?[31m????\n");
	text = heard(speak_long);
	assert_in_range(strlen(text), 100, 1024);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_a_line_is_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
