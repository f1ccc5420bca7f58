/* Files that are opened as one checkpoint, with fewer descriptors than files. */
#include "storage/transfer/reading.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/file.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define FILES 200
#define DESCRIPTORS 128

/* --- a clock that stands still until somebody waits --- */

static bool stands;
static struct timespec stood;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (syscall(SYS_clock_gettime, clock, time) < 0)
		return -1;
	if (stands && clock == CLOCK_REALTIME_COARSE)
		*time = stood;
	return 0;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	struct timespec limit = {timeout / 1000, timeout % 1000 * 1000000L};

	stands = false;
	return ppoll(fds, count, timeout < 0 ? NULL : &limit, NULL);
}

/* --- the test --- */

static void name_file(const char *root, int number, char path[96])
{
	snprintf(path, 96, "%s/f%03d", root, number);
}

/* It is the moment in which the file was written, until somebody waits. */
static void stop_clock(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	stood = status.st_ctim;
	stands = true;
}

/* Asked of each file right before it is opened: the one before it is stamped, and closed again. */
static bool replace_the_one_before(void *arg, const char *path)
{
	char before[96];
	struct err err;

	if (strcmp(path, "f151") != 0)
		return false;
	name_file(arg, 150, before);
	stop_clock(before);
	assert_int_equal(file_replace(before, "longer", 6, &err), 0);
	return false;
}

static bool make_a_directory_of_the_one_before(void *arg, const char *path)
{
	char before[96];

	if (strcmp(path, "f151") != 0)
		return false;
	name_file(arg, 150, before);
	stop_clock(before);
	assert_int_equal(unlink(before), 0);
	assert_int_equal(mkdir(before, 0755), 0);
	return false;
}

static void append_longer(const char *path)
{
	FILE *file = fopen(path, "a");

	assert_non_null(file);
	fputs("longer", file);
	assert_int_equal(fclose(file), 0);
}

/* And to the very first one. */
static bool append_to_the_one_before(void *arg, const char *path)
{
	char before[96];

	if (strcmp(path, "f151") != 0)
		return false;
	name_file(arg, 150, before);
	stop_clock(before);
	append_longer(before);
	name_file(arg, 0, before);
	append_longer(before);
	return false;
}

static int open_with_few_descriptors(char *root, bool (*running)(void *arg, const char *path),
				     struct file_tree *tree, struct err *err)
{
	struct file_tree_choice choice = {.running = running, .arg = root};
	struct rlimit before, low;
	char path[96];
	int result;

	assert_non_null(mkdtemp(root));
	for (int i = 0; i < FILES; i++) {
		name_file(root, i, path);
		assert_int_equal(file_replace(path, "x", 1, err), 0);
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = DESCRIPTORS;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	result = file_tree_open(root, &choice, tree, NULL, err);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	return result;
}

/* A write within the tick of the clock in which the file was stamped leaves its times as they are:
 * so all are stamped again after the tick. */
static void test_a_file_without_a_descriptor_is_stamped_again(void **state)
{
	char root[] = "/tmp/file-tree-XXXXXX";
	struct file_tree tree;
	struct err err;

	(void)state;
	assert_int_equal(open_with_few_descriptors(root, append_to_the_one_before, &tree, &err), 0);
	assert_int_equal(tree.count, FILES);
	assert_true(tree.items[0].fd >= 0);
	assert_true(tree.items[150].fd < 0);
	assert_int_equal(tree.items[150].entry.size, 7);
	assert_int_equal(tree.items[150].stamp.size, 7);
	assert_int_equal(tree.items[0].stamp.size, 7);
	assert_int_equal(tree.items[149].stamp.size, 1);
	file_tree_release(&tree);
	assert_int_equal(file_remove_tree(root, &err), 0);
}

/* One that was replaced is of the next checkpoint, whatever it was replaced by. */
static void test_a_file_without_a_descriptor_that_is_replaced(void **state)
{
	static bool (*const replace[])(void *arg, const char *path) = {
		replace_the_one_before,
		make_a_directory_of_the_one_before,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(replace) / sizeof(replace[0]); i++) {
		char root[] = "/tmp/file-tree-XXXXXX";
		struct file_tree tree;
		struct err err;

		assert_int_equal(open_with_few_descriptors(root, replace[i], &tree, &err), -1);
		assert_int_equal(err.kind, ERR_RETRY);
		assert_int_equal(file_remove_tree(root, &err), 0);
	}
}

/* --- attributes --- */

/* Anybody may set those of users; the others carry privileges, and are the machine's own. */
static void test_attributes_of_users_alone(void **state)
{
	char root[] = "/tmp/file-tree-XXXXXX", path[96];
	struct file_tree tree = {0};
	const struct entry *entry;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(root));
	name_file(root, 1, path);
	assert_int_equal(file_replace(path, "a", 1, &err), 0);
	if (setxattr(path, "user.b", "value", 5, 0) < 0 ||
	    setxattr(root, "user.of the root", "", 0, 0) < 0) {
		assert_int_equal(file_remove_tree(root, &err), 0);
		skip(); /* the file system has none */
	}
	assert_int_equal(setxattr(path, "user.a", "", 0, 0), 0);
	/* Only root may. */
	if (setxattr(path, "trusted.c", "c", 1, 0) < 0)
		assert_true(geteuid() != 0 || errno == EPERM || errno == EOPNOTSUPP);
	assert_int_equal(file_tree_open(root, NULL, &tree, NULL, &err), 0);
	assert_int_equal(tree.count, 1);
	entry = &tree.items[0].entry;
	assert_int_equal(entry->xattr_count, 2);
	for (size_t i = 0; i < entry->xattr_count; i++) {
		bool has_value = strcmp(entry->xattrs[i].name, "user.b") == 0;

		assert_true(has_value || strcmp(entry->xattrs[i].name, "user.a") == 0);
		assert_int_equal(entry->xattrs[i].value.size, has_value ? 5 : 0);
		if (has_value)
			assert_memory_equal(entry->xattrs[i].value.data, "value", 5);
	}
	file_tree_release(&tree);
	assert_int_equal(file_remove_tree(root, &err), 0);
}

/* What this file system or this user may not have is left out, and nothing else is. */
static void test_attributes_are_restored(void **state)
{
	static char names[3][16] = {"user.a", "nobody.b", "user.c"};
	char root[] = "/tmp/file-tree-XXXXXX", path[96], value[8];
	struct entry_xattr xattrs[3];
	struct entry entry = {.path = names[0],
			      .mode = 0640,
			      .mtime_s = 1700000000,
			      .xattrs = xattrs,
			      .xattr_count = 3};
	auto_close int fd = -1;
	struct stat status;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(root));
	name_file(root, 1, path);
	assert_int_equal(file_replace(path, "a", 1, &err), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fsetxattr(fd, "user.z", "", 0, 0) < 0) {
		assert_int_equal(file_remove_tree(root, &err), 0);
		skip(); /* the file system has none */
	}
	for (int i = 0; i < 3; i++)
		xattrs[i] =
			(struct entry_xattr){names[i], {.data = (uint8_t *)names[i], .size = 6}};
	assert_int_equal(file_tree_apply_metadata(fd, &entry, &err), 0);
	assert_int_equal(fgetxattr(fd, "user.a", value, sizeof(value)), 6);
	assert_memory_equal(value, "user.a", 6);
	assert_int_equal(fgetxattr(fd, "user.c", value, sizeof(value)), 6);
	assert_memory_equal(value, "user.c", 6);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_int_equal(status.st_mtime, 1700000000);
	assert_int_equal(file_remove_tree(root, &err), 0);
}

static bool is_no_old(void *arg, const char *path)
{
	(void)arg;
	return !text_equal(path, "old");
}

/* A directory in which no file is left; one that has any below it stays. */
static void test_bare_directories_are_dropped(void **state)
{
	static const struct {
		const char *path;
		enum entry_type type;
		bool dropped, stays;
	} rows[] = {
		{"a", ENTRY_DIRECTORY, false, false},   {"a/b", ENTRY_DIRECTORY, false, false},
		{"a/b/x", ENTRY_FILE, true, false},     {"c", ENTRY_DIRECTORY, false, true},
		{"c/d", ENTRY_DIRECTORY, false, true},  {"c/d/y", ENTRY_FILE, false, true},
		{"c/e", ENTRY_DIRECTORY, false, false}, {"cd", ENTRY_DIRECTORY, false, false},
		{"cde", ENTRY_FILE, false, true},       {"old", ENTRY_DIRECTORY, false, true},
	};
	struct file_tree_item items[sizeof(rows) / sizeof(rows[0])] = {0};
	struct file_tree tree = {.items = items, .count = sizeof(rows) / sizeof(rows[0])};

	(void)state;
	for (size_t i = 0; i < tree.count; i++) {
		items[i].entry.path = (char *)(uintptr_t)rows[i].path;
		items[i].entry.type = rows[i].type;
		items[i].dropped = rows[i].dropped;
	}
	file_tree_drop_bare_directories(&tree, is_no_old, NULL);
	for (size_t i = 0; i < tree.count; i++)
		if (items[i].dropped == rows[i].stays)
			fail_msg("%s", rows[i].path);
}

/* --- the freeze --- */

static bool is_every(void *arg, const char *path)
{
	(void)arg, (void)path;
	return true;
}

/* The question must not stand in a writer's way: a lease that stayed would hold up its open. */
static void test_asking_for_writers(void **state)
{
	char root[] = "/tmp/file-tree-XXXXXX", path[96];
	auto_close int reader = -1;
	struct err err;
	int writer;

	(void)state;
	assert_non_null(mkdtemp(root));
	name_file(root, 1, path);
	assert_int_equal(file_replace(path, "a", 1, &err), 0);
	reader = open(path, O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		assert_false(file_tree_has_writers(reader));
		writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		assert_true(writer >= 0);
		assert_true(file_tree_has_writers(reader));
		close(writer);
	}
	assert_int_equal(file_remove_tree(root, &err), 0);
}

/* Its place was taken by another one between the opening and the freeze: what the freeze finds is
 * of the next checkpoint. */
static void test_a_running_file_that_is_replaced(void **state)
{
	const struct file_tree_choice choice = {.running = is_every};

	(void)state;
	for (int held = 0; held < 2; held++) {
		char root[] = "/tmp/file-tree-XXXXXX", path[96];
		struct file_tree tree = {0};
		struct err err;

		assert_non_null(mkdtemp(root));
		name_file(root, 1, path);
		assert_int_equal(file_replace(path, "a", 1, &err), 0);
		assert_int_equal(file_tree_open(root, &choice, &tree, NULL, &err), 0);
		if (!held)
			close(steal_fd(&tree.items[0].fd));
		assert_int_equal(file_replace(path, "bc", 2, &err), 0);
		file_tree_freeze(&tree, &choice);
		/* As long as it is held, it is still there. */
		assert_int_equal(tree.count, held);
		assert_int_equal(tree.lost, !held);
		if (held)
			assert_int_equal(tree.items[0].entry.size, 1);
		file_tree_release(&tree);
		assert_int_equal(file_remove_tree(root, &err), 0);
	}
}

static int copies;

static const char *copy_of(void *arg, const char *path)
{
	return strcmp(path, "f001") == 0 ? arg : NULL;
}

static int directory_of_copies(void *arg)
{
	(void)arg;
	return copies;
}

/* In place of a database its copy is read, under the name, mode and time of the original. */
static void test_what_is_read_from_elsewhere(void **state)
{
	static const char *const names[] = {"copy", "not there"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char root[] = "/tmp/file-tree-XXXXXX", path[96], text[5] = "";
		char away[] = "/tmp/file-tree-copies-XXXXXX", copy[96];
		const struct file_tree_choice choice = {
			.source = copy_of,
			.source_directory = directory_of_copies,
			.arg = (void *)names[i],
		};
		struct file_tree tree = {0};
		struct stat original;
		struct err err;

		assert_non_null(mkdtemp(root));
		assert_non_null(mkdtemp(away));
		name_file(root, 1, path);
		snprintf(copy, sizeof(copy), "%s/copy", away);
		assert_int_equal(file_replace(path, "original", 8, &err), 0);
		assert_int_equal(file_replace(copy, "copy", 4, &err), 0);
		assert_int_equal(stat(path, &original), 0);
		copies = open(away, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_int_equal(file_tree_open(root, &choice, &tree, NULL, &err), 0);
		file_tree_freeze(&tree, &choice);
		close(copies);
		assert_int_equal(tree.count, i == 0);
		assert_int_equal(tree.lost, i != 0);
		if (tree.count) {
			const struct file_tree_item *item = &tree.items[0];

			assert_string_equal(item->entry.path, "f001");
			assert_true(item->entry.running && item->unsettled);
			assert_int_equal(item->entry.size, 4);
			assert_int_equal(item->entry.mtime_s, original.st_mtim.tv_sec);
			assert_int_equal(pread(item->fd, text, sizeof(text), 0), 4);
			assert_string_equal(text, "copy");
		}
		file_tree_release(&tree);
		assert_int_equal(file_remove_tree(root, &err), 0);
		assert_int_equal(file_remove_tree(away, &err), 0);
	}
}

/* A write that is under way does not show in the times of the file. */
static void test_a_running_file_that_is_open_for_writing(void **state)
{
	const struct file_tree_choice choice = {.running = is_every};

	(void)state;
	for (int writes = 0; writes < 2; writes++) {
		char root[] = "/tmp/file-tree-XXXXXX", path[96];
		auto_close int writer = -1;
		struct file_tree tree = {0};
		struct err err;

		assert_non_null(mkdtemp(root));
		name_file(root, 1, path);
		assert_int_equal(file_replace(path, "a", 1, &err), 0);
		/* long ago */
		stop_clock(path);
		stood.tv_sec++;
		if (writes)
			writer = open(path, O_WRONLY | O_CLOEXEC);
		assert_int_equal(file_tree_open(root, &choice, &tree, NULL, &err), 0);
		file_tree_freeze(&tree, &choice);
		assert_int_equal(tree.count, 1);
		assert_true(tree.items[0].entry.running);
		assert_int_equal(tree.items[0].unsettled, writes);
		stands = false;
		file_tree_release(&tree);
		assert_int_equal(file_remove_tree(root, &err), 0);
	}
}

/* It is saved with the prefix that it had, and is known again only where it has that alone. */
static void test_a_running_file_that_is_opened_later(void **state)
{
	const struct file_tree_choice choice = {.running = is_every};
	char root[] = "/tmp/file-tree-XXXXXX", path[96];
	struct file_tree tree = {0};
	struct file_stamp stamp;
	struct err err;
	FILE *log;

	(void)state;
	assert_non_null(mkdtemp(root));
	name_file(root, 1, path);
	assert_int_equal(file_replace(path, "a", 1, &err), 0);
	assert_int_equal(file_tree_open(root, &choice, &tree, NULL, &err), 0);
	file_tree_freeze(&tree, &choice);
	stamp = tree.items[0].stamp;
	close(tree.items[0].fd);
	log = fopen(path, "ae");
	assert_non_null(log);
	fputc('b', log);
	assert_int_equal(fclose(log), 0);
	assert_int_equal(file_tree_open_file(&tree, &tree.items[0], &err), 0);
	assert_true(tree.items[0].fd >= 0);
	assert_int_equal(tree.items[0].entry.size, 1);
	assert_memory_equal(&tree.items[0].stamp, &stamp, sizeof(stamp));
	file_tree_release(&tree);
	assert_int_equal(file_remove_tree(root, &err), 0);
}

static bool is_first(void *arg, const char *path)
{
	return *(const bool *)arg && strcmp(path, "f001") == 0;
}

/* What was to be saved and is not: what is left out anyway is no loss. */
static void test_what_counts_as_lost(void **state)
{
	static const struct {
		bool lost, dropped;
	} rows[] = {{false, false}, {true, false}, {true, true}, {false, true}};
	struct file_tree tree = {.count = 4, .root_fd = -1};

	(void)state;
	tree.items = memory_new(tree.count * sizeof(*tree.items));
	for (size_t i = 0; i < tree.count; i++)
		tree.items[i] = (struct file_tree_item){
			.fd = -1,
			.entry = {.path = text_format("%zu", i), .type = ENTRY_FILE},
			.lost = rows[i].lost,
			.dropped = rows[i].dropped,
		};
	file_tree_remove_dropped(&tree);
	assert_int_equal(tree.lost, 1);
	assert_int_equal(tree.count, 1);
	assert_string_equal(tree.items[0].entry.path, "0");
	file_tree_release(&tree);
}

/* What is a link is decided once it is known what is dropped. */
static void test_a_link_to_what_is_dropped(void **state)
{
	(void)state;
	for (int drops = 0; drops < 2; drops++) {
		bool first = false;
		const struct file_tree_choice choice = {.exclude = is_first, .arg = &first};
		char root[] = "/tmp/file-tree-XXXXXX", path[96], other[96];
		struct file_tree tree = {0};
		struct err err;

		assert_non_null(mkdtemp(root));
		name_file(root, 1, path);
		name_file(root, 2, other);
		assert_int_equal(file_replace(path, "a", 1, &err), 0);
		assert_int_equal(link(path, other), 0);
		assert_int_equal(file_tree_open(root, &choice, &tree, NULL, &err), 0);
		assert_int_equal(tree.count, 2);
		first = drops;
		file_tree_freeze(&tree, &choice);
		assert_int_equal(tree.count, 2 - drops);
		assert_string_equal(tree.items[1 - drops].entry.path, "f002");
		assert_int_equal(tree.items[1 - drops].entry.type,
				 drops ? ENTRY_FILE : ENTRY_HARDLINK);
		file_tree_release(&tree);
		assert_int_equal(file_remove_tree(root, &err), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_without_a_descriptor_is_stamped_again),
		cmocka_unit_test(test_a_file_without_a_descriptor_that_is_replaced),
		cmocka_unit_test(test_attributes_of_users_alone),
		cmocka_unit_test(test_attributes_are_restored),
		cmocka_unit_test(test_bare_directories_are_dropped),
		cmocka_unit_test(test_asking_for_writers),
		cmocka_unit_test(test_a_running_file_that_is_replaced),
		cmocka_unit_test(test_what_is_read_from_elsewhere),
		cmocka_unit_test(test_a_running_file_that_is_open_for_writing),
		cmocka_unit_test(test_a_running_file_that_is_opened_later),
		cmocka_unit_test(test_what_counts_as_lost),
		cmocka_unit_test(test_a_link_to_what_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
