#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "drill/machine_directory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

// clang-format off
static const struct {
	const char *path, *plain;
} paths[] = {
	{"checkpoints", "checkpoints"},
	{"./out//ckpt/", "out/ckpt"},
	{"a/./b", "a/b"},
	{"..a/b..", "..a/b.."},
	{"", NULL}, {".", NULL}, {"./", NULL}, {"/tmp/x", NULL}, {"..", NULL}, {"a/../b", NULL},
};
// clang-format on

static void relative(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		auto_free char *plain = machine_directory_relative(paths[i].path);

		if (!text_equal(plain, paths[i].plain))
			fail_msg("'%s' -> '%s'", paths[i].path, plain ? plain : "(null)");
	}
}

// clang-format off
static const struct {
	const char *path, *from, *plain;
} absolute_paths[] = {
	{"/home/me/work/out/ckpt", "/home/me/work", "out/ckpt"},
	{"/home/me/work//out/./ckpt/", "/home/me/work", "out/ckpt"},
	{"out/ckpt/", "/home/me/work", "out/ckpt"},
	{"/out", "/", "out"},
	{"/home/me/workshop/ckpt", "/home/me/work", NULL},
	{"/home/me/work", "/home/me/work", NULL}, {"/home/me/work/", "/home/me/work", NULL},
	{"/home/me/work/../ckpt", "/home/me/work", NULL}, {"/elsewhere", "/home/me/work", NULL},
};
// clang-format on

static void below(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(absolute_paths) / sizeof(absolute_paths[0]); i++) {
		auto_free char *plain =
			machine_directory_below(absolute_paths[i].path, absolute_paths[i].from);

		if (!text_equal(plain, absolute_paths[i].plain))
			fail_msg("'%s' -> '%s'", absolute_paths[i].path, plain ? plain : "(null)");
	}
}

static void make(const char *root, const char *path)
{
	auto_free char *whole = text_format("%s/%s", root, path);

	if (text_ends(path, "/"))
		assert_int_equal(file_make_directories(whole, 0777, NULL), 0);
	else
		assert_int_equal(file_write(whole, path, strlen(path), NULL), 0);
}

static char kind(const char *root, const char *path)
{
	auto_free char *whole = text_format("%s/%s", root, path);
	struct stat about;

	if (lstat(whole, &about) < 0)
		return '-';
	return S_ISLNK(about.st_mode) ? 'l' : S_ISDIR(about.st_mode) ? 'd' : 'f';
}

static void append(const char *root, const char *path, off_t size)
{
	auto_free char *whole = text_format("%s/%s", root, path);

	assert_int_equal(truncate(whole, size), 0);
}

static void make_machine(const char *root, const char *name, const char *scratch, uint64_t room,
			 char text[MACHINE_TEXT])
{
	static const char *const left_out[] = {"out/runs/ckpt", "final.npy", NULL};
	auto_free char *from = text_format("%s/from", root);
	auto_free char *to = text_format("%s/%s", scratch, name);
	auto_(tree_look_release) struct tree_look look = {0};

	assert_int_equal(tree_look_take(&look, from, (const char *[]){scratch, NULL}, left_out,
					NULL),
			 0);
	assert_int_equal(machine_directory_make(&look, from, to, left_out, 2, room, text, NULL), 0);
}

static void shows_all_but_what_is_left_out(void **state)
{
	char root[] = "/tmp/test-mirror-XXXXXX", text[MACHINE_TEXT];

	(void)state;
	assert_non_null(mkdtemp(root));
	make(root, "from/out/runs/ckpt/");
	make(root, "from/data/");
	make(root, "from/env/");
	make(root, "from/env/pyvenv.cfg");
	make(root, "from/scratch/");
	make(root, "from/train.py");
	make(root, "from/large");
	append(root, "from/large", 64 << 20);
	make(root, "from/final.npy");
	make(root, "from/final.npy.md");
	make(root, "from/out/runs/log");
	make(root, "from/out/runs/ckpt/step-1");
	auto_free char *scratch = text_format("%s/from/scratch", root);
	auto_free char *to = text_format("%s/from/scratch/machine-1", root);
	auto_free char *latest = text_format("%s/from/latest", root);
	assert_int_equal(symlink("out/runs", latest), 0);

	make_machine(root, "machine-1", scratch, 1 << 30, text);
	assert_string_equal(text, "");
	assert_int_equal(kind(to, "train.py"), 'f');
	assert_int_equal(kind(to, "data"), 'd');
	assert_int_equal(kind(to, "env"), 'l');
	assert_int_equal(kind(to, "final.npy"), '-');
	assert_int_equal(kind(to, "final.npy.md"), 'f');
	assert_int_equal(kind(to, "out/runs"), 'd');
	assert_int_equal(kind(to, "out/runs/log"), 'f');
	assert_int_equal(kind(to, "out/runs/ckpt"), '-');
	assert_int_equal(kind(to, "scratch"), '-');
	assert_int_equal(kind(to, "latest"), 'l');
	assert_int_equal(kind(to, "large"), 'f');
	/* What one machine writes, neither the user nor the next one has. */
	make(to, "out/runs/log");
	make(to, "data/state");
	make(to, "latest/more");
	auto_free char *own = text_format("%s/from/out/runs/log", root);
	auto_(bytes_release) struct bytes content = {0};
	assert_int_equal(file_read(own, &content, NULL), 0);
	assert_int_equal(content.size, strlen("from/out/runs/log"));
	auto_free char *from = text_format("%s/from", root);
	auto_free char *next = text_format("%s/from/scratch/machine-2", root);
	make_machine(root, "machine-2", scratch, 1 << 20, text);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(kind(i ? next : from, "data/state"), '-');
		assert_int_equal(kind(i ? next : from, "out/runs/more"), '-');
	}
	assert_int_equal(kind(to, "out/runs/more"), 'f');
	/* Where the file system shares the content of copies, all have room. */
	assert_int_equal(kind(next, "large"), *text ? '-' : 'f');
	if (*text)
		assert_string_equal(text, "large");
	assert_int_equal(file_remove_tree(root, NULL), 0);
}

/* The checkpoints, whatever their name: link, target ("/" stands for the user's directory), the
 * checkpoint directory, what a machine has not, and where its link leads. */
// clang-format off
static const struct {
	const char *link, *target, *excluded, *missing, *leads;
} checkpoints[] = {
	{"outputs", "data/outputs", "outputs/ckpt", "data/outputs/ckpt", "data/outputs"},
	{"latest", "/data/outputs/ckpt", "data/outputs/ckpt", "data/outputs/ckpt", "data/outputs/ckpt"},
	{"a/latest", "/data/outputs/ckpt/step-1", "data/outputs/ckpt", "data/outputs/ckpt", "../data/outputs/ckpt/step-1"},
	{"ckpt", "/../elsewhere/ckpt", "ckpt", "ckpt", NULL},
	{"out", "/../elsewhere", "out/ckpt", "out/ckpt", NULL},
};
// clang-format on

static void checkpoints_are_left_out_by_any_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(checkpoints) / sizeof(checkpoints[0]); i++) {
		char root[] = "/tmp/test-mirror-XXXXXX", text[MACHINE_TEXT], leads[200] = "";
		auto_(tree_look_release) struct tree_look look = {0};
		const char *nothing[] = {NULL};
		bool whole = checkpoints[i].target[0] == '/';

		assert_non_null(mkdtemp(root));
		auto_free char *from = text_format("%s/from", root);
		auto_free char *to = text_format("%s/to", root);
		auto_free char *link = text_format("%s/%s", from, checkpoints[i].link);
		auto_free char *copy = text_format("%s/%s", to, checkpoints[i].link);
		auto_free char *target =
			text_format("%s%s", whole ? from : "", checkpoints[i].target);
		auto_free char *again = text_format("%s/again", from);
		auto_free char *step = text_format("%s/elsewhere/ckpt/step-1", root);

		make(root, "from/data/outputs/ckpt/");
		make(root, "from/data/outputs/ckpt/step-1");
		make(root, "from/a/");
		make(root, "elsewhere/ckpt/");
		make(root, "elsewhere/ckpt/step-1");
		assert_int_equal(symlink(target, link), 0);
		if (!checkpoints[i].leads)
			assert_int_equal(symlink(step, again), 0);
		assert_int_equal(tree_look_take(&look, from, nothing, nothing, NULL), 0);
		assert_int_equal(machine_directory_make(&look, from, to, &checkpoints[i].excluded,
							1, 1 << 20, text, NULL),
				 0);
		if (kind(to, checkpoints[i].missing) != '-' || kind(to, "again") != '-')
			fail_msg("%s has %s", checkpoints[i].link, checkpoints[i].missing);
		(void)!readlink(copy, leads, sizeof(leads) - 1);
		assert_string_equal(leads, checkpoints[i].leads ? checkpoints[i].leads : "");
		assert_int_equal(file_remove_tree(root, NULL), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relative),
		cmocka_unit_test(below),
		cmocka_unit_test(shows_all_but_what_is_left_out),
		cmocka_unit_test(checkpoints_are_left_out_by_any_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
