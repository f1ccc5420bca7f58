#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "drill/tree_look.h"
#include "drill/written_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// clang-format off
static const struct {
	const char *path, *target;
	bool stays;
} links[] = {
	{"latest", "run-1", true}, {"a/latest", "../run-1", true}, {"a/b/c", "../../d/./e", true},
	{"a/here", "..", true}, {"a", "b/../c", true},
	{"out", "/scratch/out", false}, {"data", "../data", false}, {"a/data", "../../data", false},
	{"a/back", "../../work/run-1", false}, {"a", "b/../../c", false},
};
// clang-format on

static void a_link_that_stays(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (tree_link_stays(links[i].path, links[i].target) != links[i].stays)
			fail_msg("%s -> %s", links[i].path, links[i].target);
}

#define FILE_AT(name, number, time)                                                      \
	{                                                                                \
		.path = (name), .kind = TREE_FILE, .inode = (number), .ctime_ns = (time) \
	}
#define CLOSED_AT(name, time)                                           \
	{                                                               \
		.path = (name), .kind = TREE_CLOSED, .ctime_ns = (time) \
	}
#define DIRECTORY(name)                                \
	{                                              \
		.path = (name), .kind = TREE_DIRECTORY \
	}
#define ENTRIES 4

// clang-format off
static struct {
	const char *what;
	struct tree_entry before[ENTRIES], after[ENTRIES];
	const char *changed, *wrote;
} changes[] = {
	{"nothing", {DIRECTORY("out"), FILE_AT("out/a", 1, 1)}, {DIRECTORY("out"), FILE_AT("out/a", 1, 1)}, "", ""},
	{"another order", {FILE_AT("b", 2, 1), FILE_AT("a", 1, 1)}, {FILE_AT("a", 1, 1), FILE_AT("b", 2, 1)}, "", ""},
	{"a new file", {DIRECTORY("out")}, {DIRECTORY("out"), FILE_AT("out/a", 1, 2)}, "out/a ", "out/a"},
	{"in a new directory", {}, {DIRECTORY("out"), FILE_AT("out/a", 1, 2)}, "out/a ", "out/a"},
	{"a new directory alone", {}, {DIRECTORY("out")}, "", ""},
	{"written", {FILE_AT("a", 1, 1)}, {FILE_AT("a", 1, 2)}, "a ", "a"},
	{"renamed over", {FILE_AT("a", 1, 1)}, {FILE_AT("a", 2, 1)}, "a ", "a"},
	{"removed", {FILE_AT("a", 1, 1)}, {}, "a ", "a"},
	{"the newest first", {FILE_AT("a", 1, 1)}, {FILE_AT("a", 1, 2), FILE_AT("b", 2, 5), FILE_AT("c", 3, 3)}, "a b c ", "b and 2 more files"},
	{"a socket", {}, {{.path = "run/socket", .kind = TREE_OTHER}}, "", ""},
	{"in a great directory", {CLOSED_AT("data", 1)}, {CLOSED_AT("data", 2)}, "data ", ""},
	{"a directory that became great", {DIRECTORY("data")}, {CLOSED_AT("data", 2)}, "data ", ""},
	{"checkpoints", {}, {FILE_AT("ckpt/a", 1, 2), FILE_AT("ckpt.reprieve/b", 2, 2), FILE_AT("ckpt2/c", 3, 2)},
		"ckpt.reprieve/b ckpt/a ckpt2/c ", "ckpt2/c"},
	{"the result, and what is hidden", {}, {FILE_AT("final.txt", 1, 2), FILE_AT(".cache/a", 2, 2), FILE_AT("a/.b", 3, 2)},
		".cache/a a/.b final.txt ", ""},
};
// clang-format on

static struct tree_look look_of(struct tree_entry entries[ENTRIES])
{
	struct tree_look look = {.items = entries};

	while (look.count < ENTRIES && entries[look.count].path)
		look.count++;
	return look;
}

static void two_looks(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct tree_look before = look_of(changes[i].before);
		struct tree_look after = look_of(changes[i].after);
		auto_free const struct tree_entry **found = NULL;
		size_t count = tree_look_compare(&before, &after, &found);
		char text[200] = "", wrote[WRITTEN_TEXT];

		for (size_t at = 0; at < count; at++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
				 found[at]->path);
		written_by_machine(&before, &after, "ckpt", "final.txt", wrote);
		if (!text_equal(text, changes[i].changed) || !text_equal(wrote, changes[i].wrote))
			fail_msg("%s: '%s' '%s'", changes[i].what, text, wrote);
	}
}

static void make(const char *root, const char *path)
{
	auto_free char *whole = text_format("%s/%s", root, path);
	auto_free char *above = text_copy(whole);

	*strrchr(above, '/') = '\0';
	assert_int_equal(file_make_directories(above, 0777, NULL), 0);
	if (!text_ends(path, "/"))
		assert_int_equal(file_write(whole, path, strlen(path), NULL), 0);
}

static char kind(const struct tree_look *look, const char *path)
{
	for (size_t i = 0; i < look->count; i++)
		if (text_equal(look->items[i].path, path))
			return "fdclo"[look->items[i].kind];
	return '-';
}

static void make_link(const char *root, const char *name, const char *target)
{
	auto_free char *path = text_format("%s/%s", root, name);

	assert_int_equal(symlink(target, path), 0);
}

static void looks_at_what_may_hold_state(void **state)
{
	char root[] = "/tmp/test-look-XXXXXX";
	auto_(tree_look_release) struct tree_look look = {0};

	(void)state;
	assert_non_null(mkdtemp(root));
	auto_free char *from = text_format("%s/work", root);
	auto_free char *scratch = text_format("%s/work/scratch", root);

	make(root, "work/out/a");
	make(root, "work/.git/index");
	make(root, "work/env/pyvenv.cfg");
	make(root, "work/pkg/__pycache__/m.pyc");
	make(root, "work/pkg/m.py");
	make(root, "work/scratch/x");
	make(root, "elsewhere/state");
	make_link(from, "linked-out", "../elsewhere");
	make_link(from, "latest", "out");
	make_link(from, "up", "..");
	make_link(from, "nothing", "/nowhere/at/all");
	assert_int_equal(tree_look_take(&look, from, (const char *[]){scratch, NULL},
					(const char *[]){NULL}, NULL),
			 0);
	assert_int_equal(kind(&look, "out"), 'd');
	assert_int_equal(kind(&look, "out/a"), 'f');
	assert_int_equal(kind(&look, ".git"), 'c');
	assert_int_equal(kind(&look, "env"), 'c');
	assert_int_equal(kind(&look, "pkg/m.py"), 'f');
	assert_int_equal(kind(&look, "pkg/__pycache__"), '-');
	assert_int_equal(kind(&look, "scratch"), '-');
	assert_int_equal(kind(&look, "linked-out/state"), 'f');
	assert_int_equal(kind(&look, "latest"), 'l');
	assert_int_equal(kind(&look, "up"), 'c');
	assert_int_equal(kind(&look, "nothing"), 'l');
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

/* What does not fit is closed, and what is near the root or needed is not. */
static void a_great_directory_is_one_entry(void **state)
{
	char root[] = "/tmp/test-look-XXXXXX";
	auto_(tree_look_release) struct tree_look look = {0}, again = {0};
	auto_free const struct tree_entry **changed = NULL;
	const char *nothing[] = {NULL};

	(void)state;
	assert_non_null(mkdtemp(root));
	make(root, "data/train/");
	make(root, "out/a/b");
	for (unsigned i = 0; i < TREE_LOOK_MOST; i++) {
		auto_free char *path = text_format("%s/data/train/%u", root, i);

		assert_int_equal(symlink("x", path), 0);
	}
	assert_int_equal(tree_look_take(&look, root, nothing, nothing, NULL), 0);
	assert_int_equal(kind(&look, "data/train"), 'c');
	assert_int_equal(kind(&look, "out/a/b"), 'f');
	make(root, "data/train/state.bin");
	assert_int_equal(tree_look_take(&again, root, nothing, nothing, NULL), 0);
	assert_int_equal(tree_look_compare(&look, &again, &changed), 1);
	assert_string_equal(changed[0]->path, "data/train");
	assert_int_equal(tree_look_take(&again, root, nothing,
					(const char *[]){"data/train/ckpt", NULL}, NULL),
			 0);
	assert_int_equal(kind(&again, "data/train"), 'd');
	assert_int_equal(kind(&again, "data/train/state.bin"), 'f');
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

static void not_into_the_system(void **state)
{
	auto_(tree_look_release) struct tree_look look = {0};
	const char *nothing[] = {NULL};

	(void)state;
	assert_int_equal(tree_look_take(&look, "/", nothing, nothing, NULL), 0);
	assert_int_equal(kind(&look, "proc"), 'c');
	assert_int_equal(kind(&look, "tmp"), 'c');
	/* Also where it is mounted elsewhere. */
	assert_int_equal(tree_look_take(&look, "/proc", nothing, nothing, NULL), 0);
	assert_int_equal(kind(&look, "self"), 'l');
	assert_int_equal(kind(&look, "sys"), 'c');
}

static void what_is_held_open_is_another_ones(void **state)
{
	char root[] = "/tmp/test-look-XXXXXX";
	auto_(tree_look_release) struct tree_look before = {0}, after = {0};
	const char *nothing[] = {NULL};
	char text[WRITTEN_TEXT] = "";

	(void)state;
	assert_non_null(mkdtemp(root));
	auto_free char *log = text_format("%s/drill.log", root);
	assert_int_equal(tree_look_take(&before, root, nothing, nothing, NULL), 0);
	make(root, ".cache/editor");
	FILE *open_log = fopen(log, "w");
	assert_non_null(open_log);
	assert_int_equal(tree_look_take(&after, root, nothing, nothing, NULL), 0);
	written_to_users_own(&before, &after, text);
	assert_string_equal(text, "");
	fclose(open_log);
	written_to_users_own(&before, &after, text);
	assert_string_equal(text, "drill.log");
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_that_stays),
		cmocka_unit_test(two_looks),
		cmocka_unit_test(looks_at_what_may_hold_state),
		cmocka_unit_test(a_great_directory_is_one_entry),
		cmocka_unit_test(not_into_the_system),
		cmocka_unit_test(what_is_held_open_is_another_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
