/* What the next start reads of what was complete. */
#include "workspace/completion_record.h"

#include "base/cleanup.h"

#include <string.h>

#include "unit.h"

static char train[] = "train";

static void it_comes_back(void **state)
{
	char first[] = "step_1/model \"a\".bin", second[] = "step_1/optim\xc3\xa4l";
	struct snapshot_file files[] = {
		{
			.path = first,
			.size = UINT64_C(1) << 40,
			.mtime_ns = INT64_C(1700000000123456789),
			.ctime_ns = INT64_C(1800000000123456789),
			.inode = 4711,
		},
		{.path = second, .size = 0, .mtime_ns = -1},
	};
	struct completion_record record = {
		.job = train,
		.id = {3, 7},
		.boot = "of today",
		.files = {.items = files, .count = 2},
	};
	auto_free char *text = completion_record_format(&record, NULL);
	auto_(completion_record_release) struct completion_record back = {0};

	(void)state;
	assert_int_equal(completion_record_parse(text, strlen(text), &back, NULL), 0);
	assert_string_equal(back.job, "train");
	assert_int_equal(back.id.attempt, 3);
	assert_int_equal(back.id.sequence, 7);
	assert_string_equal(back.boot, "of today");
	assert_int_equal(back.files.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(back.files.items[i].path, files[i].path);
		assert_int_equal(back.files.items[i].size, files[i].size);
		assert_int_equal(back.files.items[i].mtime_ns, files[i].mtime_ns);
		assert_int_equal(back.files.items[i].ctime_ns, files[i].ctime_ns);
		assert_int_equal(back.files.items[i].inode, files[i].inode);
	}
}

static void a_name_that_json_cannot_hold_is_left_out(void **state)
{
	char good[] = "good", bad[] = "bad\xff";
	struct snapshot_file files[] = {{.path = bad}, {.path = good}};
	struct completion_record record = {
		.job = train,
		.id = {1, 1},
		.files = {.items = files, .count = 2},
	};
	auto_free char *text = completion_record_format(&record, NULL);
	auto_(completion_record_release) struct completion_record back = {0};
	struct err err;

	(void)state;
	assert_int_equal(completion_record_parse(text, strlen(text), &back, NULL), 0);
	assert_int_equal(back.files.count, 1);
	assert_string_equal(back.files.items[0].path, "good");
	record.job = bad;
	assert_null(completion_record_format(&record, &err));
	assert_int_equal(err.kind, ERR_FAILED);
}

static void only_a_whole_one_is_believed(void **state)
{
	static const struct {
		const char *text;
		int status;
		size_t files;
	} rows[] = {
		{"{\"version\":1,\"job\":\"a\",\"id\":\"1-2\",\"files\":[]}", 0, 0},
		{"{\"version\":1,\"job\":\"a\",\"id\":\"1-2\",\"files\":[[\"x\",1,2,3,4]]}", 0, 1},
		{"{\"version\":1,\"job\":\"a\",\"id\":\"1-2\",\"files\":[[\"x\",1", -1, 0},
		{"{\"version\":2,\"job\":\"a\",\"id\":\"1-2\",\"files\":[]}", -1, 0},
		{"{\"job\":\"a\",\"id\":\"1-2\",\"files\":[]}", -1, 0},
		{"{\"version\":1,\"id\":\"1-2\",\"files\":[]}", -1, 0},
		{"{\"version\":1,\"job\":\"a\",\"files\":[]}", -1, 0},
		{"{\"version\":1,\"job\":\"a\",\"id\":\"latest\",\"files\":[]}", -1, 0},
		{"{\"version\":1,\"job\":\"a\",\"id\":\"1-2\"}", -1, 0},
		{"{\"version\":1,\"job\":\"a\",\"id\":\"1-2\",\"files\":{}}", -1, 0},
		{"{\"version\":1,\"job\":\"a\",\"id\":\"1-2\",\"files\":[[\"x\",1,2],[\"y\",1]]}",
		 -1, 0},
		{"{\"version\":1,\"job\":\"a\",\"id\":\"1-2\",\"files\":[[1,1,2]]}", -1, 0},
		{"[]", -1, 0},
		{"", -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct completion_record record;
		struct err err = {0};
		int status =
			completion_record_parse(rows[i].text, strlen(rows[i].text), &record, &err);

		if (status != rows[i].status || record.files.count != rows[i].files ||
		    (status < 0 && (err.kind != ERR_CORRUPT || record.job)))
			fail_msg("%s: %d, %zu files: %s", rows[i].text, status, record.files.count,
				 err.text);
		completion_record_release(&record);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_back),
		cmocka_unit_test(a_name_that_json_cannot_hold_is_left_out),
		cmocka_unit_test(only_a_whole_one_is_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
