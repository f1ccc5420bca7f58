/* When the parts of a gang's members are a snapshot, and when they never will be. */
#include "storage/snapshots/gang_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PARTS_MOST 6

struct parts_row {
	const char *what;
	struct gang_part parts[PARTS_MOST]; /* {step, member, sequence}; sequence 0 ends them */
	uint32_t members;
	int64_t step;
	enum gang_parts_state state;
	uint32_t there, absent;
	int64_t later;
};

// clang-format off
static const struct parts_row rows[] = {
	{"nothing yet", {{0}}, 2, 10, GANG_PARTS_WAITING, 0, 0, 0},
	{"one of two", {{10, 1, 1}}, 2, 10, GANG_PARTS_WAITING, 1, 0, 0},
	{"all", {{10, 1, 1}, {10, 0, 3}}, 2, 10, GANG_PARTS_COMPLETE, 2, 0, 0},
	{"one twice", {{10, 1, 1}, {10, 1, 2}}, 2, 10, GANG_PARTS_WAITING, 1, 0, 0},
	{"of another step", {{10, 1, 1}, {9, 0, 3}}, 2, 10, GANG_PARTS_WAITING, 1, 0, 0},
	{"of no member", {{10, 1, 1}, {10, 2, 3}}, 2, 10, GANG_PARTS_WAITING, 1, 0, 0},
	{"all, and some have gone on", {{10, 1, 1}, {10, 0, 3}, {20, 0, 4}}, 2, 10,
		GANG_PARTS_COMPLETE, 2, 0, 0},
	{"one has left it out", {{10, 0, 1}, {20, 1, 3}}, 2, 10, GANG_PARTS_LEFT_OUT, 1, 1, 20},
	{"and is there at two", {{10, 0, 1}, {30, 1, 4}, {20, 1, 3}}, 2, 10,
		GANG_PARTS_LEFT_OUT, 1, 1, 20},
	{"one has, and another has not come", {{10, 0, 1}, {20, 2, 3}}, 3, 10,
		GANG_PARTS_LEFT_OUT, 1, 2, 20},
	{"step 0", {{0, 1, 1}, {0, 0, 1}}, 2, 0, GANG_PARTS_COMPLETE, 2, 0, 0},
};
// clang-format on

static size_t count_parts(const struct parts_row *row)
{
	size_t count = 0;

	while (count < PARTS_MOST && row->parts[count].sequence)
		count++;
	return count;
}

static void test_judge(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct parts_row *row = &rows[i];
		struct gang_parts_verdict verdict =
			gang_parts_judge(row->parts, count_parts(row), row->members, row->step);

		if (verdict.state != row->state || verdict.there != row->there ||
		    verdict.later != row->later)
			fail_msg("%s: state %d, %u there, later %lld", row->what, verdict.state,
				 verdict.there, (long long)verdict.later);
		if (row->state != GANG_PARTS_COMPLETE && verdict.absent != row->absent)
			fail_msg("%s: member %u is absent", row->what, verdict.absent);
	}
}

/* Of two parts of one member, the later save's counts. */
static void test_find(void **state)
{
	static const struct gang_part parts[] = {{10, 1, 4}, {10, 1, 7}, {10, 1, 5}, {20, 1, 9}};

	(void)state;
	assert_int_equal(gang_parts_find(parts, 4, 1, 10)->sequence, 7);
	assert_null(gang_parts_find(parts, 4, 0, 10));
}

static void test_names(void **state)
{
	static const char *const bad[] = {
		"",
		"000000000100",
		"000000000100/00003",
		"000000000100/00003-000007",
		"000000000100/00003-000007.json.tmp",
		"x/00003-000007.json",
		"1/-000007.json",
		"99999999999999999999/00003-000007.json",
	};
	struct gang_part part = {123456789012345, 3, 7}, read = {0};
	char *name = gang_part_format(&part);

	(void)state;
	assert_true(gang_part_parse(name, &read));
	assert_memory_equal(&read, &part, sizeof(part));
	free(name);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (gang_part_parse(bad[i], &read))
			fail_msg("\"%s\" is no part", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
