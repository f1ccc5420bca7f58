#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "drill/tree_look.h"
#include "drill/written_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// clang-format off
static const struct {
	const char *path, *target, *named; /* NULL: it leads out */
} links[] = {
	{"latest", "run-1", "run-1"}, {"a/latest", "../run-1", "run-1"}, {"a/b/c", "../../d/./e", "d/e"},
	{"a/here", "..", ""}, {"a", "b/../c", "c"}, {"a/b", ".//c/", "a/c"},
	{"out", "/scratch/out", NULL}, {"data", "../data", NULL}, {"a/data", "../../data", NULL},
	{"a/back", "../../work/run-1", NULL}, {"a", "b/../../c", NULL},
};
static const struct {
	const char *path, *named, *target;
} made_links[] = {
	{"latest", "run-1", "run-1"}, {"a/b/c", "d/e", "../../d/e"}, {"a", "", "."}, {"a/b", "", ".."}, {"a/b/c", "", "../.."},
};
// clang-format on

static void a_link_by_its_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		auto_free char *named = tree_link_path(links[i].path, links[i].target);

		if (!text_equal(named, links[i].named))
			fail_msg("%s -> %s: %s", links[i].path, links[i].target,
				 named ? named : "(null)");
	}
	for (size_t i = 0; i < sizeof(made_links) / sizeof(made_links[0]); i++) {
		auto_free char *target = tree_link_target(made_links[i].path, made_links[i].named);

		if (!text_equal(target, made_links[i].target))
			fail_msg("%s -> %s: %s", made_links[i].path, made_links[i].named, target);
	}
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

// clang-format off
static struct {
	struct tree_entry before[ENTRIES], one;
	enum users_way way;
} ways[] = {
	{{DIRECTORY("out")}, FILE_AT("out/a", 1, 1), USERS_BY_PATH},
	{{CLOSED_AT("data", 1)}, CLOSED_AT("data", 2), USERS_SHARED},
	{{FILE_AT("mlruns/0/meta.yaml", 1, 1)}, FILE_AT("mlruns/0/4f2a/artifacts/model.bin", 2, 2), USERS_BY_MLFLOW},
	{{FILE_AT("out/mlruns/12/meta.yaml", 1, 1)}, FILE_AT("out/mlruns/12/4f2a/artifacts/a", 2, 2), USERS_BY_MLFLOW},
	/* Of another experiment, and of no experiment. */
	{{FILE_AT("mlruns/0/meta.yaml", 1, 1)}, FILE_AT("mlruns/1/4f2a/artifacts/a", 2, 2), USERS_BY_PATH},
	{{FILE_AT("mlruns/0/meta.yaml", 1, 1)}, FILE_AT("my-mlruns/0/a", 2, 2), USERS_BY_PATH},
};
// clang-format on

static void how_it_came_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct tree_look before = look_of(ways[i].before);

		if (written_way(&before, &ways[i].one) != ways[i].way)
			fail_msg("%s", ways[i].one.path);
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
	assert_int_equal(kind(&look, "up"), 'l');
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

/* Whatever there is: what is read in vain is at most as much again. */
static void many_great_directories_cost_no_more(void **state)
{
	char root[] = "/tmp/test-look-XXXXXX";
	auto_(tree_look_release) struct tree_look look = {0};
	const char *nothing[] = {NULL};
	size_t great = 0;

	(void)state;
	assert_non_null(mkdtemp(root));
	for (unsigned i = 0; i < 70; i++) {
		auto_free char *path = text_format("%s/%u", root, i);

		assert_int_equal(mkdir(path, 0777), 0);
		for (unsigned j = 0; j < 1300; j++) {
			auto_free char *name = text_format("%s/%u", path, j);

			assert_int_equal(symlink("x", name), 0);
		}
	}
	assert_int_equal(tree_look_take(&look, root, nothing, nothing, NULL), 0);
	for (size_t i = 0; i < look.count; i++)
		great += look.items[i].kind == TREE_CLOSED;
	assert_int_equal(great, 70 - (TREE_LOOK_MOST - 70) / 1300);
	assert_in_range(look.count, TREE_LOOK_MOST - 1300, TREE_LOOK_MOST);
	assert_in_range(look.dropped, TREE_LOOK_MOST, TREE_LOOK_MOST + 1300);
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

/* path, target ("ROOT/" stands for the root), kind and what a copy of it says */
// clang-format off
static const struct {
	const char *path, *target;
	char kind;
	const char *copied;
} linked[] = {
	{"work/data/data", "ROOT/work/data", 'l', "../data"},     /* into itself */
	{"work/outputs", "data/outputs", 'l', "data/outputs"},
	{"work/data/last", "ROOT/work/data/outputs/run", 'l', "../data/outputs/run"},
	{"work/soon", "ROOT/work/not/yet", 'l', "not/yet"},       /* nothing is there */
	{"work/gone", "ROOT/elsewhere/gone", 'l', NULL},
	{"work/above", "ROOT", 'l', NULL},
	{"work/shared", "../elsewhere", 'd', "ROOT/elsewhere"},
	{"elsewhere/itself", ".", 'l', NULL},                     /* tested below */
	{"work/data/shared", "../../elsewhere", 'l', "../shared"}, /* it was come upon before */
	{"work/list", "ROOT/elsewhere/list.txt", 'f', "ROOT/elsewhere/list.txt"},
	{"work/annexed", ".git/annex/a", 'f', "ROOT/work/.git/annex/a"},
	{"work/data/lies", "../shared/../sibling", 'f', "ROOT/sibling"},
};
// clang-format on

static const struct tree_entry *entry_at(const struct tree_look *look, const char *path)
{
	for (size_t i = 0; i < look->count; i++)
		if (text_equal(look->items[i].path, path))
			return &look->items[i];
	return NULL;
}

static void links_lead_into_a_copy_or_are_followed_once(void **state)
{
	char root[] = "/tmp/test-look-XXXXXX";
	auto_(tree_look_release) struct tree_look look = {0};
	const char *nothing[] = {NULL};

	(void)state;
	assert_non_null(mkdtemp(root));
	auto_free char *from = text_format("%s/work", root);
	make(root, "work/data/outputs/run");
	make(root, "work/.git/annex/a");
	make(root, "work/sibling");
	make(root, "sibling");
	make(root, "elsewhere/list.txt");
	for (size_t i = 0; i < sizeof(linked) / sizeof(linked[0]); i++) {
		bool whole = text_starts(linked[i].target, "ROOT");
		auto_free char *target =
			text_format("%s%s", whole ? root : "", linked[i].target + (whole ? 4 : 0));

		make_link(root, linked[i].path, target);
	}
	assert_int_equal(tree_look_take(&look, from, nothing, nothing, NULL), 0);
	for (size_t i = 0; i < sizeof(linked) / sizeof(linked[0]); i++) {
		const char *path = linked[i].path + strlen("work/");
		bool whole = linked[i].copied && text_starts(linked[i].copied, "ROOT");
		const char *rest = linked[i].copied ? linked[i].copied + (whole ? 4 : 0) : NULL;
		auto_free char *copied = rest ? text_format("%s%s", whole ? root : "", rest) : NULL;
		const struct tree_entry *entry = entry_at(&look, path);

		if (!text_starts(linked[i].path, "work/"))
			continue;
		if (!entry || kind(&look, path) != linked[i].kind ||
		    !text_equal(entry->target, copied))
			fail_msg("%s: %c %s", path, kind(&look, path),
				 entry && entry->target ? entry->target : "(null)");
	}
	assert_string_equal(entry_at(&look, "shared/itself")->target, ".");
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
	enum users_way way = USERS_SHARED;

	(void)state;
	assert_non_null(mkdtemp(root));
	auto_free char *log = text_format("%s/drill.log", root);
	assert_int_equal(tree_look_take(&before, root, nothing, nothing, NULL), 0);
	make(root, ".cache/editor");
	FILE *open_log = fopen(log, "w");
	assert_non_null(open_log);
	assert_int_equal(tree_look_take(&after, root, nothing, nothing, NULL), 0);
	written_to_users_own(&before, &after, text, &way);
	assert_string_equal(text, "");
	fclose(open_log);
	written_to_users_own(&before, &after, text, &way);
	assert_string_equal(text, "drill.log");
	assert_int_equal(way, USERS_BY_PATH);
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_by_its_text),
		cmocka_unit_test(two_looks),
		cmocka_unit_test(how_it_came_there),
		cmocka_unit_test(looks_at_what_may_hold_state),
		cmocka_unit_test(a_great_directory_is_one_entry),
		cmocka_unit_test(many_great_directories_cost_no_more),
		cmocka_unit_test(links_lead_into_a_copy_or_are_followed_once),
		cmocka_unit_test(not_into_the_system),
		cmocka_unit_test(what_is_held_open_is_another_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
