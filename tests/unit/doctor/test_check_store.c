/* What a probe means: facts -> rows. */
#include "doctor/doctor.h"

#include "base/text.h"

#include "unit.h"

#include <string.h>

/* A store with which all is well. */
static struct store_probe sound(void)
{
	struct store_probe probe = {.dated = true, .bytes = 64 << 20, .at_once = 8};

	for (int i = 0; i < PROBE_STEPS; i++)
		probe.steps[i] =
			(struct probe_result){.tried = true, .worked = true, .took_ms = 1000};
	return probe;
}

static struct probe_result failure(enum err_kind kind)
{
	struct probe_result answer = {.tried = true};

	err_set(&answer.err, kind, "it said no");
	return answer;
}

static const struct check_result *find(const struct check_list *check_list, const char *check)
{
	for (size_t i = 0; i < check_list->count; i++)
		if (strcmp(check_list->rows[i].check, check) == 0)
			return &check_list->rows[i];
	return NULL;
}

static void test_all_is_well(void **state)
{
	struct store_probe probe = sound();
	struct check_list check_list;

	(void)state;
	check_store(&probe, "s3://b", 1000000000, &check_list);
	assert_int_equal(check_list.worst, CHECK_OK);
	for (size_t i = 0; i < check_list.count; i++)
		assert_string_equal(check_list.rows[i].fix, "");
	assert_string_equal(find(&check_list, "up")->text, "64 MiB/s (64 MiB on 8 connections)");
}

static void test_what_fails(void **state)
{
	static const struct {
		enum probe_step step;
		enum err_kind kind;
		const char *check, *fix; /* the beginning of it */
		enum check_level level;
	} rows[] = {
		// clang-format off
		{PROBE_OPEN, ERR_DENIED, "store", "use credentials", CHECK_FAIL},
		{PROBE_OPEN, ERR_NOT_FOUND, "store", "create the bucket", CHECK_FAIL},
		{PROBE_OPEN, ERR_INVALID, "store",
			"fix the URL, or create the bucket", CHECK_FAIL},
		{PROBE_OPEN, ERR_UNFIT, "store", "use a store that can put an object only",
			CHECK_FAIL},
		{PROBE_OPEN, ERR_RETRY, "store", "check that this machine can reach", CHECK_FAIL},
		{PROBE_PUT, ERR_DENIED, "put", "allow writing", CHECK_FAIL},
		{PROBE_PUT, ERR_NO_SPACE, "put", "keep fewer snapshots", CHECK_FAIL},
		{PROBE_GET, ERR_DENIED, "get", "allow reading", CHECK_FAIL},
		{PROBE_LIST, ERR_DENIED, "list", "allow listing", CHECK_FAIL},
		{PROBE_IF_ABSENT, ERR_FAILED, "if-absent",
			"use a store that can put an object only",
			CHECK_FAIL},
		{PROBE_REMOVE, ERR_DENIED, "delete", "allow removing", CHECK_WARN},
		{PROBE_REMOVE, ERR_FAILED, "delete", "", CHECK_FAIL},
		{PROBE_UPLOAD, ERR_RETRY, "up", "check that this machine can reach", CHECK_FAIL},
		{PROBE_UPLOAD, ERR_NO_SPACE, "up", "keep fewer snapshots", CHECK_FAIL},
		{PROBE_DOWNLOAD, ERR_CORRUPT, "down", "", CHECK_FAIL},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store_probe probe = sound();
		struct check_list check_list;
		const struct check_result *row;

		probe.steps[rows[i].step] = failure(rows[i].kind);
		check_store(&probe, "s3://b", 0, &check_list);
		row = find(&check_list, rows[i].check);
		assert_non_null(row);
		assert_int_equal(row->level, rows[i].level);
		assert_int_equal(check_list.worst, rows[i].level);
		assert_string_equal(row->text, "it said no");
		if (!text_starts(row->fix, rows[i].fix))
			fail_msg("%s: \"%s\"", rows[i].fix, row->fix);
	}
}

static void test_clock(void **state)
{
	static const struct {
		int64_t skew_ms;
		enum check_level level;
		const char *text;
	} rows[] = {
		// clang-format off
		{0, CHECK_OK, "same as the server's"},
		{-1500, CHECK_OK, "same as the server's"},
		{5000, CHECK_OK, "this machine's clock is 5.0 s behind the server's"},
		{-120000, CHECK_WARN, "this machine's clock is 2 min 0 s ahead of the server's"},
		{900000, CHECK_FAIL, "this machine's clock is 15 min 0 s behind the server's"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store_probe probe = sound();
		struct check_list check_list;

		check_store(&probe, "file:///x", 0, &check_list);
		assert_null(find(&check_list, "clock"));
		probe.skew_known = true;
		probe.skew_ms = rows[i].skew_ms;
		check_store(&probe, "s3://b", 0, &check_list);
		assert_string_equal(find(&check_list, "clock")->text, rows[i].text);
		assert_int_equal(find(&check_list, "clock")->level, rows[i].level);
	}
}

static void test_what_fits(void **state)
{
	static const struct {
		uint64_t size;
		int64_t took_ms; /* for 64 MiB */
		enum check_level level;
		const char *text;
	} rows[] = {
		// clang-format off
		{40000000000, 100, CHECK_WARN,
			"40 GB fit in 120 s: yes, in 30 s: no (they need about 59 s)"},
		{40000000000, 10, CHECK_OK,
			"40 GB fit in 120 s: yes, in 30 s: yes (they need about 6.0 s)"},
		{40000000000, 1000, CHECK_WARN,
			"40 GB fit in 120 s: no, in 30 s: no (they need about 9 min 56 s)"},
		{20000000000000, 100, CHECK_WARN,
			"20 TB fit in 120 s: no, in 30 s: no (they need about 8 h 16 min)"},
		{512000000, 1000, CHECK_OK,
			"512 MB fit in 120 s: yes, in 30 s: yes (they need about 7.6 s)"},
		{0, 1000, CHECK_OK,
			"2.013 GB fit in 30 s, 8.053 GB in 120 s (--size says whether your checkpoint "
			"does)"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store_probe probe = sound();
		struct check_list check_list;

		probe.steps[PROBE_UPLOAD].took_ms = rows[i].took_ms;
		check_store(&probe, "s3://b", rows[i].size, &check_list);
		assert_string_equal(find(&check_list, "fit")->text, rows[i].text);
		assert_int_equal(find(&check_list, "fit")->level, rows[i].level);
	}
}

/* Who names a size is told that it was not judged, and why. */
static void test_a_size_without_a_measurement(void **state)
{
	struct store_probe probe = sound();
	struct check_list check_list;

	(void)state;
	probe.steps[PROBE_UPLOAD] = probe.steps[PROBE_DOWNLOAD] = (struct probe_result){0};
	check_store(&probe, "s3://b", 20000000000, &check_list);
	assert_string_equal(find(&check_list, "fit")->text,
			    "whether 20 GB fit in a notice is not known: nothing was measured");
	assert_int_equal(find(&check_list, "fit")->level, CHECK_WARN);
	check_store(&probe, "s3://b", 0, &check_list);
	assert_null(find(&check_list, "fit"));
	/* What has failed says why itself. */
	probe.steps[PROBE_UPLOAD] = failure(ERR_RETRY);
	check_store(&probe, "s3://b", 20000000000, &check_list);
	assert_null(find(&check_list, "fit"));
}

static void test_transfer(void **state)
{
	struct store_probe probe = sound();

	(void)state;
	assert_int_equal(check_store_transfer_ms(&probe, (uint64_t)64 << 20), 1000);
	assert_int_equal(check_store_transfer_ms(&probe, (uint64_t)640 << 20), 10000);
	assert_int_equal(check_store_transfer_ms(&probe, 0), -1);
	assert_true(check_store_transfer_ms(&probe, UINT64_MAX) > 0);
	probe.steps[PROBE_UPLOAD] = failure(ERR_RETRY);
	assert_int_equal(check_store_transfer_ms(&probe, 1000), -1);
	probe = (struct store_probe){0};
	assert_int_equal(check_store_transfer_ms(&probe, 1000), -1);
}

static void test_what_was_not_tried_is_not_said(void **state)
{
	struct store_probe probe = {0};
	struct check_list check_list;

	(void)state;
	probe.steps[PROBE_OPEN] = failure(ERR_RETRY);
	check_store(&probe, "s3://b", 1000, &check_list);
	assert_int_equal(check_list.count, 1);
	probe = sound();
	probe.if_absent_guessed = true;
	probe.dated = false;
	check_store(&probe, "s3://b", 0, &check_list);
	assert_int_equal(find(&check_list, "if-absent")->level, CHECK_WARN);
	assert_non_null(strstr(find(&check_list, "if-absent")->text, "may both win"));
	assert_int_equal(find(&check_list, "age")->level, CHECK_WARN);
	probe.steps[PROBE_UPLOAD] = failure(ERR_RETRY);
	check_store(&probe, "s3://b", 0, &check_list);
	assert_null(find(&check_list, "fit"));
	probe = sound();
	probe.made = true;
	check_store(&probe, "file:///mnt/shaer", 0, &check_list);
	assert_int_equal(find(&check_list, "store")->level, CHECK_WARN);
	assert_non_null(
		strstr(find(&check_list, "store")->text, "the directory does not exist yet"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_well),
		cmocka_unit_test(test_what_fails),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_what_fits),
		cmocka_unit_test(test_a_size_without_a_measurement),
		cmocka_unit_test(test_transfer),
		cmocka_unit_test(test_what_was_not_tried_is_not_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
