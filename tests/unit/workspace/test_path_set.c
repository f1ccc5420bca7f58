#include "workspace/file_list.h"

#include <stdio.h>

#include "unit.h"

static void test_marks(void **state)
{
	struct path_set set = {0};

	(void)state;
	assert_int_equal(path_set_marks(&set, "a"), 0);
	path_set_mark(&set, "a", 0);
	assert_int_equal(set.count, 0);
	path_set_mark(&set, "a", 1);
	path_set_mark(&set, "a", 4);
	assert_int_equal(path_set_marks(&set, "a"), 5);
	assert_int_equal(set.count, 1);
	path_set_release(&set);
	assert_int_equal(set.count, 0);
}

static void test_below(void **state)
{
	(void)state;
	assert_true(path_set_is_below("a", "a"));
	assert_true(path_set_is_below("a/b", "a"));
	assert_true(path_set_is_below("a", ""));
	assert_false(path_set_is_below("ab", "a"));
	assert_false(path_set_is_below("a", "a/b"));
}

static void test_many(void **state)
{
	struct path_set set = {0};
	char path[20];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "f%d", i);
		path_set_mark(&set, path, i % 2 ? 1 : 2);
	}
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "f%d", i);
		assert_int_equal(path_set_marks(&set, path), i % 2 ? 1 : 2);
	}
	assert_int_equal(set.count, 10000);
	path_set_release(&set);
	assert_int_equal(set.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
