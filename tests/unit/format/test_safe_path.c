/* Names and link targets: what may be in a snapshot, and what would lead out of it. */
#include "storage/format/safe_path.h"

#include "base/cleanup.h"

#include "unit.h"

static void test_paths(void **state)
{
	static const struct {
		const char *path;
		int safe;
		// clang-format off
	} rows[] = {
		{"a", 1}, {"a/b/c", 1}, {"...", 1}, {"..a", 1}, {".hidden", 1}, {"a\\..\\b", 1},
		{"\n", 1}, {"\xff", 1}, {"", 0}, {"/", 0}, {"/a", 0}, {"a/", 0}, {"a//b", 0},
		{".", 0}, {"..", 0}, {"../a", 0}, {"a/..", 0}, {"a/../b", 0}, {"a/./b", 0},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (safe_path_is_valid(rows[i].path) != rows[i].safe)
			fail_msg("\"%s\"", rows[i].path);
}

static void test_targets(void **state)
{
	static const struct {
		const char *path, *target;
		int safe;
		// clang-format off
	} rows[] = {
		{"latest", "step-100", 1}, {"latest", "./step-100", 1}, {"latest", "step-100/", 1},
		{"a/l", "../b", 1}, {"a/b/l", "../../c", 1}, {"a/b/l", "..", 1}, {"a/l", "..", 1},
		{"l", ".", 1}, {"l", "a//b", 1}, {"l", "", 0}, {"l", "/etc/passwd", 0},
		{"l", "..", 0}, {"l", "../x", 0}, {"a/l", "../../x", 0},
		/* Where "s" is itself a link this leads out, however deep the text looks. */
		{"l", "s/../x", 0}, {"a/l", "s/../x", 0}, {"a/l", "b/../../x", 0}, {"a/l", "./../../x", 0},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (safe_path_target_is_valid(rows[i].path, rows[i].target) != rows[i].safe)
			fail_msg("%s -> \"%s\"", rows[i].path, rows[i].target);
}

static void test_target_between(void **state)
{
	static const struct {
		const char *path, *inside, *target;
		// clang-format off
	} rows[] = {
		{"latest", "step", "step"}, {"a/latest", "a/step", "step"},
		{"a/latest", "step", "../step"}, {"a/b/l", "c/d", "../../c/d"},
		{"ab/l", "a/x", "../a/x"}, {"l", "", "."}, {"a/l", "", "../"},
		{"a/b/l", "a/x", "../x"},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *target = safe_path_target_between(rows[i].path, rows[i].inside);

		assert_string_equal(target, rows[i].target);
		assert_true(safe_path_target_is_valid(rows[i].path, target));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_target_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
