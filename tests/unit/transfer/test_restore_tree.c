/* The directory that is restored into: what is made of which entry, and what full disks do. */
#include "storage/transfer/fetching.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err err;

/* --- a file system that answers to fallocate(2) as it is told --- */

static int allocation_errors[4];
static size_t allocations;
static char allocated[128]; /* "first+count ..." in chunks */

int fallocate(int fd, int mode, off_t offset, off_t size)
{
	size_t used = strlen(allocated);

	(void)fd;
	assert_int_equal(mode, 0);
	errno = allocations < 4 ? allocation_errors[allocations] : 0;
	allocations++;
	if (errno == 0)
		snprintf(allocated + used, sizeof(allocated) - used, "%lld+%lld ",
			 (long long)offset / (long long)CHUNK_SIZE,
			 (long long)size / (long long)CHUNK_SIZE);
	return errno ? -1 : 0;
}

/* --- a manifest of a few entries --- */

static struct chunk chunks[8];
static struct entry entries[] = {
	{.path = "a", .type = ENTRY_FILE, .mode = 0640, .chunks = chunks},
	{.path = "d", .type = ENTRY_DIRECTORY, .mode = 0750},
	{.path = "d/b", .type = ENTRY_FILE, .mode = 0600, .chunks = chunks},
	{.path = "d/link", .type = ENTRY_SYMLINK, .target = "../a"},
	{.path = "e", .type = ENTRY_HARDLINK, .target = "a"},
	{.path = "f", .type = ENTRY_HARDLINK, .target = "a"},
	/* Its parents are no entries. */
	{.path = "g/h/i", .type = ENTRY_FILE, .mode = 0600, .chunks = chunks},
};
static struct manifest manifest = {
	.entries = entries,
	.entry_count = sizeof(entries) / sizeof(entries[0]),
	.directory_mode = 0711,
};

static char root[64], target[80];

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/restore-tree-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(target, sizeof(target), "%s/target", root);
	memset(allocation_errors, 0, sizeof(allocation_errors));
	memset(chunks, 0, sizeof(chunks));
	allocations = 0;
	allocated[0] = '\0';
	entries[0].size = CHUNK_SIZE;
	entries[2].size = 10;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return file_remove_tree(root, &err);
}

static int make(struct tree *tree, bool (*include)(void *arg, const char *path),
		struct cancel *cancel)
{
	assert_int_equal(restore_tree_create(tree, &manifest, 0, target, include, NULL, &err), 0);
	return restore_tree_make_files(tree, 1, cancel, &err) < 0
		       ? -1
		       : restore_tree_allocate(tree, cancel, &err);
}

static bool there(const char *path, struct stat *status)
{
	auto_free char *full = text_format("%s/%s", target, path);

	return lstat(full, status) == 0;
}

/* --- the whole --- */

static void test_all_entries(void **state)
{
	struct tree tree;
	struct stat first, second;
	int lowest = dup(0);
	mode_t mask;

	(void)state;
	close(lowest);
	assert_int_equal(make(&tree, NULL, NULL), 0);
	/* For us alone while it is filled, and without links, but at full size. */
	assert_true(there("d", &first) && (first.st_mode & 0777) == 0700);
	assert_true(there("a", &first) && first.st_size == (off_t)CHUNK_SIZE);
	assert_true(there("d/b", &first) && (first.st_mode & 0777) == 0600);
	assert_false(there("d/link", &first) || there("e", &first));
	assert_int_equal(restore_tree_finish(&tree, 1, true, NULL, &err), 0);
	restore_tree_release(&tree);
	/* No descriptor stays. */
	assert_int_equal(dup(0), lowest);
	close(lowest);
	assert_true(there("a", &first) && (first.st_mode & 0777) == 0640);
	assert_true(there("e", &second) && second.st_ino == first.st_ino);
	assert_int_equal(first.st_nlink, 3);
	assert_true(there("d", &first) && (first.st_mode & 0777) == 0750);
	assert_true(there("d/link", &first) && S_ISLNK(first.st_mode));
	assert_true(there("g/h/i", &first) && first.st_size == 0);
	mask = umask(0);
	umask(mask);
	assert_true(there("g", &first) && (first.st_mode & 0777) == (0777 & ~mask));
	assert_true(there("g/h", &first) && (first.st_mode & 0777) == (0777 & ~mask));
	assert_int_equal(stat(target, &first), 0);
	assert_int_equal(first.st_mode & 0777, 0711);
}

static bool is_link_or_b(void *arg, const char *path)
{
	(void)arg;
	return strcmp(path, "e") == 0 || strcmp(path, "d/b") == 0;
}

/* A hard link to a file that is not selected gets the content itself. */
static void test_selected_entries(void **state)
{
	struct tree tree;
	struct stat status;

	(void)state;
	assert_int_equal(make(&tree, is_link_or_b, NULL), 0);
	assert_ptr_equal(tree.content[4], &entries[0]);
	assert_ptr_equal(tree.content[2], &entries[2]);
	assert_null(tree.content[0]);
	assert_null(tree.content[5]);
	assert_int_equal(restore_tree_finish(&tree, 1, false, NULL, &err), 0);
	restore_tree_release(&tree);
	assert_true(there("d/b", &status));
	assert_true(there("e", &status) && status.st_nlink == 1);
	assert_int_equal(status.st_size, CHUNK_SIZE);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_false(there("a", &status) || there("f", &status) || there("d/link", &status));
}

static void test_the_directory_must_be_empty(void **state)
{
	auto_free char *inner = text_format("%s/x", target);
	struct tree tree;

	(void)state;
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(mkdir(inner, 0700), 0);
	assert_int_equal(restore_tree_create(&tree, &manifest, 0, target, NULL, NULL, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
}

/* --- files of a seed --- */

static void test_files_that_are_there_already(void **state)
{
	auto_free char *seed = text_format("%s/seed", root);
	auto_free char *old = text_format("%s/a", seed);
	auto_close int seed_fd = -1;
	struct tree tree;
	struct stat before, after;

	(void)state;
	assert_int_equal(mkdir(seed, 0700), 0);
	assert_int_equal(file_replace(old, "old", 3, &err), 0);
	assert_int_equal(chmod(old, 0400), 0);
	assert_int_equal(stat(old, &before), 0);
	seed_fd = open(seed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(restore_tree_create(&tree, &manifest, 0, target, NULL, NULL, &err), 0);
	assert_true(restore_tree_link(&tree, 0, seed_fd));
	assert_false(restore_tree_link(&tree, 2, seed_fd));
	assert_int_equal(restore_tree_make_files(&tree, 1, NULL, &err), 0);
	assert_int_equal(restore_tree_finish(&tree, 1, false, NULL, &err), 0);
	restore_tree_release(&tree);
	assert_true(there("a", &after));
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_size, 3);
	assert_int_equal(after.st_mode & 0777, 0640);
	assert_true(there("d/b", &after) && after.st_size == 10);
}

/* --- failures --- */

static void test_cancelled(void **state)
{
	struct tree tree;
	struct stat status;
	struct cancel cancel;

	(void)state;
	assert_int_equal(cancel_init(&cancel, &err), 0);
	cancel_raise(&cancel);
	assert_int_equal(make(&tree, NULL, &cancel), -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	assert_false(there("a", &status));
	assert_int_equal(restore_tree_make_files(&tree, 1, NULL, &err), 0);
	assert_int_equal(restore_tree_finish(&tree, 1, false, &cancel, &err), -1);
	assert_int_equal(err.kind, ERR_CANCELLED);
	cancel_release(&cancel);
	restore_tree_release(&tree);
}

static void test_a_file_that_is_too_large(void **state)
{
	struct rlimit before, low;
	struct tree tree;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = before;
	low.rlim_cur = 5;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(make(&tree, NULL, NULL), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(err.os, EFBIG);
	restore_tree_release(&tree);
}

/* Each run of chunks that are no holes, in small files and large ones. */
static void test_what_is_allocated(void **state)
{
	struct tree tree;

	(void)state;
	entries[0].size = 7 * CHUNK_SIZE + 1;
	entries[2].size = 0;
	chunks[0].codec = chunks[3].codec = chunks[4].codec = chunks[6].codec = CHUNK_ZERO;
	assert_int_equal(make(&tree, NULL, NULL), 0);
	restore_tree_release(&tree);
	/* The last chunk has one byte. */
	assert_string_equal(allocated, "1+2 5+1 7+0 ");
}

static void test_what_a_failed_allocation_means(void **state)
{
	static const struct {
		int errors[2];
		int result;
		size_t calls;
	} rows[] = {
		{{ENOSPC}, -1, 1},        {{EDQUOT}, -1, 1}, {{EOPNOTSUPP}, 0, 1},
		{{EINTR, ENOSPC}, -1, 2}, {{EINTR}, 0, 2},   {{0}, 0, 1},
	};

	(void)state;
	entries[2].size = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tree tree;

		memcpy(allocation_errors, rows[i].errors, sizeof(rows[i].errors));
		allocations = 0;
		assert_int_equal(make(&tree, NULL, NULL), rows[i].result);
		restore_tree_release(&tree);
		if (allocations != rows[i].calls)
			fail_msg("row %zu: %zu calls", i, allocations);
		if (rows[i].result < 0)
			assert_int_equal(err.kind, ERR_NO_SPACE);
		assert_int_equal(file_remove_tree(target, &err), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_entries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_selected_entries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_directory_must_be_empty, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_files_that_are_there_already, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_that_is_too_large, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_allocated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_a_failed_allocation_means, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
