/* What is asked for before a claim: whom it serves, how often, and what it must not hide. */
#include "slow_store.h"

#include "storage/snapshots/snapshots.h"

#define SIZE 100000

/* A second process that has read the history, and is about to claim. `f` stays the first one. */
static struct storage *about_to_claim(struct fixture *f)
{
	auto_(attempt_history_release) struct attempt_history history = {0};
	struct fixture other = *f;

	fixture_open(&other);
	assert_works(storage_history(other.storage, 9, &history, NULL, &err));
	return other.storage;
}

static struct attempt claimed(struct storage *storage, const struct claim *claim)
{
	struct attempt attempt;

	assert_works(storage_claim(storage, claim, &attempt, NULL, &err));
	return attempt;
}

static void started(struct fixture *f)
{
	fixture_start(f);
	fixture_write(f, "weights", SIZE, 1);
	fixture_take(f);
}

static unsigned lists_of_claim(struct fixture *f, const struct claim *claim)
{
	struct slow_store *slow = slow_store_install(f, NULL);
	unsigned lists;

	attempt_release(&f->attempt);
	f->attempt = claimed(f->storage, claim);
	lists = atomic_load(&slow->lists);
	f->storage->transfer.store = slow->behind;
	slow->behind = NULL;
	store_close(&slow->store);
	return lists;
}

/* The second look lists attempts and snapshots; a first look that was not asked for before does so
 * too, and lists the packs and what is set aside. */
static void test_it_serves_the_first_look_once(void **state)
{
	struct claim latest = {.policy = RESTORE_LATEST};
	struct claim next = {.policy = RESTORE_LATEST, .is_next = true, .after = 3};
	struct storage *before;
	struct fixture f;

	(void)state;
	started(&f);
	before = f.storage;
	f.storage = about_to_claim(&f);
	storage_close(before);
	assert_int_equal(lists_of_claim(&f, &latest), 2);
	assert_int_equal(lists_of_claim(&f, &latest), 6);
	/* Whoever claims only as the next one looks itself. */
	before = f.storage;
	f.storage = about_to_claim(&f);
	storage_close(before);
	assert_int_equal(lists_of_claim(&f, &next), 4);
	fixture_stop(&f);
}

static void test_what_is_committed_meanwhile_is_started_from(void **state)
{
	static const struct claim latest = {.policy = RESTORE_LATEST};
	struct snapshot_id newer;
	struct storage *other;
	struct attempt attempt;
	struct fixture f;

	(void)state;
	started(&f);
	other = about_to_claim(&f);
	fixture_write(&f, "weights", SIZE, 2);
	newer = fixture_take(&f);
	attempt = claimed(other, &latest);
	assert_int_equal(snapshot_id_compare(attempt.start, newer), 0);
	attempt_release(&attempt);
	storage_close(other);
	fixture_stop(&f);
}

/* Of two that have looked at the same instant, the second sees the first one's claim. */
static void test_two_that_looked_at_once(void **state)
{
	static const struct claim latest = {.policy = RESTORE_LATEST};
	struct storage *others[2];
	struct fixture f;
	uint32_t newest;

	(void)state;
	started(&f);
	for (size_t i = 0; i < 2; i++)
		others[i] = about_to_claim(&f);
	for (uint32_t i = 0; i < 2; i++) {
		struct attempt attempt = claimed(others[i], &latest);

		assert_int_equal(attempt.number, 2 + i);
		attempt_release(&attempt);
	}
	assert_works(storage_superseded(others[0], 2, &newest, NULL, &err));
	assert_int_equal(newest, 3);
	for (size_t i = 0; i < 2; i++)
		storage_close(others[i]);
	fixture_stop(&f);
}

/* --- the pack that is fetched beside the claim --- */

static void test_a_small_pack_is_fetched_once(void **state)
{
	static const struct {
		bool restores, flips;
		unsigned claiming, restoring;
	} rows[] = {
		{false, false, 0, 1},
		{true, false, 1, 0},
		/* What is wrong in it is fetched again. */
		{true, true, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct claim claim = {.policy = RESTORE_LATEST, .restores = rows[i].restores};
		struct slow_store *slow;
		struct storage *before;
		struct fixture f;

		started(&f);
		before = f.storage;
		f.storage = about_to_claim(&f);
		storage_close(before);
		slow = slow_store_install(&f, NULL);
		attempt_release(&f.attempt);
		f.attempt = claimed(f.storage, &claim);
		assert_int_equal(atomic_load(&slow->gets), rows[i].claiming);
		if (rows[i].flips)
			f.storage->transfer.early.data.data[SIZE / 2] ^= 0x10;
		fixture_check(&f, f.attempt.start);
		assert_int_equal(atomic_load(&slow->gets), rows[i].claiming + rows[i].restoring);
		assert_null(f.storage->transfer.early.key);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_serves_the_first_look_once),
		cmocka_unit_test(test_what_is_committed_meanwhile_is_started_from),
		cmocka_unit_test(test_two_that_looked_at_once),
		cmocka_unit_test(test_a_small_pack_is_fetched_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
