/* The names of joins in the store. */
#include "storage/gangs/gang_records.h"

#include "base/cleanup.h"

#include <string.h>

#include "unit.h"

#define NONCE "0123456789abcdef0123456789abcdef"

static void assert_same(const struct gang_join *join)
{
	auto_free char *name = gang_join_format(join);
	struct gang_join parsed;

	assert_true(gang_join_parse(name, &parsed));
	assert_int_equal(parsed.member, join->member);
	assert_int_equal(parsed.members, join->members);
	assert_int_equal(parsed.first_after, join->first_after);
	assert_int_equal(parsed.turn, join->turn);
	assert_true(parsed.age_ms == join->age_ms);
	assert_string_equal(parsed.nonce, join->nonce);
	assert_string_equal(parsed.launch.id, join->launch.id);
	assert_int_equal(parsed.launch.after, join->launch.after);
	assert_true(parsed.launch.put_ms == join->launch.put_ms);
	assert_int_equal(parsed.refused, join->refused);
	assert_string_equal(parsed.host, join->host);
}

static void what_is_written_is_read(void **state)
{
	struct gang_join join = {
		.member = 7,
		.members = STORAGE_GANG_MOST,
		.nonce = NONCE,
		.first_after = 1234567,
		.turn = 3,
		.age_ms = 86400000000,
	};

	(void)state;
	assert_same(&join);
	join.launch = (struct gang_launch){.id = "fedcba9876543210",
					   .after = 12,
					   .put_ms = 1700000000123};
	assert_same(&join);
	join.launch = (struct gang_launch){0};
	assert_same(&join);
	join.launch = (struct gang_launch){.id = "fedcba9876543210",
					   .after = 12,
					   .put_ms = 1700000000123};
	join.refused = true;
	assert_same(&join);
	gang_join_set_host(&join, "gpu-7.rack 5/a");
	assert_string_equal(join.host, "gpu-7.rack_5_a");
	assert_same(&join);
	join.launch = (struct gang_launch){0};
	assert_same(&join);
	join.refused = false;
	assert_same(&join);
}

static void other_names_are_none(void **state)
{
	static const char *const names[] = {
		"go",
		"ready-00001",
		"join-00001-00002-" NONCE ".json",
		"join-00002-00002-000000-00001-5-" NONCE ".json",
		"join-00001-00002-000000-00001-5-" NONCE,
		"join-00001-00002-000000-00001-5-" NONCE ".json.tmp",
		"join-00001-00002-000000-00001--5-" NONCE ".json",
		"join-00001-00002-000000-00001-5-" NONCE "-fedcba9876543210-000001-7",
		"join-00001-99999-000000-00001-5-" NONCE ".json",
		"join-00001-00002-000000-00001-5-" NONCE "..json",
		"join-00001-00002-000000-00001-5-" NONCE ".a/b.json",
		"join-00001-00002-000000-00001-5-" NONCE "-refuse.json",
		"join-00001-00002-000000-00001-5-" NONCE "-at.json",
		"join-00001-00002-000000-00001-5-" NONCE "-at7f000001X.json",
	};
	struct gang_join join;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (gang_join_parse(names[i], &join))
			fail_msg("%s", names[i]);
}

/* Who cannot be a member may know no number, and only then has none. */
static void who_has_no_number(void **state)
{
	static const struct {
		const char *name;
		bool is_one;
	} rows[] = {
		{"join-00000-00000-000000-00001-5-" NONCE "-refused.json", true},
		{"join-00000-00000-000000-00001-5-" NONCE ".json", false},
		{"join-00001-00000-000000-00001-5-" NONCE "-refused.json", false},
		{"join-00001-00002-000000-00001-5-" NONCE "-refused.json", true},
		{"join-00002-00002-000000-00001-5-" NONCE "-refused.json", false},
	};
	struct gang_join join;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (gang_join_parse(rows[i].name, &join) != rows[i].is_one)
			fail_msg("%s", rows[i].name);
}

/* What is there of one process is one join, wherever it stands in the list. */
static void joins_of_one_nonce_are_one(void **state)
{
	struct gang_join joins[] = {
		{.member = 0, .members = 3, .nonce = "a", .birth_ms = 5000},
		{.member = 1, .members = 3, .nonce = "b", .birth_ms = 9000},
		{.member = 0, .members = 3, .nonce = "a", .birth_ms = 2000},
		{.member = 2, .members = 3, .nonce = "c", .birth_ms = 1000, .refused = true},
		{.member = 1, .members = 3, .nonce = "d", .birth_ms = 9000},
		{.member = 2, .members = 3, .nonce = "c", .birth_ms = 500},
		{.member = 0, .members = 3, .nonce = "a", .birth_ms = 7000},
	};

	(void)state;
	assert_int_equal(gang_joins_unite(joins, sizeof(joins) / sizeof(joins[0])), 4);
	assert_string_equal(joins[0].nonce, "a");
	assert_int_equal(joins[0].birth_ms, 2000);
	assert_string_equal(joins[1].nonce, "b");
	assert_string_equal(joins[2].nonce, "c");
	assert_true(joins[2].refused);
	assert_string_equal(joins[3].nonce, "d");
	assert_int_equal(gang_joins_unite(joins, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(other_names_are_none),
		cmocka_unit_test(who_has_no_number),
		cmocka_unit_test(joins_of_one_nonce_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
