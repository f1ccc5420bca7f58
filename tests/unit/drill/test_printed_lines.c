#include "drill/printed_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* One line for each letter, a second apart. "-": a line without a fraction. */
static struct printed_lines print(const char *letters)
{
	struct printed_lines lines = {0};
	char line[] = "loss 0.1 x";

	for (int64_t at_ms = 1000; *letters; letters++, at_ms += 1000) {
		line[9] = *letters;
		printed_lines_add(&lines, *letters == '-' ? "hello 1" : line,
				  *letters == '-' ? 7 : sizeof(line) - 1, at_ms);
	}
	return lines;
}

// clang-format off
/* Saved at 4.5 s: after the fourth line. */
static const struct {
	const char *what, *before, *next;
	bool expected;
} cases[] = {
	{"goes on", "abcdefgh", "efghij", true},
	{"prints something else first", "abcdefgh", "x-efghij", true},
	{"begins anew", "abcdefgh", "abcdefgh", false},
	{"goes on from an older one", "abcdefgh", "bcdefgh", false},
	{"begins anew, after other lines", "abcdefgh", "xxabcdefgh", false},
	{"not the same twice", "abcdefgh", "exyz", false},
	{"lines that are there often", "aaaaeeee", "eeee", false},
	{"nothing after the save", "abcd", "efgh", false},
	{"one line more", "abcde", "efgh", false},
	{"says nothing", "", "", false},
	{"says little", "----", "----", false},
};
// clang-format on

static void each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_(printed_lines_release) struct printed_lines before = print(cases[i].before);
		auto_(printed_lines_release) struct printed_lines next = print(cases[i].next);

		if (printed_lines_go_on(&before, &next, 4500) != cases[i].expected)
			fail_msg("%s", cases[i].what);
	}
}

static void our_own_lines_are_left_out(void **state)
{
	static const char line[] = "reprieve: durable in 0.3 s";
	auto_(printed_lines_release) struct printed_lines lines = {0};

	(void)state;
	printed_lines_add(&lines, line, sizeof(line) - 1, 1);
	assert_int_equal(lines.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_case),
		cmocka_unit_test(our_own_lines_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
