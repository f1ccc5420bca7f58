/* What an attempt that is being preempted says to the next one, and what that reads. */
#include "storage_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

static void look(struct fixture *f, struct drain_state *seen)
{
	assert_works(storage_poll_drain(f->storage, seen, NULL, &err));
}

static void say(struct fixture *f, uint32_t attempt, uint32_t announcement, int64_t left_ms)
{
	assert_works(
		storage_announce_drain(f->storage, attempt, announcement, left_ms, NULL, &err));
}

static void test_nobody_has_said_anything(void **state)
{
	struct fixture f;
	struct drain_state seen = {.attempt = 7, .left_ms = 5};

	(void)state;
	fixture_start(&f);
	look(&f, &seen);
	assert_int_equal(seen.attempt, 0);
	assert_works(storage_end_attempt(f.storage, 1, "failed", NULL, NULL, &err));
	look(&f, &seen);
	assert_int_equal(seen.attempt, 0);
	fixture_stop(&f);
}

static void test_the_newest_word_counts(void **state)
{
	struct fixture f;
	struct drain_state seen = {0};

	(void)state;
	fixture_start(&f);
	say(&f, 1, 1, 30000);
	look(&f, &seen);
	assert_int_equal(seen.attempt, 1);
	assert_int_equal(seen.announcement, 1);
	assert_int_equal(seen.left_ms, 30000);
	assert_false(seen.ended);
	assert_true(seen.host[0] != '\0');
	say(&f, 1, 2, 10000);
	look(&f, &seen);
	assert_int_equal(seen.announcement, 2);
	assert_int_equal(seen.left_ms, 10000);
	say(&f, 1, 3, -1);
	look(&f, &seen);
	assert_int_equal(seen.announcement, 3);
	assert_true(seen.left_ms < 0);
	/* Each is said once. */
	assert_fails(storage_announce_drain(f.storage, 1, 3, 5000, NULL, &err), ERR_EXISTS);
	fixture_stop(&f);
}

static void test_the_end_is_the_last_word(void **state)
{
	struct fixture f;
	struct drain_state seen = {0};

	(void)state;
	fixture_start(&f);
	say(&f, 1, 1, 30000);
	look(&f, &seen);
	assert_works(storage_end_attempt(f.storage, 1, "preempted", NULL, NULL, &err));
	look(&f, &seen);
	assert_int_equal(seen.attempt, 1);
	assert_true(seen.ended);
	/* Likewise for who comes later. */
	seen = (struct drain_state){0};
	look(&f, &seen);
	assert_true(seen.ended);
	fixture_stop(&f);
}

static void test_only_of_the_newest_attempt(void **state)
{
	struct fixture f;
	struct drain_state seen = {0};

	(void)state;
	fixture_start(&f);
	say(&f, 1, 1, 30000);
	fixture_claim(&f);
	look(&f, &seen);
	assert_int_equal(seen.attempt, 0);
	say(&f, 2, 1, 20000);
	look(&f, &seen);
	assert_int_equal(seen.attempt, 2);
	assert_int_equal(seen.left_ms, 20000);
	fixture_stop(&f);
}

/* By the store's clock: a word of an hour ago says so, whatever the clocks of the machines are. */
static void test_how_old_it_is(void **state)
{
	struct fixture f;
	struct drain_state seen = {0};
	struct timespec times[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
	auto_free char *path = NULL;

	(void)state;
	fixture_start(&f);
	say(&f, 1, 1, 30000);
	path = fixture_find(&f, "draining/000001-000001.json");
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	look(&f, &seen);
	assert_true(seen.age_ms >= 3600 * 1000);
	assert_int_equal(seen.left_ms, 30000);
	fixture_stop(&f);
}

static void test_damage_says_nothing(void **state)
{
	struct fixture f;
	struct drain_state seen = {0};
	auto_free char *path = NULL;

	(void)state;
	fixture_start(&f);
	say(&f, 1, 1, 30000);
	path = fixture_find(&f, "draining/000001-000001.json");
	fixture_flip(path, 120);
	look(&f, &seen);
	assert_int_equal(seen.attempt, 1);
	assert_true(seen.left_ms < 0);
	fixture_stop(&f);
}

/* Neither claims nor what they choose from take notice. */
static void test_it_is_no_attempt_and_no_snapshot(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	say(&f, 1, 1, 30000);
	say(&f, 9, 1, 30000);
	fixture_claim(&f);
	assert_int_equal(f.attempt.number, 2);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){1, 1}), 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nobody_has_said_anything),
		cmocka_unit_test(test_the_newest_word_counts),
		cmocka_unit_test(test_the_end_is_the_last_word),
		cmocka_unit_test(test_only_of_the_newest_attempt),
		cmocka_unit_test(test_how_old_it_is),
		cmocka_unit_test(test_damage_says_nothing),
		cmocka_unit_test(test_it_is_no_attempt_and_no_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
