/* Hostile trees: whatever lies below a held directory, nothing outside is read, made or removed. */
#include "base/beneath.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/walk.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* in/ is held; out/ is what nobody may come to. */
static char root[64];
static int held;

static void sh(const char *text)
{
	auto_free char *command = text_format("cd '%s' && %s", root, text);

	assert_int_equal(system(command), 0);
}

/* What out/ is now: names and contents. */
static void assert_outside_is_untouched(void)
{
	sh("test \"$(cd out && find . | sort | tr '\\n' ' ')$(cat out/secret)\" = "
	   "'. ./keep ./keep/file ./secret out'");
}

static int begin(void **state)
{
	auto_free char *in = NULL;

	(void)state;
	strcpy(root, "/tmp/reprieve-test-beneath-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	sh("mkdir -p in/sub in/empty out/keep && echo in > in/file && echo in > in/sub/secret && "
	   "echo out > out/secret && echo out > out/keep/file && mkfifo in/fifo && "
	   "ln -s ../out in/link && ln -s ../out/secret in/link-to-file && ln -s sub in/inside && "
	   "ln -s \"$PWD/out\" in/absolute && ln -s ../../out in/sub/link && ln -s / in/root && "
	   "ln -s nowhere in/dangling && ln -s ../out/new in/dangling-out");
	in = text_format("%s/in", root);
	held = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return held < 0 ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	close(held);
	return file_remove_tree(root, NULL);
}

/* Ways out of the directory, and past a link in it; the last component need not exist. */
static const char *const ways[] = {
	"link/secret",          "link/keep/file",  "absolute/secret",
	"sub/link/secret",      "inside/secret",   "../out/secret",
	"sub/../../out/secret", "sub/..",          "..",
	"/etc/passwd",          "root/etc/passwd", "dangling/x",
	"dangling-out/x",       "file/x",          "fifo/x",
	"link/../file",
};

static void test_opens_what_lies_below(void **state)
{
	static const struct {
		const char *path;
		bool opens;
	} rows[] = {
		{"file", true},  {"sub/secret", true},    {"./file", true},
		{"link", false}, {"link-to-file", false}, {"inside", false},
		{"root", false}, {"dangling", false},     {"", false},
		{"none", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_close int fd = beneath_open(held, rows[i].path, O_RDONLY, 0);

		if ((fd >= 0) != rows[i].opens)
			fail_msg("%s", rows[i].path);
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (beneath_open(held, ways[i], O_RDONLY | O_NONBLOCK, 0) >= 0)
			fail_msg("%s", ways[i]);
}

static void test_no_operation_leads_out(void **state)
{
	struct stat status;
	char target[8];

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		const char *path = ways[i];
		auto_(bytes_release) struct bytes text = {0};
		auto_(walk_close) struct walk walk = {0};

		if (beneath_status(held, path, &status) == 0 || beneath_exists(held, path) ||
		    beneath_is_directory(held, path) || beneath_is_other(held, path) ||
		    beneath_read_link(held, path, target, sizeof(target)) >= 0 ||
		    beneath_make_directory(held, path, 0777) == 0 ||
		    beneath_make_directories(held, path, 0777, NULL) == 0 ||
		    beneath_remove(held, path, 0) == 0 ||
		    beneath_remove(held, path, AT_REMOVEDIR) == 0 ||
		    beneath_rename(held, "file", held, path) == 0 ||
		    beneath_rename(held, path, held, "taken") == 0 ||
		    beneath_rename_anyway(held, path, held, "taken") == 0 ||
		    beneath_link(held, "file", held, path) == 0 ||
		    beneath_link(held, path, held, "taken") == 0 ||
		    beneath_read(held, path, &text, NULL) == 0 ||
		    beneath_replace(held, path, "x", 1, true, NULL) == 0 ||
		    beneath_open(held, path, O_WRONLY | O_CREAT | O_NONBLOCK, 0666) >= 0 ||
		    walk_open_at(&walk, held, path, 0) == 0)
			fail_msg("%s", path);
		/* Of what cannot be reached, nothing is left. */
		(void)beneath_remove_tree(held, path, NULL);
		assert_outside_is_untouched();
	}
	assert_true(beneath_exists(held, "file") && beneath_exists(held, "link"));
}

static void test_links_are_data(void **state)
{
	char target[64];

	(void)state;
	assert_int_equal(beneath_read_link(held, "inside", target, sizeof(target)), 3);
	assert_string_equal(target, "sub");
	assert_int_equal(beneath_rename(held, "link", held, "sub/moved"), 0);
	assert_true(beneath_read_link(held, "sub/moved", target, sizeof(target)) > 0);
	assert_string_equal(target, "../out");
	assert_int_equal(beneath_link(held, "link-to-file", held, "second"), 0);
	assert_true(beneath_read_link(held, "second", target, sizeof(target)) > 0);
	assert_int_equal(beneath_remove(held, "second", 0), 0);
	/* In place of the link, not where it leads. */
	assert_int_equal(beneath_replace(held, "link-to-file", "x", 1, true, NULL), 0);
	assert_true(beneath_is_other(held, "link-to-file"));
	assert_int_equal(beneath_remove_tree(held, "absolute", NULL), 0);
	assert_false(beneath_exists(held, "absolute"));
	assert_int_equal(beneath_remove_tree(held, "sub", NULL), 0);
	assert_false(beneath_exists(held, "sub"));
	assert_outside_is_untouched();
}

static void test_work_below(void **state)
{
	auto_(beneath_parent_close) struct beneath_parent parent = BENEATH_PARENT(held);
	auto_(bytes_release) struct bytes text = {.limit = 100};
	struct err err;
	const char *name;
	int first;

	(void)state;
	assert_int_equal(beneath_make_directories(held, "a/b/c", 0755, NULL), 0);
	assert_int_equal(beneath_make_directories(held, "a/b/c", 0755, NULL), 0);
	assert_int_equal(beneath_make_directories(held, "file/b", 0755, &err), -1);
	assert_true(beneath_is_empty_directory(held, "a/b/c"));
	assert_true(beneath_is_empty_directory(held, "none"));
	assert_int_equal(beneath_replace(held, "a/b/c/f", "content", 7, true, &err), 0);
	assert_int_equal(beneath_replace(held, "a/b/c/f", "new", 3, false, &err), 0);
	assert_false(beneath_is_empty_directory(held, "a/b/c"));
	assert_int_equal(beneath_read(held, "a/b/c/f", &text, &err), 0);
	assert_int_equal(text.size, 3);
	assert_memory_equal(text.data, "new", 3);
	assert_int_equal(beneath_read(held, "a/b/none", &text, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(beneath_read(held, "fifo", &text, &err), -1);
	first = beneath_parent_of(&parent, "a/b/c/f", &name);
	assert_true(first >= 0);
	assert_string_equal(name, "f");
	assert_int_equal(beneath_parent_of(&parent, "a/b/c/g", &name), first);
	assert_int_equal(beneath_parent_of(&parent, "x", &name), held);
	assert_int_equal(beneath_parent_of(&parent, "a/none/x", &name), -1);
	first = beneath_parent_of(&parent, "a/b/x", &name);
	assert_true(first >= 0 && first == parent.fd);
	assert_int_equal(beneath_rename(held, "a/b/c", held, "empty/c"), 0);
	assert_int_equal(beneath_remove_tree(held, "a", NULL), 0);
	assert_int_equal(beneath_remove_tree(held, "a", NULL), 0);
	assert_true(beneath_exists(held, "empty/c/f"));
}

/* --- a racer --- */

#define EACH_LEAST 300

/* in/turn is now a directory of ours, now a link that leads out. */
static void exchange_forever(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (renameat2(held, "turn", held, "other", RENAME_EXCHANGE) == 0)
		continue;
	_exit(1);
}

static void try_in_turn(unsigned *reached, unsigned *refused)
{
	auto_(bytes_release) struct bytes text = {0};

	if (beneath_read(held, "turn/secret", &text, NULL) == 0) {
		assert_memory_equal(text.data, "in\n", 3);
		++*reached;
	} else {
		++*refused;
	}
	if (beneath_make_directories(held, "turn/new/er", 0777, NULL) == 0)
		(void)beneath_remove_tree(held, "turn/new", NULL);
	(void)beneath_replace(held, "turn/mine", "x", 1, false, NULL);
	(void)beneath_remove(held, "turn/mine", 0);
	(void)beneath_rename(held, "turn/keep", held, "taken");
	(void)beneath_remove_tree(held, "turn/keep", NULL);
	(void)beneath_link(held, "file", held, "turn/file");
}

static void test_whoever_exchanges_names_wins_nothing(void **state)
{
	unsigned reached = 0, refused = 0;
	pid_t racer;

	(void)state;
	sh("cp -r in/sub in/turn && rm in/turn/link && ln -s ../out in/other");
	racer = fork();
	assert_true(racer >= 0);
	if (racer == 0)
		exchange_forever();
	while (reached < EACH_LEAST || refused < EACH_LEAST)
		try_in_turn(&reached, &refused);
	assert_int_equal(kill(racer, SIGKILL), 0);
	assert_int_equal(waitpid(racer, NULL, 0), racer);
	assert_false(beneath_exists(held, "taken"));
	assert_outside_is_untouched();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_opens_what_lies_below, begin, end),
		cmocka_unit_test_setup_teardown(test_no_operation_leads_out, begin, end),
		cmocka_unit_test_setup_teardown(test_links_are_data, begin, end),
		cmocka_unit_test_setup_teardown(test_work_below, begin, end),
		cmocka_unit_test_setup_teardown(test_whoever_exchanges_names_wins_nothing, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
