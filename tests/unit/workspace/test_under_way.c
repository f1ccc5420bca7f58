/* What the next start reads of what was being written. */
#include "workspace/completion_record.h"

#include "base/cleanup.h"

#include <string.h>

#include "unit.h"

static char numbered[] = "run/step-3/", fixed[] = "last\n\xff.pt", dot[] = "./x";

static void it_comes_back(void **state)
{
	char *paths[] = {numbered, fixed, dot, NULL};
	auto_(bytes_release) struct bytes text = {0};
	struct path_list back = {0};
	char boot[40] = "";

	(void)state;
	under_way_format(paths, "a boot", &text);
	assert_int_equal(under_way_parse(text.data, text.size, &back, boot, NULL), 0);
	assert_string_equal(boot, "a boot");
	assert_int_equal(back.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(back.paths[i], paths[i]);
	path_list_free(back.paths);
}

static void no_part_of_it_is_believed(void **state)
{
	char *paths[] = {numbered, fixed, NULL};
	auto_(bytes_release) struct bytes text = {0};
	struct path_list back = {0};
	char boot[40] = "";
	struct err err;

	(void)state;
	under_way_format(paths, "", &text);
	for (size_t size = 0; size < text.size; size++) {
		auto_free char *part = memory_new(size + 1);

		memcpy(part, text.data, size);
		assert_int_equal(under_way_parse(part, size, &back, boot, &err), -1);
		assert_int_equal(err.kind, ERR_CORRUPT);
	}
	memset(text.data, 0, text.size);
	assert_int_equal(under_way_parse(text.data, text.size, &back, boot, NULL), -1);
	assert_int_equal(back.count, 0);
}

/* 1: if it was closed; 2: if that was not seen. */
static bool is_marked(void *arg, const char *path, const char *front)
{
	return path_set_marks(arg, path) & (strcmp(front, UNDER_WAY_CLOSED) == 0 ? 1 : 2);
}

static void a_closed_file_stays_or_is_torn(void **state)
{
	char whole[] = "./step-1/model.pt", other[] = "./last.pt", open[] = "whole.pt";
	char *paths[] = {numbered, whole, open, other, NULL};
	struct path_set set = {0};
	struct path_list list = {0};

	(void)state;
	under_way_settle(&list, is_marked, &set);
	assert_int_equal(list.count, 0);
	for (size_t i = 0; paths[i]; i++)
		path_list_add(&list, paths[i]);
	path_set_mark(&set, "step-1/model.pt", 1);
	/* One that is not said to be closed may be written on, whatever it looks like. */
	path_set_mark(&set, "whole.pt", 1);
	under_way_settle(&list, is_marked, &set);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.paths[0], numbered);
	assert_string_equal(list.paths[1], "whole.pt");
	assert_string_equal(list.paths[2], "last.pt");
	assert_null(list.paths[3]);
	path_list_free(list.paths);
	path_set_release(&set);
}

static void what_is_left_of_a_set_is_not_under_way(void **state)
{
	char model[] = "model.pt", rest[] = UNDER_WAY_REST "opt.pt";
	char *paths[] = {model, rest, NULL};

	(void)state;
	assert_true(under_way_has(paths, "model.pt") && !under_way_has(paths, "opt.pt"));
	assert_false(under_way_has_behind(paths, UNDER_WAY_REST, "model.pt"));
	assert_true(under_way_has_behind(paths, UNDER_WAY_REST, "opt.pt"));
}

/* A name that was closed goes with one that does not stay, and only then. */
static void a_closed_name_stays_if_all_others_do(void **state)
{
	auto_(path_set_release) struct path_set set = {0};
	struct path_list list = {0};

	(void)state;
	path_list_add(&list, UNDER_WAY_UNLESS_WHOLE "opt.npz");
	path_list_add(&list, UNDER_WAY_WITH "model.npz");
	under_way_settle(&list, is_marked, &set);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.paths[0], "opt.npz");
	assert_string_equal(list.paths[1], UNDER_WAY_WITH "model.npz");
	path_list_free(list.paths);
	list = (struct path_list){0};
	path_list_add(&list, UNDER_WAY_UNLESS_WHOLE "opt.npz");
	path_list_add(&list, UNDER_WAY_WITH "model.npz");
	path_set_mark(&set, "opt.npz", 2);
	path_set_mark(&set, "model.npz", 1);
	under_way_settle(&list, is_marked, &set);
	assert_int_equal(list.count, 0);
	path_list_free(list.paths);
	list = (struct path_list){0};
	path_list_add(&list, UNDER_WAY_WITH "model.npz");
	path_list_add(&list, UNDER_WAY_REST "opt.npz");
	under_way_settle(&list, is_marked, &set);
	assert_int_equal(list.count, 2);
	path_list_free(list.paths);
}

/* What one save has written stands or falls together. */
static void files_whose_close_was_not_seen_stay_together(void **state)
{
	static const char *const listed[] = {
		UNDER_WAY_UNLESS_WHOLE "step-1/model.npz", UNDER_WAY_UNLESS_WHOLE "step-1/opt.npz",
		UNDER_WAY_UNLESS_WHOLE "step-2/model.npz", UNDER_WAY_UNLESS_WHOLE "step-2/opt.npz",
		UNDER_WAY_UNLESS_WHOLE "model-3.npz",      UNDER_WAY_UNLESS_WHOLE "opt-3.npz",
		UNDER_WAY_UNLESS_WHOLE "last.npz",         UNDER_WAY_UNLESS_WHOLE "sub/opt.npz",
	};
	static const char *const whole[] = {"step-1/model.npz", "step-1/opt.npz", "step-2/opt.npz",
					    "opt-3.npz", "last.npz"};
	static const char *const left[] = {"step-2/model.npz", "step-2/opt.npz", "model-3.npz",
					   "opt-3.npz",        "last.npz",       "sub/opt.npz"};
	auto_(path_set_release) struct path_set set = {0};
	struct path_list list = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		path_list_add(&list, listed[i]);
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		path_set_mark(&set, whole[i], 2);
	under_way_settle(&list, is_marked, &set);
	assert_int_equal(list.count, sizeof(left) / sizeof(left[0]));
	for (size_t i = 0; i < list.count; i++)
		assert_string_equal(list.paths[i], left[i]);
	path_list_free(list.paths);
}

static void a_directory_stands_for_what_is_in_it(void **state)
{
	char file[] = "last.pt", added[] = UNDER_WAY_ALONE "step-5/logits.npz";
	char *paths[] = {numbered, file, added, NULL};

	(void)state;
	assert_true(under_way_has(paths, "step-5/logits.npz"));
	assert_true(under_way_has_behind(paths, UNDER_WAY_ALONE, "step-5/logits.npz"));
	assert_false(under_way_has(paths, "step-5/model.pt"));
	assert_false(under_way_has_behind(paths, UNDER_WAY_ALONE, "last.pt"));
	assert_true(under_way_has(paths, "run/step-3/a"));
	assert_true(under_way_has(paths, "run/step-3/rank0/b"));
	assert_false(under_way_has(paths, "run/step-30/a"));
	assert_false(under_way_has(paths, "step-3/a"));
	assert_true(under_way_has(paths, "last.pt"));
	assert_false(under_way_has(paths, "last.pt.tmp"));
	assert_false(under_way_has(paths, "last.pt/a"));
	assert_false(under_way_has(NULL, "last.pt"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_back),
		cmocka_unit_test(no_part_of_it_is_believed),
		cmocka_unit_test(a_closed_file_stays_or_is_torn),
		cmocka_unit_test(files_whose_close_was_not_seen_stay_together),
		cmocka_unit_test(a_closed_name_stays_if_all_others_do),
		cmocka_unit_test(what_is_left_of_a_set_is_not_under_way),
		cmocka_unit_test(a_directory_stands_for_what_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
