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

static void what_is_left_of_a_set_is_not_under_way(void **state)
{
	char model[] = "model.pt", rest[] = UNDER_WAY_REST "opt.pt";
	char *paths[] = {model, rest, NULL};

	(void)state;
	assert_true(under_way_has(paths, "model.pt") && !under_way_has(paths, "opt.pt"));
	assert_false(under_way_has_behind(paths, UNDER_WAY_REST, "model.pt"));
	assert_true(under_way_has_behind(paths, UNDER_WAY_REST, "opt.pt"));
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
		cmocka_unit_test(what_is_left_of_a_set_is_not_under_way),
		cmocka_unit_test(a_directory_stands_for_what_is_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
