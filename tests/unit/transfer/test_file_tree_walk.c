/* The walk of a directory from which a job deletes other directories meanwhile. */
#include "storage/transfer/file_tree.h"
#include "storage/transfer/file_tree_walk.h"

#include "base/cancel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
	tree.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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

#define WALKS 500

/* Makes and removes directories as fast as it can, until it is killed or the test ends. */
static void rotate_forever(const char *root)
{
	char outer[128], inner[160];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0;; i++) {
		snprintf(outer, sizeof(outer), "%s/step-%u", root, i % DIRECTORIES);
		snprintf(inner, sizeof(inner), "%s/shard", outer);
		if (rmdir(inner) == 0)
			rmdir(outer);
		else if (mkdir(outer, 0755) == 0)
			mkdir(inner, 0755);
	}
}

static void test_rotation_fails_no_walk(void **state)
{
	char root[] = "/tmp/file-tree-walk-XXXXXX", path[160];
	pid_t child;

	(void)state;
	assert_non_null(mkdtemp(root));
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		rotate_forever(root);
	for (int i = 0; i < WALKS; i++) {
		struct file_tree tree = {.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
					 .root = realpath(root, NULL)};
		struct file_tree_choice choice = {0};
		struct err err = {0};

		assert_int_equal(file_tree_walk(&tree, &choice, NULL, &err), 0);
		file_tree_release(&tree);
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (int i = 0; i < DIRECTORIES; i++) {
		snprintf(path, sizeof(path), "%s/step-%d/shard", root, i);
		rmdir(path);
		snprintf(path, sizeof(path), "%s/step-%d", root, i);
		rmdir(path);
	}
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_vanished_directory_is_walked_past),
					   cmocka_unit_test(test_rotation_fails_no_walk)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
