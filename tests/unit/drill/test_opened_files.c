#include "drill/opened_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct restored_files three_checkpoints(void)
{
	struct restored_files files = {0};

	restored_files_add(&files, "latest", 8, 31);
	restored_files_add(&files, "checkpoint-100/model.bin", 5000, 20);
	restored_files_add(&files, "checkpoint-110/model.bin", 5000, 30);
	restored_files_add(&files, "checkpoint-90/model.bin", 5000, 10);
	restored_files_add_link(&files, "last.bin", "checkpoint-110/model.bin");
	return files;
}

// clang-format off
static const struct {
	const char *log;
	bool heard;
	enum reading expected;
	const char *opened, *missed;
} readings[] = {
	{"", false, READING_UNKNOWN, "", NULL},
	{"", true, READING_NOTHING, "", NULL},
	{"r 1 7 checkpoint-110/model.bin\n", true, READING_DONE, "checkpoint-110/model.bin", NULL},
	{"r 1 7 latest\nr 1 8 checkpoint-100/model.bin\n", true, READING_OLDER, "checkpoint-100/model.bin", "checkpoint-110/model.bin"},
	/* Who looks at all of them has opened the newest. */
	{"r 1 7 checkpoint-90/model.bin\nr 1 8 checkpoint-110/model.bin\n", true, READING_DONE, "checkpoint-110/model.bin", NULL},
	{"r 1 7 latest\n", true, READING_LITTLE, "latest", "checkpoint-110/model.bin"},
	/* Its own files, which it has written on this machine, also under their new names. */
	{"w 1 7 tmp\nr 1 7 checkpoint-110/model.bin\n", true, READING_NOTHING, "", NULL},
	{"w 1 7 tmp\nr 2 7 checkpoint-110/model.bin\n", true, READING_DONE, "checkpoint-110/model.bin", NULL},
	/* Opened for both: what was there before could be read. */
	{"r 1 7 checkpoint-110/model.bin\nw 1 7 checkpoint-110/model.bin\n", true, READING_DONE, "checkpoint-110/model.bin", NULL},
	/* By another name of its file. */
	{"r 1 7 last.bin\n", true, READING_DONE, "checkpoint-110/model.bin", NULL},
	/* A line that is cut off, and none of ours. */
	{"r 1 7 checkpoint-110/model.bin", true, READING_NOTHING, "", NULL},
	{"x\nr\nr 1\nr 1 7\n\nr 1 7 \n", true, READING_NOTHING, "", NULL},
};
// clang-format on

static void what_is_opened(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
		auto_(restored_files_release) struct restored_files files = three_checkpoints();
		auto_(job_log_release) struct job_log names = {0};
		struct file_accesses accesses;
		struct reading_facts found;

		file_accesses_read(readings[i].log, strlen(readings[i].log), &accesses, &files,
				   &names);
		found = opened_files_judge(&files, readings[i].heard);
		if (found.reading != readings[i].expected ||
		    strcmp(found.opened, readings[i].opened) != 0 ||
		    (readings[i].missed && strcmp(found.missed, readings[i].missed) != 0))
			fail_msg("%zu: %d, '%s', '%s'", i, found.reading, found.opened,
				 found.missed);
		assert_false(accesses.unlisted);
		/* Older ones of a kind are not counted in what there is to read. */
		assert_int_equal(found.bytes, 5008);
		assert_int_equal(found.files, 4);
	}
}

static void what_is_written(void **state)
{
	static const char log[] = "w 1 7 a b-10.tmp\nr 1 8 c-11\nw 1 9 d\n";
	auto_(job_log_release) struct job_log names = {0};
	struct file_accesses accesses;

	(void)state;
	file_accesses_read(log, strlen(log), &accesses, NULL, &names);
	assert_int_equal(names.count, 1);
	assert_true(names.counters[0].samples[0].value == 10);
	assert_int_equal(accesses.written, 2);
	assert_string_equal(accesses.last_written, "d");
	assert_true(accesses.any);
	file_accesses_read("", 0, &accesses, NULL, &names);
	assert_false(accesses.any);
}

/* Its time says of when the state is that the job has loaded. */
static void when_it_was_written(void **state)
{
	static const char log[] = "r 1 7 latest\nr 1 8 checkpoint-110/model.bin\nr 1 9 renamed\n";
	auto_(restored_files_release) struct restored_files files = three_checkpoints();
	auto_(job_log_release) struct job_log names = {0};
	struct file_accesses accesses;

	(void)state;
	assert_int_equal(opened_files_judge(&files, true).oldest_ns, 0);
	file_accesses_read(log, strlen(log), &accesses, &files, &names);
	assert_int_equal(opened_files_judge(&files, true).oldest_ns, 30);
	assert_int_equal(opened_files_judge(&files, true).newest_ns, 31);
	assert_true(accesses.unlisted);
}

static void a_log_need_not_be_read(void **state)
{
	static const char log[] = "r 1 7 state.bin\n";
	auto_(restored_files_release) struct restored_files files = {0};
	auto_(job_log_release) struct job_log names = {0};
	struct file_accesses accesses;

	(void)state;
	restored_files_add(&files, "state.bin", 10, 1);
	restored_files_add(&files, "loss.csv", 5000, 2);
	file_accesses_read(log, strlen(log), &accesses, &files, &names);
	assert_int_equal(opened_files_judge(&files, true).reading, READING_DONE);
	assert_int_equal(opened_files_judge(&files, true).bytes, 10);
}

static void nothing_was_restored(void **state)
{
	struct restored_files none = {0};

	(void)state;
	assert_int_equal(opened_files_judge(&none, true).reading, READING_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_opened),       cmocka_unit_test(what_is_written),
		cmocka_unit_test(when_it_was_written),  cmocka_unit_test(a_log_need_not_be_read),
		cmocka_unit_test(nothing_was_restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
