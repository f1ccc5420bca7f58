/* Who has come to the start of a gang. */
#include "gang/gang_start.h"

#include <string.h>

#include "unit.h"

#define JOINS_MOST 5

struct roster_row {
	const char *what;
	struct gang_join joins[JOINS_MOST];
	struct gang_join own;
	bool whole;
	enum gang_roster_state state;
	uint32_t there, missing;
	const char *by;
	bool unsettled;
};

#define AT 1000000
#define OLD (AT - GANG_CONTRADICTION_MS - 1)

/* Born when it was put. */
#define JOIN_OF(number, of, name, ms, ...)                                          \
	{                                                                           \
		.member = (number), .members = (of), .nonce = name, .put_ms = (ms), \
		.birth_ms = (ms), __VA_ARGS__                                       \
	}
#define JOIN(number, of, name, ms) JOIN_OF(number, of, name, ms, .turn = 0)
#define REFUSED(number, of, name, ms) JOIN_OF(number, of, name, ms, .refused = true)
/* Of those that the clock does not tell apart. */
#define TURN(number, of, name, ms, which_after, which) \
	JOIN_OF(number, of, name, ms, .first_after = (which_after), .turn = (which))
/* Of a start that the launcher has a name for. */
#define LAUNCHED(number, of, name, ms, start, since) \
	JOIN_OF(number, of, name, ms, .launch = {.id = start, .after = 1, .put_ms = (since)})
/* It knows nothing but of which launch it is. */
#define UNKNOWN(name, ms, start)                 \
	JOIN_OF(0, 0, name, ms, .refused = true, \
		.launch = {.id = start, .after = 1, .put_ms = (ms)})
/* Of two members. */
#define AT_HOST(number, name, ms, of) JOIN_OF(number, 2, name, ms, .host = of)

// clang-format off
static const struct roster_row rows[] = {
	{"own is not listed yet", {JOIN(0, 2, "a", AT)}, JOIN(1, 2, "b", 0), false,
		ROSTER_WAITING, 0, 1, NULL, false},
	{"alone", {JOIN(1, 3, "b", AT)}, JOIN(1, 3, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"one is missing",
		{JOIN(0, 3, "a", AT), JOIN(1, 3, "b", AT)}, JOIN(1, 3, "b", 0), false,
		ROSTER_WAITING, 2, 2, NULL, false},
	{"all are there",
		{JOIN(1, 2, "b", AT), JOIN(0, 2, "a", AT + 5)}, JOIN(1, 2, "b", 0), false,
		ROSTER_COMPLETE, 2, 0, NULL, false},
	{"a later one",
		{JOIN(1, 2, "b", AT), JOIN(1, 2, "a", AT + 3000), JOIN(0, 2, "d", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_REPLACED, 0, 1, "a", false},
	{"an earlier one, though it was put later",
		{{.member = 1, .members = 2, .nonce = "c", .put_ms = AT + 9000, .birth_ms = AT - 3000},
		 JOIN(1, 2, "b", AT), JOIN(0, 2, "a", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_COMPLETE, 2, 0, NULL, false},
	{"at one time, who has found the other is later",
		{TURN(1, 2, "c", AT + 900, 5, 1), TURN(1, 2, "b", AT, 5, 2)},
		JOIN(1, 2, "c", 0), false, ROSTER_REPLACED, 0, 1, "b", false},
	{"at one time, who has found a newer attempt is later",
		{TURN(1, 2, "c", AT + 900, 5, 3), TURN(1, 2, "b", AT, 6, 1)},
		JOIN(1, 2, "c", 0), false, ROSTER_REPLACED, 0, 1, "b", false},
	{"at once, the nonce decides",
		{TURN(1, 2, "b", AT, 5, 1), TURN(1, 2, "c", AT, 5, 1)},
		JOIN(1, 2, "b", 0), false, ROSTER_REPLACED, 0, 1, "c", false},
	{"the other sees the same",
		{TURN(1, 2, "b", AT, 5, 1), TURN(1, 2, "c", AT, 5, 1)},
		JOIN(1, 2, "c", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"another number", {JOIN(1, 2, "b", AT), JOIN(0, 3, "a", AT + 1)}, JOIN(1, 2, "b", 0), false,
		ROSTER_CONTRADICTED, 0, 1, "a", false},
	{"just before", {JOIN(1, 2, "b", AT), JOIN(0, 3, "a", AT - 1000)}, JOIN(1, 2, "b", 0), false,
		ROSTER_CONTRADICTED, 0, 1, "a", false},
	{"left by a start that failed",
		{JOIN(1, 2, "b", AT), JOIN(0, 3, "a", OLD), JOIN(0, 2, "d", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_COMPLETE, 2, 0, NULL, false},
	{"of one start, another number is one at any time",
		{LAUNCHED(1, 2, "b", AT, "5", AT), LAUNCHED(0, 3, "a", OLD, "5", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_CONTRADICTED, 0, 1, "a", false},

	{"a later start, by another member",
		{LAUNCHED(1, 2, "b", AT + 5000, "5", AT), LAUNCHED(0, 2, "a", AT + 1, "4", AT + 1)},
		JOIN(1, 2, "b", 0), false, ROSTER_OUTRUN, 0, 1, "a", false},
	{"an earlier start does not count",
		{LAUNCHED(1, 2, "b", AT, "5", AT), LAUNCHED(0, 2, "a", AT + 5000, "6", AT - 1)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"nor its number of members",
		{LAUNCHED(1, 2, "b", AT, "5", AT), LAUNCHED(0, 3, "a", AT + 5000, "6", AT - 1)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"a start by hand is not mixed with another",
		{JOIN(1, 2, "b", AT), LAUNCHED(0, 2, "a", AT, "6", AT)}, JOIN(1, 2, "b", 0), false,
		ROSTER_WAITING, 1, 0, NULL, false},
	{"but is later member by member",
		{LAUNCHED(1, 2, "b", AT, "6", AT), JOIN(1, 2, "a", AT + 5000)},
		JOIN(1, 2, "b", 0), false, ROSTER_REPLACED, 0, 1, "a", false},
	{"two are one, where nobody is started again alone",
		{LAUNCHED(0, 2, "a", AT, "5", AT), LAUNCHED(0, 2, "b", AT + 1, "5", AT),
		 LAUNCHED(1, 2, "c", AT, "5", AT)},
		JOIN(1, 2, "c", 0), true, ROSTER_DOUBLED, 0, 1, "b", false},
	{"where somebody is, the later one counts",
		{LAUNCHED(0, 2, "a", AT, "5", AT), LAUNCHED(0, 2, "b", AT + 1, "5", AT),
		 LAUNCHED(1, 2, "c", AT, "5", AT)},
		JOIN(1, 2, "c", 0), false, ROSTER_COMPLETE, 2, 0, NULL, false},
	{"one cannot be a member",
		{JOIN(0, 3, "a", AT), REFUSED(2, 3, "c", AT + 1), JOIN(1, 3, "b", AT)},
		JOIN(1, 3, "b", 0), false, ROSTER_REFUSED, 0, 1, "c", false},
	{"nor with the others that have come",
		{JOIN(0, 2, "a", AT), REFUSED(0, 2, "c", AT + 3000), JOIN(1, 2, "b", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_REFUSED, 0, 1, "c", false},
	{"it is refused on a new machine",
		{JOIN(0, 2, "a", AT), REFUSED(0, 2, "c", AT + 3000), JOIN(1, 2, "b", AT)},
		JOIN(0, 2, "a", 0), false, ROSTER_REFUSED, 0, 1, "c", false},
	{"two machines are one member, and both live",
		{AT_HOST(1, "b", AT, "h1"), AT_HOST(1, "c", AT + 30000, "h2")}, JOIN(1, 2, "b", 0), false,
		ROSTER_TWICE, 0, 1, "c", false},
	{"on one machine the later one has taken its place",
		{AT_HOST(1, "b", AT, "h1"), AT_HOST(1, "c", AT + 30000, "h1")}, JOIN(1, 2, "b", 0), false,
		ROSTER_REPLACED, 0, 1, "c", false},
	{"so it has after a while",
		{AT_HOST(1, "b", OLD, "h1"), AT_HOST(1, "c", AT, "h2")}, JOIN(1, 2, "b", 0), false,
		ROSTER_REPLACED, 0, 1, "c", false},
	{"the earlier one says so, to the later one too",
		{AT_HOST(1, "c", AT, "h2"),
		 {.member = 1, .members = 2, .nonce = "b", .put_ms = AT + 4000, .birth_ms = AT - 3000,
		  .host = "h1", .refused = true}},
		JOIN(1, 2, "c", 0), false, ROSTER_REFUSED, 0, 1, "b", false},
	{"one does not know which it is",
		{LAUNCHED(0, 3, "a", AT, "5", AT), UNKNOWN("c", AT + 1, "5"), LAUNCHED(1, 3, "b", AT, "5", AT)},
		JOIN(1, 3, "b", 0), false, ROSTER_REFUSED, 0, 1, "c", false},
	{"also if member 0 has come since",
		{LAUNCHED(0, 3, "a", AT + 5, "5", AT), UNKNOWN("c", AT, "5"), LAUNCHED(1, 3, "b", AT + 9, "5", AT)},
		JOIN(1, 3, "b", 0), false, ROSTER_REFUSED, 0, 1, "c", false},
	{"also if this one has come long after",
		{UNKNOWN("c", OLD, "5"), LAUNCHED(1, 3, "b", AT, "5", AT)},
		JOIN(1, 3, "b", 0), false, ROSTER_REFUSED, 0, 1, "c", true},
	{"all are there without it",
		{LAUNCHED(0, 2, "a", AT, "5", AT), UNKNOWN("c", AT, "5"), LAUNCHED(1, 2, "b", AT, "5", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_COMPLETE, 2, 0, NULL, false},
	{"one that knows nothing is of a later launch, and no reason for this one to end",
		{UNKNOWN("c", AT + 1, "6"), LAUNCHED(1, 2, "b", AT, "5", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"or of one that has no name",
		{UNKNOWN("c", AT + 1, ""), LAUNCHED(1, 2, "b", AT, "5", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"or it has one, and this one has none",
		{UNKNOWN("c", AT + 1, "5"), JOIN(1, 2, "b", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"or both have none",
		{UNKNOWN("c", AT + 1, ""), JOIN(1, 2, "b", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"it has been started again since",
		{REFUSED(0, 2, "c", AT - 5000), JOIN(0, 2, "a", AT), JOIN(1, 2, "b", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_COMPLETE, 2, 0, NULL, false},
	{"perhaps it will be", {REFUSED(0, 2, "c", AT - 5000), JOIN(1, 2, "b", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, true},
	{"it has not been", {REFUSED(0, 2, "c", AT - 5000), JOIN(1, 2, "b", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_REFUSED, 0, 0, "c", false},
	{"that was long ago", {REFUSED(0, 2, "c", OLD), JOIN(1, 2, "b", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"of one start it counts at once",
		{{.member = 0, .members = 2, .nonce = "a", .put_ms = OLD, .birth_ms = OLD,
		  .refused = true, .launch = {.id = "5", .after = 1, .put_ms = AT}},
		 LAUNCHED(1, 2, "b", AT, "5", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_REFUSED, 0, 0, "a", true},
	{"of another start it does not count",
		{{.member = 0, .members = 2, .nonce = "a", .put_ms = AT, .birth_ms = AT,
		  .refused = true, .launch = {.id = "4", .after = 1, .put_ms = AT - 1}},
		 LAUNCHED(1, 2, "b", AT, "5", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 1, 0, NULL, false},
	{"all are there, but one was there before that says another number",
		{JOIN(0, 2, "a", AT), JOIN(1, 2, "b", AT), JOIN(2, 3, "c", AT - 5000)},
		JOIN(1, 2, "b", 0), false, ROSTER_WAITING, 2, 2, NULL, true},
	{"it says so still",
		{JOIN(0, 2, "a", AT), JOIN(1, 2, "b", AT), JOIN(2, 3, "c", AT - 5000)},
		JOIN(1, 2, "b", 0), false, ROSTER_CONTRADICTED, 0, 0, "c", false},
	{"the machine that said another number says this one by now",
		{JOIN(0, 3, "c", AT - 5000), JOIN(0, 2, "a", AT), JOIN(1, 2, "b", AT)},
		JOIN(1, 2, "b", 0), false, ROSTER_COMPLETE, 2, 0, NULL, false},
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
		struct gang_roster_view view = {row->whole, !row->unsettled};
		struct gang_roster roster =
			gang_roster_judge(row->joins, count_joins(row), &row->own, view);

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

/* Of each member the newest, and none of another number of members or another start, nor one that
 * is refused. */
static void test_choose(void **state)
{
	static const struct gang_join joins[] = {
		JOIN(1, 2, "b", AT + 3000),
		JOIN(0, 2, "a", AT),
		JOIN(1, 2, "c", AT),
		JOIN(0, 3, "d", AT + 9000),
		LAUNCHED(0, 2, "f", AT + 9000, "5", AT),
		JOIN(0, 2, "e", AT - 3000),
		REFUSED(1, 2, "9", AT + 6000),
	};
	struct gang_join chosen[2];

	(void)state;
	gang_roster_choose(joins, 7, &joins[0], chosen);
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
