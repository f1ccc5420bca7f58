#include "workspace/path_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void test_marks(void **state)
{
	struct path_set set = {0};

	(void)state;
	assert_int_equal(path_set_marks(&set, "a"), 0);
	path_set_unmark(&set, "a", 1);
	path_set_mark(&set, "a", 0);
	assert_int_equal(set.count, 0);
	path_set_mark(&set, "a", 1);
	path_set_mark(&set, "a", 4);
	assert_int_equal(path_set_marks(&set, "a"), 5);
	assert_true(path_set_any(&set, 4));
	assert_false(path_set_any(&set, 2));
	path_set_unmark(&set, "a", 1);
	assert_int_equal(path_set_marks(&set, "a"), 4);
	path_set_unmark(&set, "a", ~0u);
	assert_int_equal(set.count, 0);
	path_set_release(&set);
}

static void test_change_all(void **state)
{
	struct path_set set = {0};

	(void)state;
	path_set_mark(&set, "a", 1);
	path_set_mark(&set, "b", 2);
	path_set_mark(&set, "c", 3);
	path_set_change_all(&set, 1, 3, 8);
	assert_int_equal(path_set_marks(&set, "a"), 8);
	assert_int_equal(path_set_marks(&set, "b"), 2);
	assert_int_equal(path_set_marks(&set, "c"), 8);
	path_set_change_all(&set, 8, 8, 0);
	assert_int_equal(set.count, 1);
	path_set_release(&set);
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

static void test_rename_takes_all_below_and_replaces(void **state)
{
	struct path_set set = {0};

	(void)state;
	path_set_mark(&set, "t/x", 1);
	path_set_mark(&set, "t/y/z", 2);
	path_set_mark(&set, "t2", 4);
	path_set_mark(&set, "s/old", 8);
	path_set_rename(&set, "t", "s");
	assert_int_equal(path_set_marks(&set, "s/x"), 1);
	assert_int_equal(path_set_marks(&set, "s/y/z"), 2);
	assert_int_equal(path_set_marks(&set, "t2"), 4);
	assert_int_equal(path_set_marks(&set, "s/old"), 0);
	assert_int_equal(path_set_marks(&set, "t/x"), 0);
	assert_int_equal(set.count, 3);
	path_set_rename(&set, "s", "s");
	assert_int_equal(set.count, 3);
	path_set_remove_below(&set, "s");
	assert_int_equal(set.count, 1);
	path_set_release(&set);
}

static void count(void *argument, const char *path)
{
	(void)path;
	++*(size_t *)argument;
}

static void test_many(void **state)
{
	struct path_set set = {0};
	size_t found = 0;
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
	path_set_each(&set, 1, count, &found);
	assert_int_equal(found, 5000);
	path_set_release(&set);
	assert_int_equal(set.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_change_all),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_rename_takes_all_below_and_replaces),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
