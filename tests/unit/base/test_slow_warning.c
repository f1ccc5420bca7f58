/* A call that takes long is said once; one that does not leaves no word. */
#include "base/progress.h"

#include "unit.h"

#include <string.h>
#include <unistd.h>

/* What is written to stderr from begin to end. `waits`: the call lasts until the line has come. */
static const char *heard(int64_t after_ms, bool waits)
{
	static char text[256];
	struct slow_warning slow;
	int ends[2], saved = dup(STDERR_FILENO);
	ssize_t got = 0;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	slow_warning_begin(&slow, after_ms, "the store does not answer");
	if (waits)
		got = read(ends[0], text, sizeof(text) - 1);
	slow_warning_end(&slow);
	dup2(saved, STDERR_FILENO);
	close(saved);
	/* Nobody else writes: what comes now is a second line, or the end. */
	got += read(ends[0], text + got, sizeof(text) - 1 - (size_t)got);
	close(ends[0]);
	text[got] = '\0';
	return text;
}

static void a_slow_call_is_said_once(void **state)
{
	(void)state;
	assert_string_equal(heard(1, true), "reprieve: warning: the store does not answer\n");
}

static void a_quick_call_is_not(void **state)
{
	(void)state;
	assert_string_equal(heard(3600000, false), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_call_is_said_once),
		cmocka_unit_test(a_quick_call_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
