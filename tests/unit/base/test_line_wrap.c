/* Where a line is broken: a table. */
#include "base/line_wrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_lines(void **state)
{
	static const struct {
		size_t width, indent;
		const char *line, *lines;
	} rows[] = {
		{20, 0, "", "\n"},
		{20, 0, "it fits to the byte.", "it fits to the byte.\n"},
		{20, 0, "it does not fit to the byte", "it does not fit to\nthe byte\n"},
		{20, 4, "it does not fit to the byte", "it does not fit to\n    the byte\n"},
		{20, 12, "an indent that is too wide", "an indent that is\ntoo wide\n"},
		/* The rest stands below the words, wherever they begin. */
		{20, 4, "ok  get  it reads back", "ok  get  it reads\n         back\n"},
		{20, 4, "  due  one two three four", "  due  one two three\n       four\n"},
		{20, 0, "  one two three four five", "  one two three four\n  five\n"},
		/* Columns beyond the middle are none that words could stand below. */
		{20, 0, "* 0001-12  good  20  6  vm", "* 0001-12  good  20\n6  vm\n"},
		/* A path, and characters of several bytes. */
		{10, 0, "/a/path/that/is/long", "/a/path/th\nat/is/long\n"},
		{10, 0, "to /a/path/that", "to /a/path\n/that\n"},
		{10, 0, "123456789\xc3\xa9x", "123456789\n\xc3\xa9x\n"},
		{1, 4, "ab", "a\nb\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes output = {0};
		unsigned lines =
			line_wrap(rows[i].line, rows[i].width, rows[i].indent, "\n", &output);

		bytes_append(&output, "", 1, NULL);
		assert_string_equal((const char *)output.data, rows[i].lines);
		for (const char *at = rows[i].lines; *at; at++)
			lines -= *at == '\n';
		assert_int_equal(lines, 0);
		bytes_release(&output);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
