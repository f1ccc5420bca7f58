/* Walks of real trees, in a fresh directory each. */
#include "base/walk.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];

static char *below(const char *name)
{
	return text_format("%s/%s", root, name);
}

static void make_directory(const char *name)
{
	auto_free char *path = below(name);

	assert_int_equal(file_make_directories(path, 0777, NULL), 0);
}

static void make_file(const char *name)
{
	auto_free char *path = below(name);

	assert_int_equal(file_write(path, "x", 1, NULL), 0);
}

static void make_link(const char *target, const char *name)
{
	auto_free char *path = below(name);

	assert_int_equal(symlink(target, path), 0);
}

static int begin(void **state)
{
	(void)state;
	strcpy(root, "/tmp/reprieve-test-walk-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return file_remove_tree(root, NULL);
}

/* The paths that were given, each in brackets, with "<" before one that is being left. */
static void note_path(char *seen, size_t capacity, const struct walk *walk)
{
	auto_free char *before = text_copy(seen);

	snprintf(seen, capacity, "%s[%s%s]", before, walk->leaving ? "<" : "", walk->path);
}

static void test_one_directory(void **state)
{
	auto_(walk_close) struct walk walk = {0};
	int files = 0, directories = 0, links = 0;

	(void)state;
	make_file("file");
	make_file(".hidden");
	make_directory("directory/deeper");
	make_link("directory", "link");
	assert_int_equal(walk_open(&walk, root, 0), 0);
	while (walk_next(&walk)) {
		struct stat status;

		assert_int_equal(walk.depth, 1);
		assert_string_equal(walk.path, walk.name);
		assert_int_equal(fstatat(walk.directory, walk.name, &status, AT_SYMLINK_NOFOLLOW),
				 0);
		assert_int_equal(walk_is_directory(&walk), S_ISDIR(status.st_mode));
		files += S_ISREG(status.st_mode);
		directories += S_ISDIR(status.st_mode);
		links += S_ISLNK(status.st_mode);
	}
	assert_int_equal(files, 2);
	assert_int_equal(directories, 1);
	assert_int_equal(links, 1);
	assert_int_equal(walk_check(&walk, NULL), 0);
	assert_false(walk_next(&walk));
}

static void test_whole_tree(void **state)
{
	auto_(walk_close) struct walk walk = {0};
	char seen[256] = "";

	(void)state;
	make_directory("a/b/c");
	make_file("a/b/c/file with a longer name than the path above it");
	assert_int_equal(walk_open(&walk, root, 0), 0);
	while (walk_next(&walk)) {
		note_path(seen, sizeof(seen), &walk);
		assert_false(walk.leaving);
		assert_true(text_ends(walk.path, walk.name));
		if (walk_is_directory(&walk)) {
			assert_int_equal(walk_enter(&walk), 0);
			/* The entry stays what it was. */
			assert_true(text_ends(walk.path, walk.name) && strlen(walk.name) == 1);
		} else {
			assert_int_equal(walk.depth, 4);
		}
	}
	assert_string_equal(seen, "[a][a/b][a/b/c][a/b/c/file with a longer name than the path "
				  "above it]");
}

static void test_leaving(void **state)
{
	auto_(walk_close) struct walk walk = {0};
	char seen[256] = "";

	(void)state;
	make_directory("a/b");
	make_file("a/b/c");
	assert_int_equal(walk_open(&walk, root, WALK_LEAVE), 0);
	while (walk_next(&walk)) {
		note_path(seen, sizeof(seen), &walk);
		assert_int_equal(walk.depth, strlen(walk.path) / 2 + 1);
		if (walk_is_directory(&walk) && !walk.leaving)
			assert_int_equal(walk_enter(&walk), 0);
	}
	assert_string_equal(seen, "[a][a/b][a/b/c][<a/b][<a]");
}

static void test_links_are_not_followed_unless_asked(void **state)
{
	auto_(walk_close) struct walk walk = {0}, follower = {0};
	char seen[256] = "";

	(void)state;
	make_link("/tmp", "link");
	assert_int_equal(walk_open(&walk, root, 0), 0);
	assert_true(walk_next(&walk));
	assert_false(walk_is_directory(&walk));
	assert_int_equal(walk_enter(&walk), -1);
	assert_true(errno == ENOTDIR || errno == ELOOP);
	/* What a directory says may be old, or nothing at all. */
	walk.type = 0;
	assert_false(walk_is_directory(&walk));
	assert_false(walk_next(&walk));

	auto_free char *link = below("link");
	assert_int_equal(unlink(link), 0);
	make_directory("elsewhere");
	make_file("elsewhere/file");
	make_link("elsewhere", "link");
	assert_int_equal(walk_open(&follower, root, WALK_FOLLOW), 0);
	while (walk_next(&follower))
		if (text_equal(follower.path, "link"))
			assert_int_equal(walk_enter(&follower), 0);
		else if (follower.depth == 2)
			note_path(seen, sizeof(seen), &follower);
	assert_string_equal(seen, "[link/file]");
}

static void test_roots(void **state)
{
	auto_(walk_close) struct walk missing = {0}, file = {0}, link = {0}, itself = {0};
	auto_free char *missing_path = below("missing"), *file_path = below("file"),
		       *link_path = below("link");

	(void)state;
	make_file("file");
	make_link(".", "link");
	assert_int_equal(walk_open(&missing, missing_path, 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_false(walk_next(&missing));
	assert_int_equal(walk_check(&missing, NULL), 0);
	assert_int_equal(walk_open(&file, file_path, 0), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(walk_open(&link, link_path, 0), 0);
	assert_true(walk_next(&link));
	assert_int_equal(walk_open(&itself, link_path, WALK_NO_LINK), -1);
	assert_false(walk_next(&itself));
}

static void test_what_vanishes_is_no_error(void **state)
{
	auto_(walk_close) struct walk walk = {0}, second = {0};
	auto_free char *path = below("a");

	(void)state;
	make_directory("a");
	assert_int_equal(walk_open(&walk, root, WALK_LEAVE), 0);
	assert_true(walk_next(&walk));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(walk_enter(&walk), 0);
	assert_false(walk_next(&walk));
	assert_int_equal(walk_check(&walk, NULL), 0);

	/* While it is being read. */
	make_directory("a");
	assert_int_equal(walk_open(&second, path, 0), 0);
	assert_int_equal(rmdir(path), 0);
	assert_false(walk_next(&second));
	assert_int_equal(walk_check(&second, NULL), 0);
}

static void test_what_cannot_be_entered(void **state)
{
	auto_(walk_close) struct walk walk = {0};
	auto_free char *path = below("closed");

	(void)state;
	make_directory("closed");
	assert_int_equal(chmod(path, 0), 0);
	assert_int_equal(walk_open(&walk, root, 0), 0);
	assert_true(walk_next(&walk));
	/* Root may read it all the same. */
	if (geteuid() != 0) {
		assert_int_equal(walk_enter(&walk), -1);
		assert_int_equal(errno, EACCES);
	}
	assert_false(walk_next(&walk));
	assert_int_equal(chmod(path, 0700), 0);
}

static void test_says_what_was_not_read_to_its_end(void **state)
{
	auto_(walk_close) struct walk walk = {0};
	auto_free char *path = below("a/b");
	auto_close int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct err err = {0};
	int entries = 0;

	(void)state;
	make_directory("a/b");
	make_file("a/b/c");
	make_file("a/d");
	assert_int_equal(walk_open(&walk, root, 0), 0);
	while (walk_next(&walk)) {
		entries++;
		if (walk_is_directory(&walk))
			assert_int_equal(walk_enter(&walk), 0);
		/* As if the disk failed: what the kernel gives next for this directory is an error.
		 */
		if (text_equal(walk.name, "c"))
			assert_int_equal(dup2(null, walk.directory), walk.directory);
	}
	assert_int_equal(entries, 4);
	assert_int_equal(walk_check(&walk, &err), -1);
	assert_true(text_starts(err.text, path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_directory, begin, end),
		cmocka_unit_test_setup_teardown(test_whole_tree, begin, end),
		cmocka_unit_test_setup_teardown(test_leaving, begin, end),
		cmocka_unit_test_setup_teardown(test_links_are_not_followed_unless_asked, begin,
						end),
		cmocka_unit_test_setup_teardown(test_roots, begin, end),
		cmocka_unit_test_setup_teardown(test_what_vanishes_is_no_error, begin, end),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_entered, begin, end),
		cmocka_unit_test_setup_teardown(test_says_what_was_not_read_to_its_end, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
