/* How earlier attempts went, and a claim that keeps away from one snapshot. */
#include "storage_fixture.h"

#include "base/json.h"

static void test_avoiding_one(void **state)
{
	struct fixture f;
	struct claim claim = {.policy = RESTORE_LATEST, .avoid = {1, 2}};
	struct attempt attempt;
	struct attempt_history history;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	/* There is nothing behind it: better that than nothing. */
	claim.avoid.sequence = 1;
	assert_works(storage_claim(f.storage, &claim, &attempt, NULL, &err));
	assert_int_equal(snapshot_id_compare(attempt.start, (struct snapshot_id){1, 1}), 0);
	assert_true(snapshot_id_is_none(attempt.suspect));
	attempt_release(&attempt);
	fixture_claim(&f);
	fixture_write(&f, "w", 1000, 2);
	fixture_take(&f);
	/* Not the newest: it would not be chosen anyway. */
	assert_works(storage_claim(f.storage, &claim, &attempt, NULL, &err));
	assert_int_equal(snapshot_id_compare(attempt.start, (struct snapshot_id){3, 1}), 0);
	assert_true(snapshot_id_is_none(attempt.suspect));
	attempt_release(&attempt);
	claim.avoid = (struct snapshot_id){3, 1};
	assert_works(storage_claim(f.storage, &claim, &attempt, NULL, &err));
	assert_int_equal(snapshot_id_compare(attempt.start, (struct snapshot_id){1, 1}), 0);
	assert_int_equal(snapshot_id_compare(attempt.suspect, (struct snapshot_id){3, 1}), 0);
	attempt_release(&attempt);
	assert_works(storage_history(f.storage, 3, &history, NULL, &err));
	assert_int_equal(history.count, 3);
	assert_int_equal(history.items[0].number, 5);
	assert_int_equal(snapshot_id_compare(history.items[0].suspect, claim.avoid), 0);
	assert_int_equal(history.items[0].snapshots, 0);
	assert_int_equal(history.items[2].snapshots, 1);
	attempt_history_release(&history);
	fixture_stop(&f);
}

static void test_how_earlier_ones_went(void **state)
{
	struct fixture f;
	json_t *facts = json_pack("{s:i}", "exit_code", 3);
	struct attempt_history history;
	auto_free char *damaged = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	fixture_take(&f);
	assert_works(storage_end_attempt(f.storage, 1, "failed", facts, NULL, &err));
	fixture_claim(&f);
	fixture_claim(&f);
	damaged = fixture_find(&f, "attempts/000002.json");
	fixture_flip(damaged, 120);
	assert_works(storage_history(f.storage, 9, &history, NULL, &err));
	assert_int_equal(history.count, 3);
	assert_int_equal(history.items[0].number, 3);
	assert_true(history.items[0].known);
	assert_false(history.items[0].ended);
	assert_false(history.items[1].known);
	assert_true(history.items[2].ended);
	assert_string_equal(history.items[2].outcome, "failed");
	assert_int_equal(history.items[2].snapshots, 2);
	assert_int_equal(json_number_or(history.items[2].end_about, "exit_code", 0), 3);
	assert_true(history.items[2].ended_at[0] != '\0');
	attempt_history_release(&history);
	json_decref(facts);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_avoiding_one),
		cmocka_unit_test(test_how_earlier_ones_went),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
