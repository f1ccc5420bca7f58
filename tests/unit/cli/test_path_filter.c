/* --include and --exclude: patterns and paths. */
#include "cli/path_filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	const char *name, *include[3], *exclude[3], *path;
	bool takes;
} rows[] = {
	// clang-format off
	{"nothing said: everything", {NULL}, {NULL}, "a/b.pt", true},
	{"by name, anywhere", {"*.pt"}, {NULL}, "a/b/c.pt", true},
	{"another name", {"*.pt"}, {NULL}, "a/b/c.npy", false},
	{"a directory takes what is below", {"optimizer"}, {NULL}, "step-10/optimizer/0/x.bin",
		true},
	{"not a part of a name", {"optim"}, {NULL}, "step-10/optimizer/0/x.bin", false},
	{"a path from the beginning", {"step-10/*.pt"}, {NULL}, "step-10/c.pt", true},
	{"not from the middle", {"step-10/*.pt"}, {NULL}, "a/step-10/c.pt", false},
	{"below what a path names", {"step-10/model"}, {NULL}, "step-10/model/x/y.bin", true},
	{"as the shell completes a directory", {"step-10/"}, {NULL}, "step-10/model/x", true},
	{"and from here", {"./step-10/model/"}, {NULL}, "step-10/model/x", true},
	{"classes", {"step-[12]0"}, {NULL}, "step-20/x", true},
	{"hidden files are files", {"*"}, {NULL}, ".metadata", true},
	{"excluded", {NULL}, {"optimizer"}, "optimizer/x", false},
	{"not excluded", {NULL}, {"optimizer"}, "model/x", true},
	{"exclude wins", {"*.pt"}, {"best.pt"}, "a/best.pt", false},
	{"one of several includes", {"*.pt", "*.json"}, {NULL}, "config.json", true},
	{"none of several", {"*.pt", "*.json"}, {NULL}, "x.npy", false},
	{"one of several excludes", {NULL}, {"*.tmp", "logs"}, "a/logs/x", false},
	{"bytes that are no text", {"*.pt"}, {NULL}, "caf\xe9.pt", true},
	// clang-format on
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct path_filter path_filter = {0};

		for (int j = 0; j < 3 && rows[i].include[j]; j++)
			path_filter_include(&path_filter, rows[i].include[j]);
		for (int j = 0; j < 3 && rows[i].exclude[j]; j++)
			path_filter_exclude(&path_filter, rows[i].exclude[j]);
		if (path_filter_accepts(&path_filter, rows[i].path) != rows[i].takes)
			fail_msg("%s", rows[i].name);
		assert_int_equal(path_filter_is_empty(&path_filter), i == 0);
		path_filter_release(&path_filter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
