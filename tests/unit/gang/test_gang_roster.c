/* Who has come to the start of a gang. */
#include "gang/gang_roster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define JOINS_MOST 5

struct roster_row {
	const char *what;
	struct gang_join joins[JOINS_MOST];
	struct gang_join own;
	enum gang_roster_state state;
	uint32_t there, missing;
	const char *by;
};

#define AT 1000000
#define OLD (AT - GANG_CONTRADICTION_MS - 1)

// clang-format off
static const struct roster_row rows[] = {
	{"own is not listed yet", {{0, 2, "a", AT}}, {1, 2, "b", 0}, ROSTER_WAITING, 0, 1, NULL},
	{"alone", {{1, 3, "b", AT}}, {1, 3, "b", 0}, ROSTER_WAITING, 1, 0, NULL},
	{"one is missing",
		{{0, 3, "a", AT}, {1, 3, "b", AT}}, {1, 3, "b", 0}, ROSTER_WAITING, 2, 2, NULL},
	{"all are there",
		{{1, 2, "b", AT}, {0, 2, "a", AT + 5}}, {1, 2, "b", 0}, ROSTER_COMPLETE, 2, 1, NULL},
	{"a later one", {{1, 2, "b", AT}, {1, 2, "c", AT + 1}, {0, 2, "a", AT}}, {1, 2, "b", 0},
		ROSTER_REPLACED, 0, 1, "c"},
	{"an earlier one", {{1, 2, "c", AT}, {1, 2, "b", AT + 1}, {0, 2, "a", AT}}, {1, 2, "b", 0},
		ROSTER_COMPLETE, 2, 1, NULL},
	{"at one moment, the nonce decides", {{1, 2, "b", AT}, {1, 2, "c", AT}}, {1, 2, "b", 0},
		ROSTER_REPLACED, 0, 1, "c"},
	{"the other sees the same", {{1, 2, "b", AT}, {1, 2, "c", AT}}, {1, 2, "c", 0},
		ROSTER_WAITING, 1, 0, NULL},
	{"another number",
		{{1, 2, "b", AT}, {0, 3, "a", AT + 1}}, {1, 2, "b", 0}, ROSTER_CONTRADICTED, 0, 1, "a"},
	{"just before",
		{{1, 2, "b", AT}, {0, 3, "a", AT - 1000}}, {1, 2, "b", 0}, ROSTER_CONTRADICTED, 0, 1, "a"},
	{"left by a start that failed",
		{{1, 2, "b", AT}, {0, 3, "a", OLD}, {0, 2, "d", AT}}, {1, 2, "b", 0},
		ROSTER_COMPLETE, 2, 1, NULL},
};
// clang-format on

static size_t count_joins(const struct roster_row *row)
{
	size_t count = 0;

	while (count < JOINS_MOST && row->joins[count].nonce[0])
		count++;
	return count;
}

static void test_judge(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct roster_row *row = &rows[i];
		struct gang_roster roster =
			gang_roster_judge(row->joins, count_joins(row), &row->own);

		if (roster.state != row->state)
			fail_msg("%s: state %d", row->what, roster.state);
		if (row->by && strcmp(roster.by.nonce, row->by) != 0)
			fail_msg("%s: by %s", row->what, roster.by.nonce);
		if (!row->by && roster.there != row->there)
			fail_msg("%s: %u are there", row->what, roster.there);
		if (row->state == ROSTER_WAITING && roster.missing != row->missing)
			fail_msg("%s: member %u is missing", row->what, roster.missing);
	}
}

/* Of each member the newest, and none of another number of members. */
static void test_choose(void **state)
{
	static const struct gang_join joins[] = {
		{1, 2, "b", AT + 1}, {0, 2, "a", AT},     {1, 2, "c", AT},
		{0, 3, "d", AT + 9}, {0, 2, "e", AT - 1},
	};
	struct gang_join chosen[2];

	(void)state;
	gang_roster_choose(joins, 5, 2, chosen);
	assert_string_equal(chosen[0].nonce, "a");
	assert_string_equal(chosen[1].nonce, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_choose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
