/* Log lines: one prefix, one line each whatever the text holds, and what each level lets through.
 */
#include "base/log.h"

#include "unit.h"

#include <fcntl.h>
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

static void test_prefix(void **state)
{
	static const struct {
		const char *line;
		size_t length;
	} rows[] = {
		{"reprieve: durable", 10},
		{"reprieve[1]: durable", 13},
		{"reprieve[12]: ", 14},
		{"reprieve: ", 10},
		{"reprieve:", 0},
		{"reprieve[1]", 0},
		{"reprieve[1: x", 0},
		{"reprieve[x]: y", 0},
		{"reprieved: x", 0},
		{"step 1", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (log_prefix_length(rows[i].line, strlen(rows[i].line)) != rows[i].length)
			fail_msg("%s", rows[i].line);
}

static void test_member(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_NOTE);
	log_set_member(3);
	assert_string_equal(heard(speak_all), "reprieve[3]: error: store is full\n"
					      "reprieve[3]: warning: disk slow\n"
					      "reprieve[3]: saved 3\n");
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

/* Whoever reads the other end may stand still; nobody of us waits for it. */
static void test_nobody_waits_for_a_reader(void **state)
{
	char text[8192], filler[4096] = {0};
	int ends[2], saved = dup(STDERR_FILENO);

	(void)state;
	log_set_level(LOG_LEVEL_NOTE);
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	while (write(ends[1], filler, sizeof(filler)) > 0) {
	}
	/* The description is the reader's, too: log_note() must not count on O_NONBLOCK. */
	assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
	dup2(ends[1], STDERR_FILENO);
	log_note("one");
	log_note("two");
	while (read(ends[0], text, sizeof(text)) > 0) {
	}
	log_note("three");
	dup2(saved, STDERR_FILENO);
	close(saved);
	text[read(ends[0], text, sizeof(text) - 1)] = '\0';
	assert_string_equal(text, "reprieve: 2 lines are missing here: nobody read them\n"
				  "reprieve: three\n");
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_a_line_is_a_line),
		cmocka_unit_test(test_nobody_waits_for_a_reader),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_member), /* the last: it stays */
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
