/* The file that a job finds while a stop stands. */
#include "telemetry/telemetry.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>

#include "unit.h"

static void test_file_exists_while_a_stop_stands(void **state)
{
	struct notice stop = {
		.kind = NOTICE_STOP,
		.deadline_ms = CLOCK_NEVER,
		.source = "aws",
		.reason = "spot",
	};
	char root[] = "/tmp/reprieve-test-XXXXXX";
	auto_free char *path = NULL;
	auto_json json_t *about = NULL;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(root));
	path = text_format("%s/notice", root);
	notice_format_write_file(NULL, &stop);
	notice_format_write_file(path, &stop);
	about = json_load_file(path, 0, NULL);
	assert_string_equal(json_text_or(about, "source", ""), "aws");
	/* It would be wrong a moment later. */
	assert_null(json_object_get(about, "seconds_left"));
	notice_format_write_file(path, NULL);
	assert_false(file_exists(path));
	assert_int_equal(file_remove_tree(root, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file_exists_while_a_stop_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
