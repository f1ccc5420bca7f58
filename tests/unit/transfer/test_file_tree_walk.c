/* The walk of a directory from which a job deletes other directories meanwhile. */
#include "storage/transfer/file_tree.h"
#include "storage/transfer/file_tree_walk.h"

#include "base/cancel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORIES 8

static bool delete_when_visited(void *arg, const char *path)
{
	char inner[128];

	/* It was listed as a directory; now it goes, before it can be opened. */
	if (!text_starts(path, "step-") || strchr(path, '/') || path[5] % 2)
		return false;
	snprintf(inner, sizeof(inner), "%s/%s", (const char *)arg, path);
	assert_int_equal(rmdir(inner), 0);
	return false;
}

static void test_vanished_directory_is_walked_past(void **state)
{
	char root[] = "/tmp/file-tree-walk-XXXXXX", path[128];
	struct file_tree_choice choice = {.exclude = delete_when_visited, .arg = root};
	struct file_tree tree = {.root_fd = -1};
	struct err err = {0};

	(void)state;
	assert_non_null(mkdtemp(root));
	for (int i = 0; i < DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "%s/step-%d", root, i);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	tree.root = realpath(root, NULL);
	tree.root_fd = -1;
	assert_int_equal(file_tree_walk(&tree, &choice, NULL, &err), 0);
	/* The walk came to every directory, whichever of them vanished. */
	assert_int_equal(tree.count, DIRECTORIES);
	file_tree_release(&tree);
	for (int i = 1; i < DIRECTORIES; i += 2) {
		snprintf(path, sizeof(path), "%s/step-%d", root, i);
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vanished_directory_is_walked_past)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
