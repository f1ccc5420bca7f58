/* What is noted of each open file, for a drill: "r" where the job may have read what it held
 * before, "w" where it may have written. */
#include "shim/access_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char log_name[] = "/tmp/reprieve-test.XXXXXX";

static int set_up(void **state)
{
	int fd = mkstemp(log_name);

	(void)state;
	if (fd < 0 || setenv(SHIM_ENV_ACCESS_LOG, log_name, 1) < 0)
		return -1;
	return close(fd);
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(log_name);
}

/* Lines that noted() has seen. */
static size_t seen;

/* Everything that was noted since the last call. */
static const char *noted(void)
{
	static char text[4096];
	FILE *file = fopen(log_name, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		seen++;
	assert_int_equal(truncate(log_name, 0), 0);
	return text;
}

static struct resolved_path resolved(const char *path)
{
	struct resolved_path found = {
		.inside = true,
		.regular = true,
		.length = (uint16_t)strlen(path),
		.device = 2050,
		.inode = 18446744073709551615u,
	};

	/* It is not terminated. */
	memset(found.path, 'x', sizeof(found.path));
	memcpy(found.path, path, found.length);
	return found;
}

static void test_nothing_is_noted_without_an_absolute_name(void **state)
{
	char longest[1024 + 1];
	const char *rows[] = {NULL, "", "log", longest};

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[0] = '/';
	longest[1024] = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i])
			assert_int_equal(setenv(SHIM_ENV_ACCESS_LOG, rows[i], 1), 0);
		else
			assert_int_equal(unsetenv(SHIM_ENV_ACCESS_LOG), 0);
		access_log_start();
		assert_false(access_log_is_wanted());
	}
	longest[1023] = '\0';
	assert_int_equal(setenv(SHIM_ENV_ACCESS_LOG, longest, 1), 0);
	access_log_start();
	assert_true(access_log_is_wanted());
	assert_int_equal(setenv(SHIM_ENV_ACCESS_LOG, log_name, 1), 0);
	access_log_start();
	assert_true(access_log_is_wanted());
}

static void test_what_an_open_can_have_read_and_written(void **state)
{
#define FILE_A "2050 18446744073709551615 a/b c.pt\n"
	static const struct {
		int flags;
		unsigned found; /* SHIM_FLAG_* */
		const char *lines;
	} rows[] = {
		{O_RDONLY, 0, "r " FILE_A},
		{O_RDONLY | O_CLOEXEC, 0, "r " FILE_A},
		{O_WRONLY, 0, "w " FILE_A},
		{O_WRONLY | O_APPEND, 0, "w " FILE_A},
		{O_RDWR, 0, "r " FILE_A "w " FILE_A},
		/* It was emptied, or was empty: there was nothing to read. */
		{O_RDWR | O_TRUNC, 0, "w " FILE_A},
		{O_RDWR | O_CREAT, SHIM_FLAG_EMPTY, "w " FILE_A},
		{O_RDONLY, SHIM_FLAG_EMPTY, ""},
		{O_RDONLY, SHIM_FLAG_DELETED, "r " FILE_A},
		/* Neither can be done through it. */
		{O_PATH, 0, ""},
		{O_PATH | O_RDWR, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct resolved_path path = resolved("a/b c.pt");

		path.flags = rows[i].found;
		access_log_note(&path, rows[i].flags);
		assert_string_equal(noted(), rows[i].lines);
	}
}

static void test_what_is_no_file_of_the_directory_is_not_noted(void **state)
{
	struct resolved_path outside = resolved("a"), directory = resolved("a");
	/* It would be taken for two. */
	struct resolved_path two_lines = resolved("a\nr 1 2 b");
	struct resolved_path numberless = resolved("a");

	(void)state;
	outside.inside = false;
	directory.regular = false;
	access_log_note(&outside, O_RDONLY);
	access_log_note(&directory, O_RDONLY);
	access_log_note(&two_lines, O_RDONLY);
	assert_string_equal(noted(), "");
	numberless.device = numberless.inode = 0;
	access_log_note(&numberless, O_RDONLY);
	assert_string_equal(noted(), "r 0 0 a\n");
}

static void test_the_longest_path_fits(void **state)
{
	struct resolved_path path = resolved("");
	const char *text;

	(void)state;
	path.length = SHIM_PATH_MOST;
	path.device = UINT64_MAX;
	access_log_note(&path, O_WRONLY);
	text = noted();
	assert_int_equal(strlen(text), strlen("w 18446744073709551615 18446744073709551615 ") +
					       SHIM_PATH_MOST + strlen("\n"));
}

/* Nobody has made it: a file of the job's must not appear where a drill looks. */
static void test_the_log_is_not_created(void **state)
{
	struct resolved_path path = resolved("a");

	(void)state;
	assert_int_equal(unlink(log_name), 0);
	access_log_note(&path, O_RDWR);
	assert_int_equal(access(log_name, F_OK), -1);
	assert_int_equal(close(open(log_name, O_CREAT | O_RDWR | O_EXCL, 0600)), 0);
	seen += 2; /* they count all the same */
}

static void test_a_process_writes_so_many_lines(void **state)
{
	struct resolved_path path = resolved("a");
	struct stat status;

	(void)state;
	for (size_t i = 0; i < ACCESS_LOG_MOST; i++)
		access_log_note(&path, O_RDWR);
	assert_int_equal(stat(log_name, &status), 0);
	assert_int_equal(seen + (size_t)status.st_size / strlen("r 2050 18446744073709551615 a\n"),
			 ACCESS_LOG_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_noted_without_an_absolute_name),
		cmocka_unit_test(test_what_an_open_can_have_read_and_written),
		cmocka_unit_test(test_what_is_no_file_of_the_directory_is_not_noted),
		cmocka_unit_test(test_the_longest_path_fits),
		cmocka_unit_test(test_the_log_is_not_created),
		/* The last one: from then on nothing is noted. */
		cmocka_unit_test(test_a_process_writes_so_many_lines),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
