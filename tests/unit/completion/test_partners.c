/* Which fixed names are expected beside the numbers of a kind. */
#include "completion/partners.h"

#include "base/json.h"

#include "unit.h"

/* Each letter is a name, with its lag in ms behind the number; a capital one comes before it. */
static const struct {
	const char *saves[4];
	int64_t lag_ms;
	const char *expected;
} rows[] = {
	{{"a"}, 100, "a"},
	{{"", "a"}, 100, ""},
	{{"a", "a"}, 100, "a"},
	{{"ab", "a"}, 100, "a"},
	{{"ab", "b", "a"}, 100, ""},
	{{"a", "", "a", "a"}, 100, "a"},
	/* The other side is another partner. */
	{{"a", "A"}, 100, ""},
	{{"A", "A"}, 100, "A"},
};

static void learn(struct partners *partners, const char *names, int64_t lag_ms)
{
	struct partner seen[8];
	size_t count = 0;

	for (; *names; names++)
		seen[count++] = (struct partner){.name = *names | 32u,
						 .before = !(*names & 32),
						 .lag_ms = lag_ms};
	partners_learn(partners, seen, count);
}

static void check_names(const struct partners *partners, const char *expected)
{
	char found[8] = "";
	size_t count = 0;

	for (size_t i = 0; i < partners->count; i++) {
		const struct partner *partner = &partners->items[i];

		if (partners_expects(partners, partner))
			found[count++] =
				(char)(partner->before ? partner->name - 32 : partner->name);
	}
	found[count] = '\0';
	assert_string_equal(found, expected);
}

/* Kept in a manifest as it was learned. */
static void test_expected(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct partners partners = {0}, loaded = {0};
		json_t *json;

		for (size_t save = 0; save < 4 && rows[i].saves[save]; save++)
			learn(&partners, rows[i].saves[save], rows[i].lag_ms);
		check_names(&partners, rows[i].expected);
		json = partners_to_json(&partners);
		assert_int_equal(json != NULL, rows[i].expected[0] != '\0');
		partners_from_json(&loaded, json);
		check_names(&loaded, rows[i].expected);
		for (size_t known = 0; known < loaded.count; known++)
			assert_int_equal(loaded.items[known].lag_ms, rows[i].lag_ms);
		json_decref(json);
		partners_release(&partners);
		partners_release(&loaded);
	}
}

/* One save without it, and it is not expected; one that is known already is not learned again. */
static void test_the_first_save_of_the_next_attempt(void **state)
{
	struct partners partners = {0};
	json_t *json = json_pack("[[s, s, i]]", "0000000000000061", "behind", 100);

	(void)state;
	partners_from_json(&partners, json);
	learn(&partners, "a", 50);
	assert_int_equal(partners.items[0].lag_ms, 75);
	learn(&partners, "", 50);
	partners_from_json(&partners, json);
	check_names(&partners, "");
	json_decref(json);
	partners_release(&partners);
}

/* A manifest may say anything. */
static void test_what_is_not_understood(void **state)
{
	static const char *const texts[] = {
		"[]",
		"{}",
		"[1]",
		"[[\"x\", \"behind\", 1]]",
		"[[\"0000000000000061\", \"behind\", -1]]",
		"[[\"0000000000000061\", \"behind\", 99999999]]",
		"[[\"0000000000000061\", \"behind\"]]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct partners partners = {0};
		json_t *json = json_loads(texts[i], 0, NULL);

		assert_non_null(json);
		partners_from_json(&partners, json);
		check_names(&partners, "");
		json_decref(json);
		partners_release(&partners);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_the_first_save_of_the_next_attempt),
		cmocka_unit_test(test_what_is_not_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
