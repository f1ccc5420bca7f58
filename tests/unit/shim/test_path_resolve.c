/* Which paths lie below the directory, by their words; e2e/test_shim.py has the descriptors. */
#include "shim/channel_writer.h"

#include <string.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static const struct shim_header header = {.directory = "/data/ckpt", .alias = "/home/u/ckpt"};

/* As behind a bind mount: another path leads to the directory, or to the one above it. */
static void test_other_path_by_inode(void **state)
{
	char place[] = "/tmp/test_path_resolve.XXXXXX", directory[64], link[64], path[96];
	struct shim_header found = {.directory = "/data/ckpt", .anchor_length = 5};
	struct resolved_path resolved_path;
	struct stat status;

	(void)state;
	assert_non_null(mkdtemp(place));
	snprintf(directory, sizeof(directory), "%s/real", place);
	snprintf(link, sizeof(link), "%s/other", place);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(symlink("real", link), 0);
	assert_int_equal(stat(directory, &status), 0);
	found.anchor_device = status.st_dev;
	found.anchor_inode = status.st_ino;
	/* "real" is "/data" to us. */
	snprintf(path, sizeof(path), "%s/ckpt/step-1/a", link);
	path_resolve_name(&found, AT_FDCWD, path, &resolved_path);
	assert_true(resolved_path.inside);
	assert_int_equal(resolved_path.length, strlen("step-1/a"));
	assert_memory_equal(resolved_path.path, "step-1/a", resolved_path.length);
	snprintf(path, sizeof(path), "%s/else/a", link);
	path_resolve_name(&found, AT_FDCWD, path, &resolved_path);
	assert_false(resolved_path.inside);
	/* "real" is the directory itself. */
	found.anchor_length = strlen(found.directory);
	snprintf(path, sizeof(path), "%s/a", link);
	path_resolve_name(&found, AT_FDCWD, path, &resolved_path);
	assert_true(resolved_path.inside && resolved_path.length == 1);
	snprintf(path, sizeof(path), "%s/a", place);
	path_resolve_name(&found, AT_FDCWD, path, &resolved_path);
	assert_false(resolved_path.inside);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(directory), 0);
	assert_int_equal(rmdir(place), 0);
}

static void test_paths(void **state)
{
	static const struct {
		const char *path, *inside; /* NULL: outside */
	} rows[] = {
		{"/data/ckpt/a", "a"},
		{"/data/ckpt/s/a", "s/a"},
		{"/data//ckpt///a", "a"},
		{"/data/./ckpt/./a/.", "a"},
		{"/data/ckpt/a/", "a"},
		{"/data/x/../ckpt/a", "a"},
		{"/../../data/ckpt/a", "a"},
		{"/data/ckpt/x/../a", "a"},
		{"/data/ckpt/x/y/../../a", "a"},
		{"/home/u/ckpt/a", "a"},
		{"/data/ckpt/...", "..."},
		{"/data/ckpt/..a", "..a"},
		{"/data/ckpt", NULL},
		{"/data/ckpt/", NULL},
		{"/data/ckpt/a/..", NULL},
		{"/data/ckpt/../a", NULL},
		{"/data/ckpt2/a", NULL},
		{"/data/ckp/a", NULL},
		{"/data", NULL},
		{"/", NULL},
		{"//", NULL},
		{"/..", NULL},
		{"", NULL},
		{NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct resolved_path resolved_path;

		path_resolve_name(&header, AT_FDCWD, rows[i].path, &resolved_path);
		assert_int_equal(resolved_path.inside, rows[i].inside != NULL);
		assert_int_equal(resolved_path.length, rows[i].inside ? strlen(rows[i].inside) : 0);
		if (rows[i].inside)
			assert_memory_equal(resolved_path.path, rows[i].inside,
					    resolved_path.length);
	}
}

static void test_relative_paths(void **state)
{
	struct shim_header here = {0};
	struct resolved_path resolved_path;
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(chdir("/usr/lib"), 0);
	strcpy(here.directory, "/usr/lib");
	path_resolve_name(&here, AT_FDCWD, "x/../a", &resolved_path);
	assert_true(resolved_path.inside && resolved_path.length == 1 &&
		    resolved_path.path[0] == 'a');
	path_resolve_name(&here, AT_FDCWD, "../a", &resolved_path);
	assert_false(resolved_path.inside);
	path_resolve_name(&here, root, "usr/lib/a", &resolved_path);
	assert_true(resolved_path.inside && resolved_path.length == 1);
	path_resolve_name(&here, 999, "a", &resolved_path);
	assert_false(resolved_path.inside);
	close(root);
	assert_int_equal(chdir("/"), 0);
	path_resolve_name(&here, AT_FDCWD, "usr/lib/a", &resolved_path);
	assert_true(resolved_path.inside && resolved_path.length == 1);
}

static void test_long_paths(void **state)
{
	char path[8192];
	struct resolved_path resolved_path;

	(void)state;
	/* Each length where the room may end. */
	for (size_t length = 1; length < sizeof(path) - 20; length += length < 2000 ? 1 : 97) {
		strcpy(path, "/data/ckpt/");
		memset(path + 11, 'a', length);
		path[11 + length] = '\0';
		path_resolve_name(&header, AT_FDCWD, path, &resolved_path);
		if (length <= SHIM_PATH_MOST)
			assert_true(resolved_path.inside && resolved_path.length == length &&
				    resolved_path.flags == 0);
		else if (resolved_path.inside)
			assert_true(resolved_path.length == SHIM_PATH_MOST &&
				    resolved_path.flags == SHIM_FLAG_TRUNCATED_PATH);
	}
}

static void test_outside_is_remembered_by_the_whole_path(void **state)
{
	(void)state;
	assert_false(path_is_known_outside("/dev/null"));
	path_remember_outside("/dev/null");
	assert_true(path_is_known_outside("/dev/null"));
	assert_false(path_is_known_outside("/dev/nulk"));
	assert_false(path_is_known_outside("/dev/null "));
	assert_false(path_is_known_outside("/dev"));
	assert_false(path_is_known_outside(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_other_path_by_inode),
		cmocka_unit_test(test_relative_paths),
		cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_outside_is_remembered_by_the_whole_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
