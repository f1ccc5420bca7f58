/* The summary of old attempts: what it says comes back, what makes no sense is refused as a whole,
 * and it takes the place only of what it says as well. */
#include "storage_fixture.h"

#include "storage/records/lineage_summary.h"

#include "base/json.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static const struct lineage_attempt attempts[] = {
	{.number = 1, .known = true, .policy = RESTORE_LATEST},
	{.number = 2, .known = true, .policy = RESTORE_NONE, .unconfirmed = true},
	{.number = 5},
	{.number = 9, .known = true, .policy = RESTORE_LATEST, .start = {5, 7}, .suspect = {5, 8}},
};

static struct lineage_summary summary_of(const struct lineage_attempt *rows, size_t count,
					 uint32_t through)
{
	struct lineage_summary summary = {.through = through, .count = count};

	summary.attempts = memory_new((count + 1) * sizeof(*rows));
	if (count > 0)
		memcpy(summary.attempts, rows, count * sizeof(*rows));
	return summary;
}

static void test_what_it_says_comes_back(void **state)
{
	auto_(lineage_summary_release) struct lineage_summary first =
		summary_of(attempts, COUNT(attempts), 12);
	auto_(lineage_summary_release) struct lineage_summary second = {0}, other = {0};
	auto_json json_t *body = NULL;

	(void)state;
	first.recent = json_array();
	json_array_append_new(first.recent, lineage_summary_body(9, NULL, NULL));
	body = lineage_summary_encode(&first);
	assert_non_null(body);
	assert_works(lineage_summary_decode(body, 12, &second, &err));
	assert_int_equal(second.through, 12);
	assert_int_equal(second.count, COUNT(attempts));
	assert_true(lineage_summary_covers(&first, &second));
	assert_true(lineage_summary_covers(&second, &first));
	assert_true(json_equal(first.recent, second.recent));
	/* That of another key. */
	assert_fails(lineage_summary_decode(body, 13, &other, &err), ERR_CORRUPT);
}

/* Attempts in order and up to the number of the summary, each of which goes on from one before it.
 */
static void test_what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *rows;
		bool good;
	} cases[] = {
		// clang-format off
		{"", true},
		{"[1, \"latest\", null, true]", true},
		{"[8, \"latest\", \"7-3\", true]", true},
		{"[8, null, null, false]", true},
		{"[8, \"latest\", null, true, \"7-3\"]", true},
		{"[8, \"latest\", null, true, null]", true},
		{"[1, null, null, true], [2, null, null, true]", true},
		{"[0, \"latest\", null, true]", false},
		{"[-1, \"latest\", null, true]", false},
		{"[9, \"latest\", null, true]", false},
		{"[4294967297, \"latest\", null, true]", false},
		{"[\"1\", \"latest\", null, true]", false},
		{"[8, \"whatever\", null, true]", false},
		{"[8, \"latest\", \"8-1\", true]", false},
		{"[8, \"latest\", \"9-1\", true]", false},
		{"[8, \"latest\", \"7-0\", true]", false},
		{"[8, \"latest\", 7, true]", false},
		{"[8, \"latest\"]", false},
		{"[8, \"latest\", null]", false},
		{"[8, \"latest\", null, 1]", false},
		{"[8, \"latest\", null, true, 7]", false},
		{"[8, \"latest\", null, true, \"x\"]", false},
		{"[2, null, null, true], [2, null, null, true]", false},
		{"[2, null, null, true], [1, null, null, true]", false},
		{"{}", false},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		auto_free char *text =
			text_format("{\"through\": 8, \"attempts\": [%s]}", cases[i].rows);
		auto_json json_t *body = json_parse(text, strlen(text), &err);
		struct lineage_summary summary;

		assert_non_null(body);
		err = (struct err){0};
		if ((lineage_summary_decode(body, 8, &summary, &err) == 0) != cases[i].good ||
		    (!cases[i].good && err.kind != ERR_CORRUPT))
			fail_msg("%s: %s", text, err.text);
		if (cases[i].good)
			lineage_summary_release(&summary);
	}
}

/* Of any attempt of the part, whatever is said otherwise, or not at all, is not covered; more may
 * be said. */
static void test_what_it_takes_the_place_of(void **state)
{
	auto_(lineage_summary_release) struct lineage_summary part =
		summary_of(attempts, COUNT(attempts), 12);
	auto_(lineage_summary_release) struct lineage_summary none = summary_of(NULL, 0, 12);

	(void)state;
	assert_true(lineage_summary_covers(&part, &none));
	assert_true(lineage_summary_covers(&part, &part));
	for (size_t i = 0; i < COUNT(attempts); i++) {
		struct lineage_attempt one = attempts[i],
				       changed[] = {one, one, one, one, one, one, one, one};
		struct lineage_attempt more[COUNT(attempts) + 1];
		auto_(lineage_summary_release) struct lineage_summary all =
			summary_of(attempts, COUNT(attempts), 12);
		auto_(lineage_summary_release) struct lineage_summary alone =
			summary_of(&one, 1, one.number);

		assert_true(lineage_summary_covers(&part, &alone));
		changed[0].known = !one.known;
		changed[1].unconfirmed = !one.unconfirmed;
		changed[2].policy = one.policy == RESTORE_NONE ? RESTORE_LATEST : RESTORE_NONE;
		changed[3].start.attempt++;
		changed[4].start.sequence++;
		changed[5].suspect.attempt++;
		changed[6].suspect.sequence++;
		changed[7].number++;
		for (size_t j = 0; j < COUNT(changed); j++) {
			all.attempts[i] = changed[j];
			if (lineage_summary_covers(&all, &part))
				fail_msg("attempt %u, change %zu", one.number, j);
		}
		all.attempts[i] = one;
		all.through = 11;
		assert_false(lineage_summary_covers(&all, &part));
		/* Without this one. */
		memmove(&all.attempts[i], &all.attempts[i + 1], (--all.count - i) * sizeof(one));
		all.through = 12;
		assert_false(lineage_summary_covers(&all, &part));
		assert_true(lineage_summary_covers(&part, &all));
		/* With one more behind it. */
		memcpy(more, attempts, (i + 1) * sizeof(one));
		more[i + 1] = (struct lineage_attempt){.number = 13};
		alone.through = 12;
		{
			auto_(lineage_summary_release) struct lineage_summary longer =
				summary_of(more, i + 2, 13);

			assert_true(lineage_summary_covers(&longer, &alone));
			assert_false(lineage_summary_covers(&alone, &longer));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_it_says_comes_back),
		cmocka_unit_test(test_what_makes_no_sense_is_refused),
		cmocka_unit_test(test_what_it_takes_the_place_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
