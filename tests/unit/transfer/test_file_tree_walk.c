/* The walk of a directory from which a job deletes other directories meanwhile. */
#include "storage/transfer/reading.h"

#include "base/cancel.h"

#include "unit.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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

/* --- what is left out, and what becomes of links --- */

static struct file_tree walk_all(const char *root)
{
	struct file_tree tree = {.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				 .root = realpath(root, NULL)};
	struct err err = {0};

	assert_int_equal(file_tree_walk(&tree, NULL, NULL, &err), 0);
	return tree;
}

/* Of many, the first by name is said, in whatever order the directory has them. */
static void test_what_is_left_out(void **state)
{
	char root[] = "/tmp/file-tree-walk-XXXXXX", path[128], device[64];
	struct file_tree tree;
	int made;

	(void)state;
	assert_non_null(mkdtemp(root));
	for (int i = 0; i < 10; i++) {
		snprintf(path, sizeof(path), "%s/pipe-%d", root, i);
		assert_int_equal(mkfifo(path, 0600), 0);
	}
	snprintf(path, sizeof(path), "%s/a-socket", root);
	assert_int_equal(mknod(path, S_IFSOCK | 0600, 0), 0);
	/* Only root may make one. */
	snprintf(device, sizeof(device), "%s/the-device", root);
	made = mknod(device, S_IFCHR | 0600, makedev(1, 3)) == 0;
	tree = walk_all(root);
	assert_int_equal(tree.count, 0);
	assert_int_equal(tree.left_out, 11 + made);
	assert_string_equal(tree.left_out_path, "a-socket");
	assert_string_equal(tree.left_out_what, "a socket");
	file_tree_release(&tree);
	assert_int_equal(unlink(path), 0);
	tree = walk_all(root);
	assert_string_equal(tree.left_out_path, "pipe-0");
	assert_string_equal(tree.left_out_what, "a FIFO");
	file_tree_release(&tree);
	for (int i = 0; i < 10; i++) {
		snprintf(path, sizeof(path), "%s/pipe-%d", root, i);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(unlink(device), made - 1);
	assert_int_equal(rmdir(root), 0);
}

static bool is_excluded(void *arg, const char *path)
{
	(void)arg;
	return strcmp(path, "b") == 0;
}

/* With all that is in it, and without an end to the walk. */
static void test_what_is_excluded(void **state)
{
	char root[] = "/tmp/file-tree-walk-XXXXXX", path[128];
	static const char *const names[] = {"a", "b", "b/inner", "c"};
	const struct file_tree_choice choice = {.exclude = is_excluded};
	struct file_tree tree = {.root_fd = -1};
	struct err err = {0};

	(void)state;
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	tree.root = realpath(root, NULL);
	tree.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(file_tree_walk(&tree, &choice, NULL, &err), 0);
	assert_int_equal(tree.count, 2);
	assert_int_equal(tree.left_out, 0);
	assert_string_equal(tree.items[0].entry.path, "a");
	assert_string_equal(tree.items[1].entry.path, "c");
	file_tree_release(&tree);
	for (size_t i = 4; i > 0; i--) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i - 1]);
		assert_int_equal(rmdir(path), 0);
	}
	assert_int_equal(rmdir(root), 0);
}

/* "/ROOT" stands for the directory, which is at another place on the next machine. */
static void test_targets_of_links(void **state)
{
	static const struct {
		const char *target, *kept; /* NULL: it leads out */
	} rows[] = {
		{"file", "file"},
		{"../file", "../file"},
		{"nowhere", "nowhere"},
		{"/ROOT/file", "../file"},
		{"/ROOT/deep", "../deep"},
		{"/ROOT", "../"},
		{"/ROOT/nowhere/x", "../nowhere/x"},
		{"/ROOT/deep/../file", "../file"},
		{"../deep/../file", "../file"},
		{"/ROOTx", NULL},
		{"/ROOTx/file", NULL},
		{"/ROOT/../elsewhere", NULL},
		{"/etc", NULL},
		{"../..", NULL},
		{"../../etc/passwd", NULL},
		{"nowhere/../../../x", NULL},
	};
	char root[] = "/tmp/file-tree-walk-XXXXXX", deep[64], file[64], link[64];

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(deep, sizeof(deep), "%s/deep", root);
	snprintf(file, sizeof(file), "%s/file", root);
	snprintf(link, sizeof(link), "%s/deep/link", root);
	assert_int_equal(mkdir(deep, 0755), 0);
	close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool absolute = strncmp(rows[i].target, "/ROOT", 5) == 0;
		struct file_tree tree;
		char target[128];

		snprintf(target, sizeof(target), "%s%s", absolute ? root : "",
			 rows[i].target + (absolute ? 5 : 0));
		assert_int_equal(symlink(target, link), 0);
		tree = walk_all(root);
		assert_int_equal(unlink(link), 0);
		assert_int_equal(tree.count, rows[i].kept ? 3 : 2);
		assert_int_equal(tree.left_out, rows[i].kept ? 0 : 1);
		if (rows[i].kept) {
			assert_string_equal(tree.items[1].entry.path, "deep/link");
			if (strcmp(tree.items[1].entry.target, rows[i].kept) != 0)
				fail_msg("%s: %s", rows[i].target, tree.items[1].entry.target);
			assert_int_equal(tree.items[1].entry.mode, 0777);
		} else {
			assert_string_equal(tree.left_out_path, "deep/link");
		}
		file_tree_release(&tree);
	}
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(deep), 0);
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vanished_directory_is_walked_past),
		cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_what_is_excluded),
		cmocka_unit_test(test_targets_of_links),
		cmocka_unit_test(test_rotation_fails_no_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
