/* What was under way when all were killed x what its content says -> does it stay. */
#include "restore/left_file.h"

#include "completion/completion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define VALID CONTENT_VALID
#define ONE (CONTENT_VALID | CONTENT_END_OF_ONE)
#define ALL (CONTENT_VALID | CONTENT_END_OF_ALL)

static const struct {
	const char *what;
	struct left_file file;
	bool stays;
} rows[] = {
	// clang-format off
	{"closed, and no format says anything", {.closed = true}, true},
	{"the same in a directory", {.closed = true, .in_directory = true}, false},
	{"the same over what was complete", {.closed = true, .recorded = true}, false},
	{"the same, and the machine was started anew", {.closed = true, .rebooted = true}, false},
	{"closed and whole in a directory", {.closed = true, .in_directory = true, .content = VALID}, true},
	{"closed and whole over what was complete", {.closed = true, .recorded = true, .content = VALID}, true},
	{"its close was not seen, and no format says anything", {0}, false},
	{"a format that may be whole before its end (HDF5)", {.content = VALID}, false},
	{"a zip with its directory", {.content = ALL}, true},
	{"the same over what was complete", {.content = ALL, .recorded = true}, true},
	{"the same, and shorter: a model that was pruned", {.content = ALL, .size = 10, .before = 9000}, true},
	{"a pickle, the first of its name", {.content = ONE, .size = 900}, true},
	{"a pickle as long as the one before", {.content = ONE, .size = 9000, .before = 9000}, true},
	{"a pickle that is a little shorter", {.content = ONE, .size = 8800, .before = 9000}, true},
	{"the first of two pickles in a file", {.content = ONE, .size = 5000, .before = 9000}, false},
	// clang-format on
};

static void stays(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (left_file_stays(&rows[i].file) != rows[i].stays)
			fail_msg("%s", rows[i].what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
