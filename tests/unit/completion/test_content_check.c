/* What a check finds in a directory, and for how long it is waited for. */
#include "completion/content_check.h"

#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define CUT_OFF "PK\3\4 and no end"
#define HOUR 3600

static char directory[64];

static int begin(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/test_content_check.XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return file_remove_tree(directory, NULL);
}

/* So long ago; what is from the future was written just now. */
static void write_file(const char *name, const char *text, time_t seconds_ago)
{
	auto_free char *path = text_format("%s/%s", directory, name);
	auto_free char *above = text_copy_n(path, (size_t)(text_last_part(path) - 1 - path));
	const struct timespec at = {.tv_sec = time(NULL) - seconds_ago};

	assert_int_equal(file_make_directories(above, 0700, NULL), 0);
	assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){at, at}, 0), 0);
}

/* "PATH WAIT_MS" of each finding; of those in this file's checkpoint, NULL: of all. */
static void assert_found_in(const char *file, const char *expected)
{
	auto_(path_set_release) struct path_set fresh = {0};
	const struct check check = {
		.directory = directory,
		.profile = profile_find("hf"),
		.fresh = file ? &fresh : NULL,
	};
	auto_(findings_release) struct findings findings = {0};
	char found[256] = "";

	if (file)
		path_set_mark(&fresh, file, 1);
	assert_int_equal(content_check_run(&check, &findings, NULL), 0);
	for (size_t i = 0; i < findings.count; i++) {
		int64_t wait_ms = findings.items[i].wait_ms > 0 ? findings.items[i].wait_ms : 0;

		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s %lld;",
			 findings.items[i].path, (long long)wait_ms);
	}
	assert_string_equal(found, expected);
}

static void assert_found(const char *expected)
{
	assert_found_in(NULL, expected);
}

static void test_what_is_cut_off_is_waited_for_briefly(void **state)
{
	(void)state;
	write_file("model.pt", CUT_OFF, -HOUR);
	assert_found("model.pt 30000;");
	write_file("model.pt", "no archive", -HOUR);
	assert_found("");
}

static void test_a_marker_is_waited_for_longer(void **state)
{
	(void)state;
	write_file("checkpoint-5/weights.bin", "weights", -HOUR);
	assert_found("checkpoint-5 600000;");
	write_file("checkpoint-5/trainer_state.json", "{}", -HOUR);
	assert_found("");
	/* Both: the longer time, once. */
	write_file("checkpoint-6/model.pt", CUT_OFF, -HOUR);
	assert_found("checkpoint-6 600000;");
}

static void test_what_lies_in_other_checkpoints_is_no_evidence(void **state)
{
	(void)state;
	write_file("runs/checkpoint-4/weights.bin", "weights", -HOUR);
	write_file("runs/checkpoint-5/shards/0.bin", "weights", -HOUR);
	assert_found("runs/checkpoint-4 600000;runs/checkpoint-5 600000;");
	assert_found_in("runs/checkpoint-5/shards/0.bin", "runs/checkpoint-5 600000;");
	write_file("runs/checkpoint-5/trainer_state.json", "{}", -HOUR);
	assert_found_in("runs/checkpoint-5/shards/0.bin", "");
	/* Those below the fixed names. */
	write_file("last/model.pt", CUT_OFF, -HOUR);
	assert_found_in("last/model.pt", "last/model.pt 30000;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_is_cut_off_is_waited_for_briefly, begin,
						end),
		cmocka_unit_test_setup_teardown(test_a_marker_is_waited_for_longer, begin, end),
		cmocka_unit_test_setup_teardown(test_what_lies_in_other_checkpoints_is_no_evidence,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
