/* On real directories: what a watch stands for, after renames and removals too. */
#include "monitor/inotify_table.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

static const char *const places[] = {"", "a", "a/b", "a/b/c", "ab"};
#define PLACES (sizeof(places) / sizeof(places[0]))

struct tree {
	char directory[64];
	struct inotify_table table;
	int watches[PLACES];
};

static int set_up(void **state)
{
	struct tree *tree = memory_new(sizeof(*tree));

	text_set(tree->directory, sizeof(tree->directory), "/tmp/test_watch_table.XXXXXX");
	assert_non_null(mkdtemp(tree->directory));
	assert_int_equal(inotify_table_open(&tree->table, tree->directory, NULL), 0);
	for (size_t i = 0; i < PLACES; i++) {
		auto_free char *full =
			places[i][0] ? text_format("%s/%s", tree->table.directory, places[i])
				     : text_copy(tree->table.directory);

		assert_int_equal(file_make_directories(full, 0700, NULL), 0);
		tree->watches[i] = inotify_table_add(&tree->table, places[i]);
		assert_true(tree->watches[i] > 0);
	}
	*state = tree;
	return 0;
}

static int tear_down(void **state)
{
	struct tree *tree = *state;

	inotify_table_close(&tree->table);
	file_remove_tree(tree->directory, NULL);
	free(tree);
	return 0;
}

/* "-": gone. */
static void assert_paths(struct tree *tree, const char *const expected[PLACES])
{
	for (size_t i = 0; i < PLACES; i++) {
		auto_free char *path = inotify_table_path(tree->watches[i]);

		assert_string_equal(path ? path : "-", expected[i]);
	}
}

static void a_watch_has_one_number(void **state)
{
	struct tree *tree = *state;

	assert_paths(tree, places);
	assert_int_equal(inotify_table_add(&tree->table, "a/b"), tree->watches[2]);
	assert_paths(tree, places);
	assert_int_equal(inotify_table_add(&tree->table, "nowhere"), -1);
	assert_int_equal(errno, ENOENT);
	assert_null(inotify_table_path(-1));
	assert_null(inotify_table_path(12345));
}

static void what_lies_below_is_renamed_with_it(void **state)
{
	struct tree *tree = *state;
	const char *const inwards[] = {"", "ab/x", "ab/x/b", "ab/x/b/c", "ab"};
	const char *const onwards[] = {"", "ab/x", "y", "y/c", "ab"};

	inotify_table_move_below(&tree->table, "a", "ab/x");
	assert_paths(tree, inwards);
	inotify_table_move_below(&tree->table, "ab/x/b", "y");
	assert_paths(tree, onwards);
}

static void what_lies_below_is_forgotten_with_it(void **state)
{
	struct tree *tree = *state;
	const char *const left[] = {"", "-", "-", "-", "ab"};
	const char *const again[] = {"", "-", "-", "-", "-"};

	inotify_table_move_below(&tree->table, "a", NULL);
	assert_paths(tree, left);
	inotify_table_removed(tree->watches[4]);
	assert_paths(tree, again);
	tree->watches[1] = inotify_table_add(&tree->table, "a");
	inotify_table_move_below(&tree->table, "", NULL);
	for (size_t i = 0; i < PLACES; i++)
		assert_null(inotify_table_path(tree->watches[i]));
}

static void there_is_one_and_it_stays_with_us(void **state)
{
	struct tree *tree = *state;
	struct inotify_table other = {0};
	struct err err;

	assert_true(fcntl(tree->table.fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(tree->table.fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(inotify_table_open(&other, tree->directory, &err), -1);
	assert_int_equal(err.kind, ERR_EXISTS);
	inotify_table_close(&other);
	assert_paths(tree, places);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROW(a_watch_has_one_number),
		ROW(what_lies_below_is_renamed_with_it),
		ROW(what_lies_below_is_forgotten_with_it),
		ROW(there_is_one_and_it_stays_with_us),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
