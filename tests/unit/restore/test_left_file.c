/* What was under way when all were killed x what its content says -> does it stay. */
#include "restore/reconcile.h"

#include "base/cleanup.h"
#include "completion/completion.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define OPEN UNDER_WAY_UNLESS_WHOLE
#define UNSEEN UNDER_WAY_UNSEEN
#define VALID CONTENT_VALID
#define ONE (CONTENT_VALID | CONTENT_END_OF_ONE)
#define ALL (CONTENT_VALID | CONTENT_END_OF_ALL)

static const struct {
	const char *what;
	struct left_file file;
	bool stays;
} rows[] = {
	// clang-format off
	{"closed, and no format says anything", {.front = UNDER_WAY_CLOSED}, true},
	{"the same, and the machine was started anew", {.front = UNDER_WAY_CLOSED, .rebooted = true}, false},
	{"the same, and whole by its format", {.front = UNDER_WAY_CLOSED, .rebooted = true, .content = VALID}, true},
	{"its close was not seen, and no format says anything", {.front = OPEN}, false},
	{"a format that may be whole before its end (HDF5)", {.front = OPEN, .content = VALID}, false},
	{"a zip with its directory", {.front = OPEN, .content = ALL}, true},
	{"the same, and shorter: a model that was pruned", {.front = OPEN, .content = ALL, .size = 10, .before = 9000}, true},
	{"a pickle, the first of its name", {.front = OPEN, .content = ONE, .size = 900}, true},
	{"a pickle as long as the one before", {.front = OPEN, .content = ONE, .size = 9000, .before = 9000}, true},
	{"a pickle that is a little shorter", {.front = OPEN, .content = ONE, .size = 8800, .before = 9000}, true},
	{"the first of two pickles in a file", {.front = OPEN, .content = ONE, .size = 5000, .before = 9000}, false},
	{"open, and as long as the one before, as what was mapped", {.front = OPEN, .size = 9000, .before = 9000}, false},
	{"nobody has seen who has it open, and it is as long as the one before", {.front = UNSEEN, .size = 9000, .before = 9000}, true},
	{"the same, and it is the first of its name", {.front = UNSEEN, .size = 10}, true},
	{"the same, and it is shorter", {.front = UNSEEN, .size = 5000, .before = 9000}, false},
	{"the same, and a zip with its directory", {.front = UNSEEN, .content = ALL, .size = 5000, .before = 9000}, true},
	{"the same, and the machine was started anew", {.front = UNSEEN, .rebooted = true, .size = 9000, .before = 9000}, false},
	// clang-format on
};

static void stays(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (left_file_stays(&rows[i].file) != rows[i].stays)
			fail_msg("%s", rows[i].what);
}

static void add(struct snapshot_files *files, const char *path, uint64_t size, uint64_t inode)
{
	file_list_add(files, (struct snapshot_file){.path = strdup(path),
						    .size = size,
						    .mtime_ns = (int64_t)inode,
						    .ctime_ns = (int64_t)inode,
						    .inode = inode});
	file_list_sort(files);
}

static const struct {
	const char *what, *listed, *here[3], *before[3];
	size_t torn;
	const char *first; /* listed before it, with its front */
} saves[] = {
	// clang-format off
	{"as the number before", "step-2/a", {"step-2/a", "step-2/b", "step-1/a"}, {"step-1/a", "step-1/b"}, 0, NULL},
	{"without a file of the number before", "step-2/a", {"step-2/a", "step-1/b"}, {"step-1/a", "step-1/b"}, 1, NULL},
	{"the same, and that was measured of it", "step-2/a", {"step-2/a"}, {"step-1/a", "step-1/eval_results.json"}, 0, NULL},
	{"without one, and the first of the save was closed", "step-2/b", {"step-2/b", "step-2/a"}, {"step-1/a", "step-1/b", "step-1/c"}, 2, UNDER_WAY_CLOSED "step-2/a"},
	{"no number before", "step-2/a", {"step-2/a"}, {"last"}, 0, NULL},
	{"a set of which one is what it was", "a", {"a", "b"}, {"a", "b"}, 1, NULL},
	{"a set of which the other was written too", "a", {"b", "a"}, {"a", "b"}, 0, NULL},
	// clang-format on
};

static void a_save_that_nobody_saw_is_compared_with_the_one_before(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(saves) / sizeof(saves[0]); i++) {
		auto_(snapshot_files_release) struct snapshot_files here = {0}, record = {0};
		auto_(path_set_release) struct path_set whole = {0};
		struct path_list list = {0};
		char listed[40];

		snprintf(listed, sizeof(listed), UNSEEN "%s", saves[i].listed);
		if (saves[i].first)
			path_list_add(&list, saves[i].first);
		path_list_add(&list, listed);
		path_list_add(&list, UNDER_WAY_REST "b");
		for (size_t k = 0; k < 3 && saves[i].here[k]; k++)
			add(&here, saves[i].here[k], 100,
			    strcmp(saves[i].here[k], saves[i].listed) == 0 ? 20 + k : k + 1);
		for (size_t k = 0; k < 3 && saves[i].before[k]; k++)
			add(&record, saves[i].before[k], 100, k + 1);
		left_files_settle(&list, &(struct reconcile_facts){.local = &here,
								   .complete = &record,
								   .whole = &whole});
		if (list.count != saves[i].torn + 1)
			fail_msg("%s", saves[i].what);
		path_list_free(list.paths);
	}
}

static const struct {
	const char *listed, *whole, *left;
} together[] = {
	// clang-format off
	{OPEN "step-1/a " OPEN "step-1/b " OPEN "step-2/a " OPEN "step-2/b", "step-1/a step-1/b step-2/b", "step-2/a step-2/b "},
	{OPEN "a-3.npz " OPEN "b-3.npz", "b-3.npz", "a-3.npz b-3.npz "},
	{OPEN "last.npz " OPEN "sub/opt.npz", "last.npz", "last.npz sub/opt.npz "},
	{UNDER_WAY_CLOSED "last.pt run/step-3/ whole.pt", "whole.pt", "run/step-3/ whole.pt "},
	/* a name that was closed goes with one that does not stay, and only then */
	{OPEN "opt.npz " UNDER_WAY_WITH "model.npz", "", "opt.npz " UNDER_WAY_WITH "model.npz "},
	{OPEN "opt.npz " UNDER_WAY_WITH "model.npz", "opt.npz", ""},
	{UNDER_WAY_REST "opt.npz " UNDER_WAY_WITH "model.npz", "", UNDER_WAY_REST "opt.npz " UNDER_WAY_WITH "model.npz "},
	// clang-format on
};

static struct path_list words_of(const char *text)
{
	struct path_list list = {0};
	auto_free char *copy = text_copy(text);
	char *rest = NULL;

	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		path_list_add(&list, word);
	return list;
}

/* What one save has written stands or falls together. */
static void files_of_one_save_stay_together(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(together) / sizeof(together[0]); i++) {
		auto_(path_set_release) struct path_set whole = {0};
		struct path_list list = words_of(together[i].listed);
		struct path_list names = words_of(together[i].whole);
		struct snapshot_files none = {0};
		char left[200] = "";

		for (size_t k = 0; k < names.count; k++)
			path_set_mark(&whole, names.paths[k], ALL);
		left_files_settle(&list,
				  &(struct reconcile_facts){.local = &none, .whole = &whole});
		for (size_t k = 0; k < list.count; k++)
			strcat(strcat(left, list.paths[k]), " ");
		assert_string_equal(left, together[i].left);
		path_list_free(list.paths);
		path_list_free(names.paths);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stays),
		cmocka_unit_test(a_save_that_nobody_saw_is_compared_with_the_one_before),
		cmocka_unit_test(files_of_one_save_stay_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
