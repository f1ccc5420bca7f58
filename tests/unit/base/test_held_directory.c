/* Which links lead to a directory that is held, and which folder that was found is used. */
#include "base/held_directory.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include "unit.h"

#include "without_openat2.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void sh(const char *text)
{
	auto_free char *command = text_format("cd '%s' && %s", root, text);

	assert_int_equal(system(command), 0);
}

static int begin(void **state)
{
	(void)state;
	strcpy(root, "/tmp/reprieve-test-held-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	sh("mkdir -p real/deep && echo x > file && ln -s real link && ln -s \"$PWD/real\" absolute "
	   "&& ln -s link/deep/.. chain && ln -s loop loop && ln -s nowhere dangling");
	return 0;
}

static int end(void **state)
{
	(void)state;
	return file_remove_tree(root, NULL);
}

/* The name in the root that the path leads to, or the kind of the error. */
static void assert_leads(const char *path, const char *to, enum err_kind kind)
{
	auto_free char *whole = text_format("%s/%s", root, path);
	auto_free char *target = text_format("%s/%s", root, to ? to : "");
	struct err err = {0};
	auto_close int fd = held_directory_open(whole, &err);

	if ((fd >= 0) != (to != NULL) || err.kind != kind ||
	    (to && !held_directory_is_at(fd, target)))
		fail_msg("%s: %s", path, err.text);
}

static void test_links_of_this_user_are_followed(void **state)
{
	static const struct {
		const char *path, *to;
		enum err_kind kind;
	} rows[] = {
		{"real", "real", 0},
		{"real/deep", "real/deep", 0},
		{"link", "real", 0},
		{"link/deep", "real/deep", 0},
		{"absolute/deep", "real/deep", 0},
		{"chain", "real", 0},
		{"chain/deep/", "real/deep", 0},
		{"real/../link", "real", 0},
		{"none", NULL, ERR_NOT_FOUND},
		{"dangling", NULL, ERR_NOT_FOUND},
		{"link/none", NULL, ERR_NOT_FOUND},
		{"file", NULL, ERR_FAILED},
		{"loop", NULL, ERR_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_leads(rows[i].path, rows[i].to, rows[i].kind);
}

static void test_makes_what_is_missing(void **state)
{
	static const char *const rows[] = {"a/b/c", "link/new", "real/x/y", "real"};
	auto_free char *dangling = text_format("%s/dangling/x", root);
	auto_free char *file = text_format("%s/file/x", root);
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *whole = text_format("%s/%s", root, rows[i]);
		auto_close int fd = held_directory_make(whole, 0755, &err);

		assert_true(fd >= 0 && held_directory_is_at(fd, whole));
	}
	assert_int_equal(held_directory_make(dangling, 0755, &err), -1);
	assert_int_equal(held_directory_make(file, 0755, &err), -1);
	assert_non_null(strstr(err.text, "cannot make directory"));
	sh("test -d real/new && test ! -e nowhere");
}

/* Of three users: root, who runs it; the job's; and a third. */
static void test_a_link_of_another_user_leads_to_his_own_at_most(void **state)
{
	static const struct {
		int link, target;
		bool leads;
	} rows[] = {
		{0, 0, true},      {0, 65534, true},      {65534, 65534, true},
		{65534, 0, false}, {65534, 65533, false}, {65533, 65534, false},
	};
	auto_free char *above = text_format("%s/turn/new", root);

	(void)state;
	if (geteuid() != 0)
		skip();
	sh("mkdir -p target/deep");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *owners =
			text_format("rm -f turn && ln -s target turn && chown -h %d turn && "
				    "chown %d target target/deep",
				    rows[i].link, rows[i].target);
		auto_close int made = -1;

		sh(owners);
		assert_leads("turn", rows[i].leads ? "target" : NULL,
			     rows[i].leads ? ERR_NONE : ERR_DENIED);
		assert_leads("turn/deep", rows[i].leads ? "target/deep" : NULL,
			     rows[i].leads ? ERR_NONE : ERR_DENIED);
		made = held_directory_make(above, 0755, NULL);
		assert_int_equal(made >= 0, rows[i].leads);
		sh(rows[i].leads ? "rmdir target/new" : "test ! -e target/new");
	}
}

/* Becomes another user in a directory that only root may enter. */
static void test_an_absolute_path_asks_nothing_of_the_working_directory(void **state)
{
	auto_free char *path = text_format("%s/absolute/deep/made", root);
	auto_close int back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err err = {0};
	int made, linked;

	(void)state;
	if (geteuid() != 0)
		skip();
	sh("chmod 0755 . && chmod 0777 real/deep && mkdir -m 0700 closed");
	assert_int_equal(chdir(root), 0);
	assert_int_equal(chdir("closed"), 0);
	assert_int_equal(seteuid(64001), 0);
	made = held_directory_make(path, 0755, &err);
	linked = held_directory_open(path, NULL);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(fchdir(back), 0);
	if (made < 0)
		fail_msg("%s", err.text);
	assert_true(linked >= 0);
	close(made);
	close(linked);
}

/* A file that is written for others: what is said where it cannot be opened. */
static void test_why_a_file_is_not_opened(void **state)
{
	static const struct {
		const char *path;
		enum err_kind kind;
		const char *says;
	} rows[] = {
		{"to-file", 0, NULL},
		{"to-new", 0, NULL},
		{"to-missing", ERR_NOT_FOUND, "No such file"},
		{"to-below-file", ERR_FAILED, "Not a directory"},
		{"loop", ERR_FAILED, "symbolic links"},
		{"to-loop", ERR_FAILED, "symbolic links"},
		{"theirs", ERR_DENIED, "a link of another user, and is not followed"},
		{"to-theirs", ERR_DENIED, "a link of another user, and is not followed"},
		{"nobodys", ERR_DENIED, "that may be root outside of it"},
		{"through", ERR_DENIED, "through a link of user 64001 to"},
	};

	(void)state;
	if (geteuid() != 0)
		skip();
	sh("ln -s file to-file; ln -s new to-new; ln -s missing/x to-missing; "
	   "ln -s file/x to-below-file; ln -s loop/x to-loop; ln -s file theirs; "
	   "ln -s theirs to-theirs; ln -s file nobodys; ln -s real turn; ln -s turn/x through; "
	   "chown -h 64001 theirs turn; chown -h $(cat /proc/sys/kernel/overflowuid) nobodys");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *path = text_format("%s/%s", root, rows[i].path);
		struct err err = {0};
		auto_close int fd = held_directory_open_file(path, O_WRONLY | O_CREAT, 0600, &err);

		if ((fd >= 0) != !rows[i].says || err.kind != rows[i].kind ||
		    (rows[i].says && !strstr(err.text, rows[i].says)))
			fail_msg("%s: %s", rows[i].path, err.text);
	}
	sh("test \"$(cat file)\" = x && test -e new");
}

static void test_a_renamed_directory_is_not_where_it_was(void **state)
{
	auto_free char *path = text_format("%s/real", root);
	auto_close int fd = held_directory_open(path, NULL);

	(void)state;
	assert_true(held_directory_is_at(fd, path));
	sh("mv real away && mkdir real");
	assert_false(held_directory_is_at(fd, path));
}

static void test_which_folder_is_used(void **state)
{
	static const struct {
		mode_t folder, directory;
		uid_t folder_owner, directory_owner;
		bool used;
	} rows[] = {
		{S_IFDIR | 0700, S_IFDIR | 0755, 7, 7, true},
		/* root works for user 8, whose folder it is */
		{S_IFDIR | 0700, S_IFDIR | 0755, 8, 8, true},
		{S_IFDIR | 0700, S_IFDIR | 0755, 7, 8, true},
		{S_IFDIR | 0700, S_IFDIR | 0755, 9, 8, false},
		{S_IFDIR | 0777, S_IFDIR | 0755, 9, 7, false},
		/* open to others */
		{S_IFDIR | 0777, S_IFDIR | 0755, 7, 7, false},
		{S_IFDIR | 0770, S_IFDIR | 0750, 7, 7, false},
		{S_IFDIR | 0777, S_IFDIR | 01777, 7, 7, false},
		/* as everything there is */
		{S_IFDIR | 0777, S_IFDIR | 0777, 7, 7, true},
		{S_IFDIR | 0770, S_IFDIR | 0770, 7, 7, true},
		{S_IFDIR | 0777, S_IFDIR | 0770, 7, 7, false},
		{S_IFLNK | 0777, S_IFDIR | 0777, 7, 7, false},
		{S_IFREG | 0600, S_IFDIR | 0755, 7, 7, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct stat folder = {.st_mode = rows[i].folder,
					    .st_uid = rows[i].folder_owner};
		const struct stat directory = {.st_mode = rows[i].directory,
					       .st_uid = rows[i].directory_owner};

		if (held_directory_is_private(&folder, &directory, 7) != rows[i].used)
			fail_msg("row %zu", i);
	}
}

static int run_all(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_links_of_this_user_are_followed, begin, end),
		cmocka_unit_test_setup_teardown(test_makes_what_is_missing, begin, end),
		cmocka_unit_test_setup_teardown(
			test_a_link_of_another_user_leads_to_his_own_at_most, begin, end),
		cmocka_unit_test_setup_teardown(
			test_an_absolute_path_asks_nothing_of_the_working_directory, begin, end),
		cmocka_unit_test_setup_teardown(test_why_a_file_is_not_opened, begin, end),
		cmocka_unit_test_setup_teardown(test_a_renamed_directory_is_not_where_it_was, begin,
						end),
		cmocka_unit_test(test_which_folder_is_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return run_with_and_without_openat2(run_all);
}
