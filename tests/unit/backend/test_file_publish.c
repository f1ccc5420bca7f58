/* How a name is given once, on file systems of all kinds: link() and renameat2() are this
 * program's. */
#include "storage/backend/file_store.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALWAYS 1000

/* A file system. */
static struct {
	int link_error, rename_error; /* 0: it does it */
	int link_failures;            /* so often; then it does it */
	bool overwrites;              /* what it does spares nothing */
	bool looks_first;             /* a rename is made of a look and a rename */
	atomic_int links;
	char looked_at[256]; /* the newest name ... */
	atomic_int looks;    /* ... and how often */
} disk;

static pthread_mutex_t disk_mutex = PTHREAD_MUTEX_INITIALIZER;

static int do_rename(const char *from, const char *to)
{
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int link(const char *from, const char *to)
{
	if (atomic_fetch_add(&disk.links, 1) < disk.link_failures) {
		errno = disk.link_error;
		return -1;
	}
	if (disk.overwrites)
		unlink(to);
	return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Both have looked before one of them renames. */
static int look_and_rename(const char *from, const char *to)
{
	if (file_exists(to)) {
		errno = EEXIST;
		return -1;
	}
	pthread_mutex_lock(&disk_mutex);
	if (strcmp(disk.looked_at, to) != 0)
		atomic_store(&disk.looks, 0);
	snprintf(disk.looked_at, sizeof(disk.looked_at), "%s", to);
	atomic_fetch_add(&disk.looks, 1);
	pthread_mutex_unlock(&disk_mutex);
	for (int i = 0; i < 2000 && atomic_load(&disk.looks) < 2; i++)
		sched_yield();
	return do_rename(from, to);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	assert_int_equal(from_fd, AT_FDCWD);
	assert_int_equal(to_fd, AT_FDCWD);
	assert_int_equal(flags, RENAME_NOREPLACE);
	if (disk.rename_error) {
		errno = disk.rename_error;
		return -1;
	}
	if (disk.overwrites)
		return do_rename(from, to);
	if (disk.looks_first)
		return look_and_rename(from, to);
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

static char root[] = "/tmp/reprieve-test.XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(root) ? chdir(root) : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return file_remove_tree(root, NULL);
}

static void make(const char *name, const char *text)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* What lacks links gets the name by a rename. All else is an error, and is said to be that one. */
static void test_how_a_name_is_given(void **state)
{
	static const struct {
		int link_error, rename_error;
		bool taken;
		int error; /* 0: the name is given */
	} rows[] = {
		{0, 0, false, 0},
		{0, 0, true, EEXIST},
		{EPERM, 0, false, 0},
		{EOPNOTSUPP, 0, false, 0},
		{ENOSYS, 0, false, 0},
		{EMLINK, 0, false, 0},
		{EXDEV, 0, false, 0},
		{EIO, 0, false, 0},
		{EPERM, 0, true, EEXIST},
		{EIO, 0, true, EEXIST},
		{EACCES, 0, false, EACCES},
		{ENOSPC, 0, false, ENOSPC},
		{EROFS, 0, false, EROFS},
		{EPERM, EINVAL, false, EINVAL},
		{EPERM, ENOSYS, false, EINVAL},
		{EPERM, EOPNOTSUPP, false, EINVAL},
		{EPERM, ENOSPC, false, ENOSPC},
		{EPERM, EIO, false, EIO},
		/* It was a passing error, of a file system that has links. */
		{EIO, EINVAL, false, EIO},
		{EIO, ENOSYS, false, EIO},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(bytes_release) struct bytes found = {0};
		int result;

		memset(&disk, 0, sizeof(disk));
		disk.link_error = rows[i].link_error;
		disk.rename_error = rows[i].rename_error;
		disk.link_failures = rows[i].link_error ? ALWAYS : 0;
		(void)unlink("name");
		make("temporary", "new");
		if (rows[i].taken)
			make("name", "old");
		errno = 0;
		result = file_publish_if_absent("temporary", "name");
		if (result != (rows[i].error ? -1 : 0) || (result < 0 && errno != rows[i].error))
			fail_msg("row %zu: %s", i, strerror(errno));
		/* Whoever was first has it. */
		assert_int_equal(file_exists("name"), rows[i].taken || !rows[i].error);
		if (file_exists("name")) {
			assert_int_equal(file_read("name", &found, NULL), 0);
			assert_int_equal(found.size, 3);
			assert_memory_equal(found.data, rows[i].taken ? "old" : "new", 3);
		}
	}
}

static size_t count_files(void)
{
	DIR *directory = opendir(".");
	size_t count = 0;

	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

static void test_which_file_systems_can_hold_a_store(void **state)
{
	static const struct {
		const char *what;
		int link_error, link_failures, rename_error;
		bool overwrites, looks_first;
		const char *refused; /* NULL: it can, or it cannot be tried */
	} rows[] = {
		{"ext4", 0, 0, 0, false, false, NULL},
		{"no links", EPERM, ALWAYS, 0, false, false, NULL},
		{"no links, and says EIO", EIO, ALWAYS, 0, false, false, NULL},
		{"neither", EPERM, ALWAYS, EINVAL, false, false, "neither hard links nor"},
		{"neither, and says EIO", EIO, ALWAYS, EINVAL, false, false,
		 "neither hard links nor"},
		{"fails once", EIO, 1, EINVAL, false, false, NULL},
		{"is full", ENOSPC, ALWAYS, 0, false, false, NULL},
		{"may not be written to", EACCES, ALWAYS, EINVAL, false, false, NULL},
		{"links over others", 0, 0, 0, true, false, "a second time"},
		{"renames over others", EPERM, ALWAYS, 0, true, false, "a second time"},
		{"looks before it renames", EPERM, ALWAYS, 0, false, true, "at the same time"},
		{"looks, but has links", 0, 0, 0, false, true, NULL},
	};

	(void)state;
	(void)unlink("name");
	(void)unlink("temporary");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		int result;

		memset(&disk, 0, sizeof(disk));
		disk.link_error = rows[i].link_error;
		disk.link_failures = rows[i].link_failures;
		disk.rename_error = rows[i].rename_error;
		disk.overwrites = rows[i].overwrites;
		disk.looks_first = rows[i].looks_first;
		result = file_publish_prove(root, &err);
		if ((result < 0) != (rows[i].refused != NULL))
			fail_msg("%s: %s", rows[i].what, err.text);
		if (result < 0) {
			assert_int_equal(err.kind, ERR_UNFIT);
			assert_non_null(strstr(err.text, rows[i].refused));
		}
		assert_int_equal(count_files(), 0);
	}
	assert_int_equal(file_publish_prove("/none/such", NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_a_name_is_given),
		cmocka_unit_test(test_which_file_systems_can_hold_a_store),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
