#include "drill/junit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// clang-format off
static const struct {
	enum drill_result result;
	const char *name, *reason, *part;
	unsigned failures;
} cases[] = {
	{DRILL_PASS, "preemption 1", "it opened a", " name=\"preemption 1\"><system-out>it opened a</system-out></testcase>", 0},
	{DRILL_PASS, "preemption 1", NULL, "<system-out></system-out>", 0},
	{DRILL_FAIL, "a", "nothing is durable", "<failure type=\"FAIL\" message=\"nothing is durable\"/>", 1},
	{DRILL_UNPROVEN, "a", "nothing shows it", "<failure type=\"UNPROVEN\" message=\"nothing shows it\"/>", 1},
	{DRILL_NOT_RUN, "a", NULL, "<failure type=\"NOT RUN\" message=\"\"/>", 1},
	{DRILL_FAIL, "result a<b", "\"x\" & <y>\033[1m\n\377", "name=\"result a&lt;b\"><failure type=\"FAIL\" message=\"&quot;x&quot; &amp; &lt;y&gt; [1m ?\"/>", 1},
};
// clang-format on

static void each_result(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_(junit_release) struct junit junit = {0};

		junit_add(&junit, cases[i].name, cases[i].result, cases[i].reason);
		auto_free char *text = junit_format(&junit);
		auto_free char *counts =
			text_format("tests=\"1\" failures=\"%u\"", cases[i].failures);

		if (!strstr(text, cases[i].part) || !strstr(text, counts))
			fail_msg("%zu: %s", i, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_result)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
