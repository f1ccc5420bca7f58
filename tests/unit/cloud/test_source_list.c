/* The list of sources as people write it. */
#include "unit.h"

#include "cloud/watcher.h"

#include <stdio.h>
#include <string.h>

static void lists(void **state)
{
	static const struct {
		const char *list, *read;
	} rows[] = {
		{"aws", "aws[]"},
		{"aws,gcp", "aws[]gcp[]"},
		{"aws, gcp:120s", "aws[]gcp[120s]"},
		{"file:/run/a:b,azure", "file[/run/a:b]azure[]"},
		{"deadline:2026-04-11T22:05:00Z", "deadline[2026-04-11T22:05:00Z]"},
		{"", "[]"},
		{"aws,", "aws[][]"},
		{"file:", "file[]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char copy[80], read[120] = "", *at = copy;
		struct source_choice choice;

		snprintf(copy, sizeof(copy), "%s", rows[i].list);
		while (source_list_next(&at, &choice))
			snprintf(read + strlen(read), sizeof(read) - strlen(read), "%s[%s]",
				 choice.name, choice.argument);
		assert_string_equal(read, rows[i].read);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lists)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
