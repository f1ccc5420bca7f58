/* Which files of a damaged snapshot are lost -> what is left out, or why the rest would not do. */
#include "restore/start.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

#include "unit.h"

#define NEWEST "which is part of its newest checkpoint"
#define NONE "which is part of no checkpoint that could be left out"

static const struct {
	/* Sorted; "!" behind a running one. */
	const char *files, *lost;
	/* What is left out; or why the rest would not do, and the first letter of it is capital. */
	const char *left_out, *why;
} rows[] = {
	// clang-format off
	{"step-1/a step-1/b step-2/a step-2/b", "step-1/a", "step-1/a step-1/b", NULL},
	{"step-1/a step-1/b step-2/a step-2/b", "step-2/a", NULL, NEWEST},
	{"step-1/a step-2/a step-3/a", "step-1/a step-2/a", "step-1/a step-2/a", NULL},
	{"step-1/a step-2/a step-3/a", "step-1/a step-3/a", NULL, NEWEST},
	{"step-1/a", "step-1/a", NULL, NEWEST},
	{"model-step-1.pt model-step-2.pt optimizer-step-1.pt optimizer-step-2.pt", "model-step-1.pt",
		"model-step-1.pt optimizer-step-1.pt", NULL},
	/* of its kind it is the newest, however low its number */
	{"ema-step-1.pt model-step-1.pt model-step-2.pt", "ema-step-1.pt", NULL, NEWEST},
	{"ema-step-1.pt model-step-1.pt model-step-2.pt", "model-step-1.pt", NULL, NEWEST},
	/* two lines of checkpoints of one number are not one checkpoint */
	{"a/step-1/m a/step-2/m b/step-1/m", "a/step-1/m", "a/step-1/m", NULL},
	{"a/step-1/m a/step-2/m b/step-1/m", "b/step-1/m", NULL, NEWEST},
	/* a number that may be that of a part */
	{"part-1.bin part-2.bin part-3.bin", "part-1.bin", NULL, NONE},
	{"1000/w.h5 2000/w.h5", "1000/w.h5", NULL, NONE},
	{"config.json step-1/a step-2/a", "config.json", NULL, NONE},
	{"last.pt", "last.pt", NULL, NONE},
	/* what is written all the time, by what the snapshot says and by its name */
	{"curve.dat! last.pt", "curve.dat", "curve.dat", NULL},
	{"last.pt metrics.csv", "metrics.csv", "metrics.csv", NULL},
	{"step-1/a step-1/log.txt! step-2/a step-2/log.txt!", "step-1/a", "step-1/a", NULL},
	{"step-1/a step-1/log.txt! step-2/a step-2/log.txt!", "step-2/log.txt", "step-2/log.txt", NULL},
	/* the list does not have it: another name of a file */
	{"step-1/a step-2/a", "step-1/link", NULL, NONE},
	// clang-format on
};

static struct snapshot_files parse_files(const char *text)
{
	struct snapshot_files files = {.items = memory_new(8 * sizeof(struct snapshot_file))};
	auto_free char *copy = text_copy(text);
	char *rest = copy, *word;

	while ((word = strsep(&rest, " "))) {
		bool running = text_ends(word, "!");

		word[strlen(word) - running] = '\0';
		files.items[files.count++] =
			(struct snapshot_file){.path = text_copy(word), .running = running};
	}
	return files;
}

static struct path_list parse_lost(const char *text)
{
	struct path_list lost = {0};
	auto_free char *copy = text_copy(text);
	char *rest = copy, *word;

	while ((word = strsep(&rest, " ")))
		path_list_add(&lost, word);
	return lost;
}

static void test_what_is_left_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(snapshot_files_release) struct snapshot_files files =
			parse_files(rows[i].files);
		auto_(path_set_release) struct path_set left_out = {0};
		struct path_list lost = parse_lost(rows[i].lost), all;
		const char *why = NULL, *path = NULL;
		bool fine = salvage_decide(&files, &lost, NULL, &left_out, &why, &path);

		if (fine != (rows[i].why == NULL))
			fail_msg("row %zu: %s, %s", i, fine ? "fine" : path, why);
		if (!fine)
			assert_string_equal(why, rows[i].why);
		all = parse_lost(fine ? rows[i].left_out : "");
		for (size_t j = 0; fine && j < all.count; j++)
			if (!path_set_marks(&left_out, all.paths[j]))
				fail_msg("row %zu: %s stays", i, all.paths[j]);
		if (fine && left_out.count != all.count)
			fail_msg("row %zu: %zu are left out", i, left_out.count);
		path_list_free(all.paths);
		path_list_free(lost.paths);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
