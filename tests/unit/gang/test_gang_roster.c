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
	bool whole;
	enum gang_roster_state state;
	uint32_t there, missing;
	const char *by;
};

#define AT 1000000
#define OLD (AT - GANG_CONTRADICTION_MS - 1)

/* Born when it was put. */
#define JOIN(number, of, name, ms)                                                  \
	{                                                                           \
		.member = (number), .members = (of), .nonce = name, .put_ms = (ms), \
		.birth_ms = (ms)                                                    \
	}
/* Of those that the clock does not tell apart. */
#define TURN(number, of, name, ms, after, which)                                    \
	{                                                                           \
		.member = (number), .members = (of), .nonce = name, .put_ms = (ms), \
		.birth_ms = (ms), .first_after = (after), .turn = (which)           \
	}
/* Of a start that the launcher has a name for. */
#define LAUNCHED(number, of, name, ms, start, since)                                \
	{                                                                           \
		.member = (number), .members = (of), .nonce = name, .put_ms = (ms), \
		.birth_ms = (ms),                                                   \
		.launch =                                                           \
		{.id = start,                                                       \
		 .after = 1,                                                        \
		 .put_ms = (since) }                                                \
	}

// clang-format off
static const struct roster_row rows[] = {
	{"own is not listed yet", {JOIN(0, 2, "a", AT)}, JOIN(1, 2, "b", 0), false,
		ROSTER_WAITING, 0, 1, NULL},
	{"alone", {JOIN(1, 3, "b", AT)}, JOIN(1, 3, "b", 0), false, ROSTER_WAITING, 1, 0, NULL},
	{"one is missing",
		{JOIN(0, 3, "a", AT), JOIN(1, 3, "b", AT)}, JOIN(1, 3, "b", 0), false,
		ROSTER_WAITING, 2, 2, NULL},
	{"all are there",
		{JOIN(1, 2, "b", AT), JOIN(0, 2, "a", AT + 5)}, JOIN(1, 2, "b", 0), false,
		ROSTER_COMPLETE, 2, 0, NULL},
	{"a later one",
		{JOIN(1, 2, "b", AT), JOIN(1, 2, "a", AT + 3000), JOIN(0, 2, "d", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_REPLACED, 0, 1, "a"},
	{"an earlier one, though it was put later",
		{{.member = 1, .members = 2, .nonce = "c", .put_ms = AT + 9000, .birth_ms = AT - 3000},
		 JOIN(1, 2, "b", AT), JOIN(0, 2, "a", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_COMPLETE, 2, 0, NULL},
	{"at one time, who has found the other is later",
		{TURN(1, 2, "c", AT + 900, 5, 1), TURN(1, 2, "b", AT, 5, 2)},
		JOIN(1, 2, "c", 0), false, ROSTER_REPLACED, 0, 1, "b"},
	{"at one time, who has found a newer attempt is later",
		{TURN(1, 2, "c", AT + 900, 5, 3), TURN(1, 2, "b", AT, 6, 1)},
		JOIN(1, 2, "c", 0), false, ROSTER_REPLACED, 0, 1, "b"},
	{"at once, the nonce decides",
		{TURN(1, 2, "b", AT, 5, 1), TURN(1, 2, "c", AT, 5, 1)},
		JOIN(1, 2, "b", 0), false, ROSTER_REPLACED, 0, 1, "c"},
	{"the other sees the same",
		{TURN(1, 2, "b", AT, 5, 1), TURN(1, 2, "c", AT, 5, 1)},
		JOIN(1, 2, "c", 0), false, ROSTER_WAITING, 1, 0, NULL},
	{"another number", {JOIN(1, 2, "b", AT), JOIN(0, 3, "a", AT + 1)}, JOIN(1, 2, "b", 0), false,
		ROSTER_CONTRADICTED, 0, 1, "a"},
	{"just before", {JOIN(1, 2, "b", AT), JOIN(0, 3, "a", AT - 1000)}, JOIN(1, 2, "b", 0), false,
		ROSTER_CONTRADICTED, 0, 1, "a"},
	{"left by a start that failed",
		{JOIN(1, 2, "b", AT), JOIN(0, 3, "a", OLD), JOIN(0, 2, "d", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_COMPLETE, 2, 0, NULL},
	{"of one start, another number is one at any time",
		{LAUNCHED(1, 2, "b", AT, "5", AT), LAUNCHED(0, 3, "a", OLD, "5", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_CONTRADICTED, 0, 1, "a"},

	{"a later start, by another member",
		{LAUNCHED(1, 2, "b", AT + 5000, "5", AT), LAUNCHED(0, 2, "a", AT + 1, "4", AT + 1)},
		JOIN(1, 2, "b", 0), false, ROSTER_OUTRUN, 0, 1, "a"},
	{"an earlier start does not count",
		{LAUNCHED(1, 2, "b", AT, "5", AT), LAUNCHED(0, 2, "a", AT + 5000, "6", AT - 1)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL},
	{"nor its number of members",
		{LAUNCHED(1, 2, "b", AT, "5", AT), LAUNCHED(0, 3, "a", AT + 5000, "6", AT - 1)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL},
	{"a start by hand is not mixed with another",
		{JOIN(1, 2, "b", AT), LAUNCHED(0, 2, "a", AT, "6", AT)}, JOIN(1, 2, "b", 0), false,
		ROSTER_WAITING, 1, 0, NULL},
	{"but is later member by member",
		{LAUNCHED(1, 2, "b", AT, "6", AT), JOIN(1, 2, "a", AT + 5000)},
		JOIN(1, 2, "b", 0), false, ROSTER_REPLACED, 0, 1, "a"},
	{"two are one, where nobody is started again alone",
		{LAUNCHED(0, 2, "a", AT, "5", AT), LAUNCHED(0, 2, "b", AT + 1, "5", AT),
		 LAUNCHED(1, 2, "c", AT, "5", AT)},
		JOIN(1, 2, "c", 0), true, ROSTER_DOUBLED, 0, 1, "b"},
	{"where somebody is, the later one counts",
		{LAUNCHED(0, 2, "a", AT, "5", AT), LAUNCHED(0, 2, "b", AT + 1, "5", AT),
		 LAUNCHED(1, 2, "c", AT, "5", AT)},
		JOIN(1, 2, "c", 0), false, ROSTER_COMPLETE, 2, 0, NULL},
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
			gang_roster_judge(row->joins, count_joins(row), &row->own, row->whole);

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

/* Of each member the newest, and none of another number of members or another start. */
static void test_choose(void **state)
{
	static const struct gang_join joins[] = {
		JOIN(1, 2, "b", AT + 3000),
		JOIN(0, 2, "a", AT),
		JOIN(1, 2, "c", AT),
		JOIN(0, 3, "d", AT + 9000),
		LAUNCHED(0, 2, "f", AT + 9000, "5", AT),
		JOIN(0, 2, "e", AT - 3000),
	};
	struct gang_join chosen[2];

	(void)state;
	gang_roster_choose(joins, 6, &joins[0], chosen);
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
