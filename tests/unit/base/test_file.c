/* Files and directories, in a fresh directory each. */
#include "base/file.h"

#include "base/cleanup.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static char *below(const char *name)
{
	return text_format("%s/%s", root, name);
}

static int begin(void **state)
{
	(void)state;
	strcpy(root, "/tmp/reprieve-test-file-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return file_remove_tree(root, NULL);
}

static void test_written_is_read(void **state)
{
	auto_free char *path = below("a");
	auto_(bytes_release) struct bytes bytes = {0};
	struct err err = {0};
	char big[10000];

	(void)state;
	memset(big, 'b', sizeof(big));
	assert_int_equal(file_write(path, "first", 5, &err), 0);
	assert_int_equal(file_write(path, big, sizeof(big), &err), 0);
	assert_int_equal(file_read(path, &bytes, &err), 0);
	assert_int_equal(bytes.size, sizeof(big));
	assert_memory_equal(bytes.data, big, sizeof(big));
	/* Appends. */
	assert_int_equal(file_read(path, &bytes, &err), 0);
	assert_int_equal(bytes.size, 2 * sizeof(big));
}

static void test_reading_at_a_place_ends_with_the_file(void **state)
{
	auto_free char *path = below("a");
	auto_close int fd = -1;
	char read[8] = "";

	(void)state;
	assert_int_equal(file_write(path, "0123456789", 10, NULL), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(file_read_at(fd, read, 4, 3), 4);
	assert_string_equal(read, "3456");
	assert_int_equal(file_read_at(fd, read, 4, 8), 2);
	assert_int_equal(file_read_at(fd, read, 4, 10), 0);
	assert_int_equal(file_read_at(-1, read, 4, 0), 0);
}

static void test_reading_keeps_the_limit(void **state)
{
	auto_free char *path = below("a");
	auto_(bytes_release) struct bytes enough = {.limit = 10};
	auto_(bytes_release) struct bytes little = {.limit = 9};
	struct err err = {0};

	(void)state;
	assert_int_equal(file_write(path, "0123456789", 10, &err), 0);
	assert_int_equal(file_read(path, &enough, &err), 0);
	assert_int_equal(enough.size, 10);
	assert_int_equal(file_read(path, &little, &err), -1);
	assert_int_equal(err.kind, ERR_FAILED);
	assert_non_null(strstr(err.text, path));
}

/* Each of these would keep an open(2) or a read(2) that waits for ever. */
static void test_nothing_is_waited_for(void **state)
{
	auto_free char *pipe = below("pipe");
	auto_(bytes_release) struct bytes bytes = {0};
	struct err err = {0};
	char line[PIPE_BUF], got[PIPE_BUF];
	auto_close int reader = -1;
	auto_close int writer = -1;

	(void)state;
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(file_read(pipe, &bytes, &err), -1);
	assert_non_null(strstr(err.text, "is a pipe, not a file"));
	assert_int_equal(file_open(pipe, O_WRONLY | O_CREAT, 0600, &err), -1);
	assert_non_null(strstr(err.text, "nobody reads"));
	reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	writer = file_open(pipe, O_WRONLY | O_CREAT, 0600, &err);
	assert_true(writer >= 0);
	memset(line, 'x', sizeof(line));
	while (file_write_all(writer, line, sizeof(line), &err) == 0)
		continue;
	assert_int_equal(err.kind, ERR_RETRY);
	assert_int_equal(read(reader, got, sizeof(got)), sizeof(got));
	assert_int_equal(file_write_all(writer, line, sizeof(line), &err), 0);
}

static void test_devices_are_read_and_files_wait_as_ever(void **state)
{
	auto_free char *path = below("a");
	auto_(bytes_release) struct bytes bytes = {0};
	struct err err = {0};
	auto_close int fd = -1;

	(void)state;
	assert_int_equal(file_read("/dev/null", &bytes, &err), 0);
	assert_int_equal(bytes.size, 0);
	assert_int_equal(file_read(root, &bytes, &err), -1);
	assert_int_equal(err.os, EISDIR);
	fd = file_open(path, O_WRONLY | O_CREAT | O_APPEND, 0600, &err);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK),
			 O_WRONLY | O_APPEND);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void test_missing_file_is_named(void **state)
{
	auto_free char *path = below("missing");
	auto_(bytes_release) struct bytes bytes = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(file_read(path, &bytes, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, path));
}

static void test_failed_write_leaves_the_old_file_and_no_litter(void **state)
{
	auto_free char *directory = below("d");
	auto_free char *target = below("d/target");
	auto_free char *inside = below("d/target/x");
	struct err err = {0};

	(void)state;
	/* The target is a directory with something in it: the rename cannot succeed. */
	assert_int_equal(file_make_directories(target, 0755, &err), 0);
	assert_int_equal(file_write(inside, "x", 1, &err), 0);
	assert_int_equal(file_write(target, "y", 1, &err), -1);
	assert_true(file_exists(inside));
	assert_int_equal(file_remove_tree(target, &err), 0);
	assert_true(file_directory_is_empty(directory));
}

static void test_making_directories(void **state)
{
	auto_free char *deep = below("a/b//c");
	auto_free char *file = below("a/f");
	auto_free char *under_file = below("a/f/g");
	struct err err = {0};

	(void)state;
	assert_int_equal(file_make_directories(deep, 0755, &err), 0);
	assert_int_equal(file_make_directories(deep, 0755, &err), 0);
	assert_true(file_is_directory(deep));
	assert_true(file_directory_is_empty(deep));
	assert_int_equal(file_write(file, "", 0, &err), 0);
	assert_int_equal(file_make_directories(under_file, 0755, &err), -1);
	assert_int_equal(file_make_directories(file, 0755, &err), -1);
	assert_false(file_is_directory(file));
	assert_false(file_directory_is_empty(root));
}

static void test_removing_does_not_follow_links(void **state)
{
	auto_free char *kept = below("kept/file");
	auto_free char *kept_directory = below("kept");
	auto_free char *removed = below("removed");
	auto_free char *link_path = below("removed/link");
	struct err err = {0};

	(void)state;
	assert_int_equal(file_make_directories(kept_directory, 0755, &err), 0);
	assert_int_equal(file_make_directories(removed, 0755, &err), 0);
	assert_int_equal(file_write(kept, "k", 1, &err), 0);
	assert_int_equal(symlink(kept_directory, link_path), 0);
	assert_int_equal(file_remove_tree(removed, &err), 0);
	assert_false(file_exists(removed));
	assert_true(file_exists(kept));
	assert_int_equal(file_remove_tree(removed, &err), 0);
}

static void test_absolute_paths(void **state)
{
	auto_free char *real = below("real");
	auto_free char *alias = below("alias");
	auto_free char *through = below("alias/new/deeper//");
	auto_free char *expected = below("real/new/deeper");
	auto_free char *resolved_root = file_absolute(root);
	auto_free char *answer = NULL;

	(void)state;
	assert_string_equal(resolved_root, root);
	assert_int_equal(mkdir(real, 0755), 0);
	assert_int_equal(symlink("real", alias), 0);
	answer = file_absolute(through);
	assert_string_equal(answer, expected);
	auto_free char *slash = file_absolute("/");
	assert_string_equal(slash, "/");
	auto_free char *top = file_absolute("/no-such-thing-here");
	assert_string_equal(top, "/no-such-thing-here");
	auto_free char *relative = file_absolute("no-such-thing-here");
	assert_int_equal(relative[0], '/');
	assert_true(text_ends(relative, "/no-such-thing-here"));
}

static void test_nonces_differ(void **state)
{
	char a[33], b[33];

	(void)state;
	random_hex(a);
	random_hex(b);
	assert_int_equal(strlen(a), 32);
	assert_int_equal(strspn(a, "0123456789abcdef"), 32);
	assert_string_not_equal(a, b);
}

static void test_writing_to_a_full_device(void **state)
{
	auto_close int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct err err = {0};

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(file_write_all(fd, "x", 1, &err), -1);
	assert_int_equal(err.kind, ERR_NO_SPACE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_written_is_read, begin, end),
		cmocka_unit_test_setup_teardown(test_reading_at_a_place_ends_with_the_file, begin,
						end),
		cmocka_unit_test_setup_teardown(test_reading_keeps_the_limit, begin, end),
		cmocka_unit_test_setup_teardown(test_nothing_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(test_devices_are_read_and_files_wait_as_ever, begin,
						end),
		cmocka_unit_test_setup_teardown(test_missing_file_is_named, begin, end),
		cmocka_unit_test_setup_teardown(test_failed_write_leaves_the_old_file_and_no_litter,
						begin, end),
		cmocka_unit_test_setup_teardown(test_making_directories, begin, end),
		cmocka_unit_test_setup_teardown(test_removing_does_not_follow_links, begin, end),
		cmocka_unit_test_setup_teardown(test_absolute_paths, begin, end),
		cmocka_unit_test(test_nonces_differ),
		cmocka_unit_test(test_writing_to_a_full_device),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
