/* Claims: numbers, what to start from, damage passed over, races, and being taken over from. */
#include "slow_store.h"
#include "storage_fixture.h"

#include "base/workers.h"

#include <pthread.h>
#include <stdatomic.h>

#define RACERS 8

/* Snapshots that a start may go on from. */
static size_t good_ones(struct fixture *f)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	size_t count = 0;

	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	for (size_t i = 0; i < list.count; i++)
		count += list.items[i].state == SNAPSHOT_GOOD;
	return count;
}

static void test_about_is_kept(void **state)
{
	struct fixture f;
	json_t *about = json_pack("{s:s}", "fingerprint", "abc123");
	struct claim claim = {.about = about};
	struct attempt attempt;
	auto_free char *path = NULL;
	auto_(bytes_release) struct bytes record = {0};

	(void)state;
	fixture_start(&f);
	assert_works(storage_claim(f.storage, &claim, &attempt, NULL, &err));
	path = fixture_find(&f, "000002.json");
	assert_works(file_read(path, &record, &err));
	assert_works(bytes_append(&record, "", 1, &err));
	assert_non_null(strstr((char *)record.data, "abc123"));
	attempt_release(&attempt);
	json_decref(about);
	fixture_stop(&f);
}

static void test_being_taken_over(void **state)
{
	struct fixture f;
	struct storage_options options = {.job = "job"};
	struct storage *old;
	struct save_request late = {.id = {1, 2}, .parent = {1, 1}, .reason = "notice", .step = 7};
	struct save_result result;
	struct snapshot_list list;
	uint32_t newest;

	(void)state;
	fixture_start(&f);
	options.url = f.url;
	late.directory = f.source;
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	assert_works(storage_open(&options, &old, NULL, &err));
	assert_works(storage_superseded(old, 1, &newest, NULL, &err));
	assert_int_equal(newest, 1);
	fixture_claim(&f);
	assert_works(storage_superseded(old, 1, &newest, NULL, &err));
	assert_int_equal(newest, 2);
	assert_fails(storage_save(old, &late, &result, NULL, &err), ERR_EXISTS);
	assert_non_null(strstr(err.text, "attempt 2 has taken over"));
	assert_works(storage_list_snapshots(old, &list, NULL, &err));
	assert_int_equal(list.count, 1);
	snapshot_list_release(&list);
	storage_close(old);
	fixture_stop(&f);
}

/* A claim that the look before the commit did not see, and the look after it does. */
struct hidden_claim {
	char *path, *aside, *snapshots;
	struct fixture *fixture;
};

/* The old machine does not see it. */
static void hide_confirmation(struct fixture *f)
{
	auto_free char *path = fixture_find(f, "attempts/000002.confirmed.json");
	auto_free char *aside = text_format("%s/confirmed", f->root);

	assert_int_equal(rename(path, aside), 0);
}

static void show_confirmation(struct fixture *f)
{
	auto_free char *aside = text_format("%s/confirmed", f->root);
	auto_free char *path = text_format("%s/jobs/job/attempts/000002.confirmed.json", f->store);

	assert_int_equal(rename(aside, path), 0);
}

static void show_claim_after_commit(struct slow_store *slow)
{
	const struct hidden_claim *claim = slow->arg;

	if (access(claim->snapshots, F_OK) == 0 && rename(claim->aside, claim->path) == 0)
		show_confirmation(claim->fixture);
}

static void test_a_late_commit_is_said_to_be_late(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	struct hidden_claim claim;
	auto_free char *first = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	first = fixture_find(&f, "snapshots/000001-000001");
	claim.fixture = &f;
	claim.snapshots = text_copy(first);
	strstr(claim.snapshots, "000001-000001")[strlen("000001-00000")] = '2';
	fixture_claim(&f);
	claim.path = fixture_find(&f, "attempts/000002.json");
	claim.aside = text_format("%s/aside", f.root);
	assert_int_equal(rename(claim.path, claim.aside), 0);
	hide_confirmation(&f);
	f.attempt.number = 1;
	f.sequence = 1;
	slow = slow_store_install(&f, NULL);
	slow->before_list = show_claim_after_commit;
	slow->arg = &claim;
	fixture_write(&f, "w", 1000, 2);
	assert_fails(fixture_try_take(&f, &result), ERR_EXISTS);
	assert_non_null(strstr(err.text, "attempt 2 had taken over"));
	assert_int_equal(access(claim.snapshots, F_OK), 0);
	free(claim.snapshots);
	free(claim.path);
	free(claim.aside);
	fixture_stop(&f);
}

/* An old machine that had looked just before the claim commits after it: kept,
 * listed as late, never chosen. */
static void test_a_late_commit_is_never_chosen(void **state)
{
	struct fixture f;
	auto_free char *claim = NULL;
	auto_free char *aside = NULL;
	struct snapshot_list list;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	fixture_claim(&f);
	claim = fixture_find(&f, "attempts/000002.json");
	aside = text_format("%s/aside", f.root);
	assert_int_equal(rename(claim, aside), 0);
	hide_confirmation(&f);
	f.attempt.number = 1;
	f.sequence = 1;
	fixture_take(&f);
	assert_int_equal(rename(aside, claim), 0);
	show_confirmation(&f);
	fixture_claim(&f);
	assert_int_equal(f.attempt.number, 3);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){1, 1}), 0);
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].state, SNAPSHOT_FENCED);
	assert_false(list.items[0].newest);
	assert_true(list.items[1].newest);
	snapshot_list_release(&list);
	fixture_stop(&f);
}

static void test_damaged_ones_are_passed_over_and_named(void **state)
{
	struct fixture f;
	auto_free char *manifest = NULL, *pack = NULL;
	struct snapshot_list list;

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 1; i <= 4; i++) {
		fixture_write(&f, "w", 100000, i);
		fixture_take(&f);
	}
	manifest = fixture_find(&f, "snapshots/000001-000004.json");
	fixture_flip(manifest, 400);
	pack = fixture_find(&f, "packs/000001/000003-");
	assert_int_equal(truncate(pack, 1000), 0);
	fixture_claim(&f);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){1, 2}), 0);
	assert_int_equal(good_ones(&f), 2);
	assert_int_equal(f.attempt.damaged_count, 2);
	assert_int_equal(f.attempt.damaged[0].id.sequence, 4);
	assert_non_null(strstr(f.attempt.damaged[0].text, "digest"));
	assert_int_equal(f.attempt.damaged[1].id.sequence, 3);
	assert_non_null(strstr(f.attempt.damaged[1].text, "1000 bytes instead of"));
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_int_equal(list.items[0].state, SNAPSHOT_DAMAGED);
	assert_int_equal(list.items[1].state, SNAPSHOT_DAMAGED);
	assert_true(list.items[2].newest);
	snapshot_list_release(&list);
	fixture_stop(&f);
}

/* What a restore has found counts also where it could not be written down. */
static void test_what_was_passed_over_is_not_chosen_again(void **state)
{
	struct fixture f;
	const struct damaged_snapshot damaged[] = {{.id = {1, 3}}, {.id = {1, 2}}};
	struct claim claim = {.passed_over = damaged};

	(void)state;
	fixture_start(&f);
	for (uint64_t i = 1; i <= 3; i++) {
		fixture_write(&f, "w", 1000, i);
		fixture_take(&f);
	}
	for (uint32_t count = 0; count <= 2; count++) {
		claim.passed_over_count = count;
		attempt_release(&f.attempt);
		assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
		assert_int_equal(f.attempt.start.sequence, 3 - count);
		assert_int_equal(f.attempt.damaged_count, 0);
	}
	fixture_stop(&f);
}

static void test_damaged_claims_are_survived(void **state)
{
	struct fixture f;
	auto_free char *path = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	fixture_take(&f);
	fixture_claim(&f);
	fixture_write(&f, "w", 1000, 2);
	fixture_take(&f);
	/* The second one's record is gone: its snapshot says what it followed. */
	path = fixture_find(&f, "attempts/000002.json");
	fixture_flip(path, 150);
	fixture_claim(&f);
	assert_int_equal(f.attempt.number, 3);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){2, 1}), 0);
	assert_int_equal(good_ones(&f), 3);
	assert_int_equal(unlink(path), 0);
	fixture_claim(&f);
	assert_int_equal(f.attempt.number, 4);
	assert_int_equal(good_ones(&f), 3);
	fixture_stop(&f);
}

/* The second attempt went back to an older one on purpose. When its record is lost, what the user
 * left behind must not come back. */
static void test_a_lost_claim_is_recovered_from_its_snapshots(void **state)
{
	struct fixture f;
	struct claim claim = {.policy = RESTORE_SPECIFIC, .this_one = {1, 1}};
	auto_free char *path = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	fixture_take(&f);
	attempt_release(&f.attempt);
	assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
	f.sequence = 0;
	fixture_take(&f);
	path = fixture_find(&f, "attempts/000002.json");
	assert_int_equal(unlink(path), 0);
	fixture_claim(&f);
	assert_int_equal(good_ones(&f), 2);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){2, 1}), 0);
	fixture_stop(&f);
}

static void test_a_newer_claim_stops_us(void **state)
{
	static const char record[] =
		"{\"reprieve\":\"attempt\",\"version\":4,\"bytes\":2,\"sha256\":\"\"}\n{}";
	struct fixture f;
	auto_free char *path = NULL;
	struct claim claim = {0};
	struct attempt attempt;

	(void)state;
	fixture_start(&f);
	path = text_format("%s/jobs/job/attempts/000002.json", f.store);
	assert_works(file_write(path, record, strlen(record), &err));
	assert_fails(storage_claim(f.storage, &claim, &attempt, NULL, &err), ERR_VERSION);
	fixture_stop(&f);
}

struct race {
	const char *url;
	uint32_t numbers[RACERS];
	atomic_int failed;
};

static void race(void *arg, size_t index)
{
	struct race *racing = arg;
	struct storage_options options = {.url = racing->url, .job = "job", .create = true};
	struct claim claim = {0};
	struct attempt attempt = {0};
	struct storage *storage;

	if (storage_open(&options, &storage, NULL, NULL) < 0) {
		atomic_fetch_add(&racing->failed, 1);
		return;
	}
	if (storage_claim(storage, &claim, &attempt, NULL, NULL) < 0)
		atomic_fetch_add(&racing->failed, 1);
	racing->numbers[index] = attempt.number;
	attempt_release(&attempt);
	storage_close(storage);
}

static void test_racing_claims_get_different_numbers(void **state)
{
	struct fixture f;
	struct race racing = {0};

	(void)state;
	fixture_start(&f);
	racing.url = f.url;
	parallel_run(RACERS, race, &racing);
	assert_int_equal(racing.failed, 0);
	for (size_t i = 0; i < RACERS; i++) {
		assert_in_range(racing.numbers[i], 2, RACERS + 1);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(racing.numbers[i], racing.numbers[j]);
	}
	fixture_stop(&f);
}

/* The predecessor goes on committing while the claim is made, until it sees that
 * it has been taken over. */
static void *commit_until_taken_over(void *arg)
{
	struct fixture *f = arg;
	struct save_request request = {
		.id = {1, 0},
		.directory = f->source,
		.reason = "interval",
		.step = -1,
	};
	struct save_result result;
	struct err last = {0};

	do
		request.id.sequence++;
	while (storage_save(f->storage, &request, &result, NULL, &last) == 0);
	return last.kind == ERR_EXISTS ? f : NULL;
}

static void wait_for_commits(struct storage *storage, size_t count)
{
	size_t there = 0;

	for (int i = 0; there < count && i < 2000; i++) {
		struct snapshot_list list;

		assert_works(storage_list_snapshots(storage, &list, NULL, &err));
		there = list.count;
		snapshot_list_release(&list);
		usleep(1000);
	}
	assert_true(there >= count);
}

static void test_nothing_durable_before_the_claim_is_passed_over(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++) {
		struct fixture f;
		struct storage_options options = {.job = "job"};
		struct storage *next;
		struct claim claim = {0};
		struct attempt attempt;
		struct snapshot_list list;
		pthread_t thread;
		void *ended;

		fixture_start(&f);
		options.url = f.url;
		fixture_write(&f, "w", 1000, 1);
		assert_int_equal(pthread_create(&thread, NULL, commit_until_taken_over, &f), 0);
		assert_works(storage_open(&options, &next, NULL, &err));
		wait_for_commits(next, 2 + (size_t)round);
		assert_works(storage_claim(next, &claim, &attempt, NULL, &err));
		pthread_join(thread, &ended);
		assert_ptr_equal(ended, &f);
		assert_works(storage_list_snapshots(next, &list, NULL, &err));
		/* At most the one commit that was in flight at the claim may be late. */
		assert_true(list.count > 0);
		for (size_t i = 1; i < list.count; i++)
			assert_int_equal(list.items[i].state, SNAPSHOT_GOOD);
		snapshot_list_release(&list);
		attempt_release(&attempt);
		storage_close(next);
		fixture_stop(&f);
	}
}

/* The store is emptied under a running attempt, and another machine starts: numbers begin at 1
 * again, and it takes over all the same. */
static void test_a_start_in_an_emptied_store_takes_over(void **state)
{
	(void)state;
	for (uint32_t number = 1; number <= 2; number++) {
		struct fixture f;
		struct storage_options options = {.job = "job", .create = true};
		struct storage *next;
		struct claim claim = {0};
		struct attempt attempt;
		struct save_result result;

		fixture_start(&f);
		options.url = f.url;
		fixture_write(&f, "w", 1000, 1);
		fixture_take(&f);
		if (number == 2)
			fixture_claim(&f);
		fixture_take(&f);
		assert_int_equal(f.attempt.number, number);
		assert_works(file_remove_tree(f.store, &err));
		usleep(20000);
		assert_works(storage_open(&options, &next, NULL, &err));
		assert_works(storage_claim(next, &claim, &attempt, NULL, &err));
		assert_int_equal(attempt.number, 1);
		assert_fails(fixture_try_take(&f, &result), ERR_EXISTS);
		assert_non_null(strstr(err.text, "attempt 1 has begun in it"));
		assert_int_equal(good_ones(&f), 0);
		attempt_release(&attempt);
		storage_close(next);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_about_is_kept),
		cmocka_unit_test(test_being_taken_over),
		cmocka_unit_test(test_a_late_commit_is_said_to_be_late),
		cmocka_unit_test(test_a_late_commit_is_never_chosen),
		cmocka_unit_test(test_damaged_ones_are_passed_over_and_named),
		cmocka_unit_test(test_damaged_claims_are_survived),
		cmocka_unit_test(test_a_lost_claim_is_recovered_from_its_snapshots),
		cmocka_unit_test(test_a_newer_claim_stops_us),
		cmocka_unit_test(test_a_start_in_an_emptied_store_takes_over),
		cmocka_unit_test(test_racing_claims_get_different_numbers),
		cmocka_unit_test(test_nothing_durable_before_the_claim_is_passed_over),
		cmocka_unit_test(test_what_was_passed_over_is_not_chosen_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
