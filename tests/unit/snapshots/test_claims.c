/* Which snapshot a claim starts from, row by row, what it says where there is none, and a store
 * that somebody empties under a running attempt. */
#include "slow_store.h"

#include "base/json.h"

static void damage(struct fixture *f, uint32_t sequence)
{
	auto_free char *part = text_format("packs/000001/%06u-", sequence);
	auto_free char *pack = fixture_find(f, part);

	assert_int_equal(truncate(pack, 100), 0);
}

/* Snapshots 1-1 to 1-`count`, nothing in common. */
static void take_several(struct fixture *f, uint32_t count)
{
	for (uint64_t i = 1; i <= count; i++) {
		fixture_write(f, "w", 1000, i);
		fixture_take(f);
	}
}

static void test_starts(void **state)
{
	static const struct {
		const char *name;
		struct claim claim;
		uint32_t count;
		uint32_t damaged[3]; /* sequences */
		enum err_kind fails; /* ERR_NONE: it does not */
		uint32_t start, suspect, passed_over;
		const char *said;
	} rows[] = {
		// clang-format off
		{"nothing there", {0}, 0, {0}, ERR_NONE, 0, 0, 0, NULL},
		{"the newest", {0}, 3, {0}, ERR_NONE, 3, 0, 0, NULL},
		{"none wanted", {.policy = RESTORE_NONE}, 3, {0}, ERR_NONE, 0, 0, 0, NULL},
		{"not the newest", {.avoid = {1, 3}}, 3, {0}, ERR_NONE, 2, 3, 0, NULL},
		{"not one that is not the newest", {.avoid = {1, 2}}, 3, {0}, ERR_NONE, 3, 0, 0, NULL},
		{"not the only one", {.avoid = {1, 1}}, 1, {0}, ERR_NONE, 1, 0, 0, NULL},
		{"not the newest, nor the next, which is damaged", {.avoid = {1, 3}}, 3, {2}, ERR_NONE,
			1, 3, 1, NULL},
		{"not the newest, and what is behind it is damaged", {.avoid = {1, 3}}, 3, {1, 2},
			ERR_NONE, 3, 0, 0, NULL},
		{"not the newest, which is damaged", {.avoid = {1, 3}}, 3, {3}, ERR_NONE, 2, 3, 0, NULL},
		{"all are damaged: none is left behind", {0}, 2, {1, 2}, ERR_NONE, 2, 0, 2, NULL},
		{"all are damaged, also what is not the newest", {.avoid = {1, 2}}, 2, {1, 2}, ERR_NONE,
			2, 0, 2, NULL},
		{"one is not damaged", {0}, 2, {2}, ERR_NONE, 1, 0, 1, NULL},
		{"this one", {.policy = RESTORE_SPECIFIC, .this_one = {1, 2}}, 3, {1, 3}, ERR_NONE, 2, 0, 0,
			NULL},
		{"this one, which is not there", {.policy = RESTORE_SPECIFIC, .this_one = {1, 4}}, 3, {0},
			ERR_NOT_FOUND, 0, 0, 0, "job job has no snapshot 000001-000004"},
		{"this one, which is damaged", {.policy = RESTORE_SPECIFIC, .this_one = {1, 2}}, 3, {2},
			ERR_CORRUPT, 0, 0, 0, "snapshot 000001-000002 is damaged: pack jobs/job/packs/000001/"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct attempt attempt;
		int result;

		fixture_start(&f);
		take_several(&f, rows[i].count);
		for (size_t j = 0; j < 3 && rows[i].damaged[j]; j++)
			damage(&f, rows[i].damaged[j]);
		err = (struct err){0};
		result = storage_claim(f.storage, &rows[i].claim, &attempt, NULL, &err);
		if ((result < 0) != (rows[i].fails != ERR_NONE))
			fail_msg("%s: %s", rows[i].name, err.text);
		if (result < 0) {
			assert_int_equal(err.kind, rows[i].fails);
			if (!strstr(err.text, rows[i].said) ||
			    !strstr(err.text, "cannot claim an attempt of job job"))
				fail_msg("%s: %s", rows[i].name, err.text);
			assert_null(attempt.damaged);
		} else if (attempt.number != 2 || attempt.start.sequence != rows[i].start ||
			   attempt.suspect.sequence != rows[i].suspect ||
			   attempt.damaged_count != rows[i].passed_over ||
			   attempt.start_is_damaged !=
				   (rows[i].count > 0 && rows[i].passed_over == rows[i].count)) {
			fail_msg("%s: attempt %u, %u, %u, %zu passed over", rows[i].name,
				 attempt.number, attempt.start.sequence, attempt.suspect.sequence,
				 attempt.damaged_count);
		}
		attempt_release(&attempt);
		fixture_stop(&f);
	}
}

/* A claim where all are damaged leaves none behind: what is mended is gone on from. */
static void test_what_is_mended(void **state)
{
	struct fixture f;
	struct claim claim = {0};
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	auto_(bytes_release) struct bytes sound = {0};
	auto_free char *pack = NULL;

	(void)state;
	fixture_start(&f);
	take_several(&f, 2);
	pack = fixture_find(&f, "packs/000001/000002-");
	assert_works(file_read(pack, &sound, &err));
	for (uint32_t i = 1; i <= 2; i++)
		damage(&f, i);
	for (uint32_t i = 0; i < 3; i++) {
		attempt_release(&f.attempt);
		assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
		assert_int_equal(f.attempt.start.sequence, 2);
		assert_int_equal(f.attempt.start_is_damaged, i < 2);
		if (i == 1)
			assert_works(file_write(pack, sound.data, sound.size, &err));
	}
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_int_equal(list.items[0].state, SNAPSHOT_GOOD);
	assert_true(list.items[0].newest);
	fixture_stop(&f);
}

/* The line that the local checkpoint belongs to was left by going back, or as suspect. */
static void test_whether_the_local_line_was_left(void **state)
{
	static const struct {
		struct snapshot_id local;
		bool left;
	} rows[] = {
		{{0, 0}, false}, {{1, 1}, false}, {{1, 2}, false}, {{1, 3}, true}, {{2, 1}, false},
	};
	struct fixture f;
	struct claim claim = {.policy = RESTORE_SPECIFIC, .this_one = {1, 2}};

	(void)state;
	fixture_start(&f);
	take_several(&f, 3);
	attempt_release(&f.attempt);
	assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
	f.sequence = 0;
	fixture_take(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt attempt;

		claim = (struct claim){.local = rows[i].local};
		assert_works(storage_claim(f.storage, &claim, &attempt, NULL, &err));
		if (attempt.local_left != rows[i].left)
			fail_msg("row %zu", i);
		attempt_release(&attempt);
	}
	fixture_stop(&f);
}

static void test_the_last_number(void **state)
{
	struct fixture f;
	struct claim claim = {0};
	struct attempt attempt;
	auto_free char *first = NULL, *last = NULL;
	auto_(bytes_release) struct bytes record = {0};

	(void)state;
	fixture_start(&f);
	first = fixture_find(&f, "attempts/000001.json");
	last = text_format("%s/jobs/job/attempts/4294967295.json", f.store);
	assert_works(file_read(first, &record, &err));
	assert_works(file_write(last, record.data, record.size, &err));
	assert_fails(storage_claim(f.storage, &claim, &attempt, NULL, &err), ERR_FAILED);
	assert_non_null(strstr(err.text, "the attempt counter of job job is exhausted"));
	fixture_stop(&f);
}

/* Of an attempt with one snapshot, nothing else is left. */
static void test_a_claim_that_is_lost_altogether(void **state)
{
	struct fixture f;
	auto_(job_listing_release) struct job_listing listing = {0};
	auto_free char *attempts = NULL;

	(void)state;
	fixture_start(&f);
	take_several(&f, 1);
	attempts = text_format("%s/jobs/job/attempts", f.store);
	assert_works(file_remove_tree(attempts, &err));
	assert_works(job_records_list(f.storage, &listing, NULL, &err));
	assert_int_equal(listing.lineage.attempt_count, 1);
	assert_int_equal(listing.lineage.attempts[0].number, 1);
	assert_false(listing.lineage.attempts[0].unconfirmed);
	fixture_claim(&f);
	assert_int_equal(f.attempt.number, 2);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){1, 1}), 0);
	fixture_stop(&f);
}

static void empty_store(struct fixture *f)
{
	auto_free char *command = text_format("rm -rf '%s'/*", f->store);

	assert_int_equal(system(command), 0);
}

/* It is said once, and the next save sends all of it, into a store that can be read again. */
static void test_a_store_that_was_emptied(void **state)
{
	struct fixture f;
	struct save_result result;
	uint32_t newest;
	auto_free char *format = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 1000, 1);
	fixture_write(&f, "b", 1000, 2);
	fixture_take(&f);
	empty_store(&f);
	assert_fails(storage_superseded(f.storage, 1, &newest, NULL, &err), ERR_RETRY);
	assert_non_null(strstr(err.text, "the store has been emptied"));
	assert_int_equal(newest, 1);
	/* The marker, and nothing else. */
	format = fixture_find(&f, "");
	assert_non_null(strstr(format, "reprieve"));
	assert_works(storage_superseded(f.storage, 1, &newest, NULL, &err));
	assert_works(storage_superseded(f.storage, 1, &newest, NULL, &err));
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 2);
	fixture_check(&f, (struct snapshot_id){1, 2});
	fixture_claim(&f);
	assert_int_equal(snapshot_id_compare(f.attempt.start, (struct snapshot_id){1, 2}), 0);
	fixture_stop(&f);
}

/* Whoever only reads changes nothing, and nobody's claim is missed where a newer one is there. */
static void test_who_does_not_say_that_it_was_emptied(void **state)
{
	struct fixture f;
	struct storage_options options = {.job = "job", .read_only = true};
	struct storage *reader;
	auto_free char *path = NULL;
	uint32_t newest;

	(void)state;
	fixture_start(&f);
	options.url = f.url;
	assert_works(storage_open(&options, &reader, NULL, &err));
	fixture_claim(&f);
	path = fixture_find(&f, "attempts/000001.json");
	assert_int_equal(unlink(path), 0);
	assert_works(storage_superseded(f.storage, 1, &newest, NULL, &err));
	assert_int_equal(newest, 2);
	assert_works(storage_superseded(f.storage, 0, &newest, NULL, &err));
	assert_int_equal(newest, 2);
	empty_store(&f);
	assert_works(storage_superseded(f.storage, 0, &newest, NULL, &err));
	assert_int_equal(newest, 0);
	assert_works(storage_superseded(reader, 2, &newest, NULL, &err));
	assert_int_equal(newest, 2);
	storage_close(reader);
	fixture_stop(&f);
}

static void test_an_attempt_ends_once(void **state)
{
	struct fixture f;
	auto_json json_t *about = json_pack("{s:i}", "code", 75);
	auto_(attempt_history_release) struct attempt_history history = {0};

	(void)state;
	fixture_start(&f);
	assert_works(storage_end_attempt(f.storage, 1, "preempted", about, NULL, &err));
	assert_fails(storage_end_attempt(f.storage, 1, "finished", NULL, NULL, &err), ERR_EXISTS);
	assert_works(storage_history(f.storage, 9, &history, NULL, &err));
	assert_int_equal(history.count, 1);
	assert_true(history.items[0].ended);
	assert_string_equal(history.items[0].outcome, "preempted");
	assert_int_equal(json_integer_value(json_object_get(history.items[0].end_about, "code")),
			 75);
	fixture_stop(&f);
}

/* In a store that was emptied the number is another's: it has not ended. */
static void test_an_attempt_ends_only_itself(void **state)
{
	struct storage_options options = {.job = "job"};
	struct claim request = {0};
	struct attempt other = {0};
	struct storage *elsewhere;
	struct fixture f;
	auto_free char *end = NULL, *remove = NULL;

	(void)state;
	fixture_start(&f);
	options.url = f.url;
	end = text_format("%s/jobs/job/attempts/000001.end.json", f.store);
	remove = text_format("rm -r '%s/jobs'", f.store);
	assert_int_equal(system(remove), 0);
	assert_fails(storage_end_attempt(f.storage, 1, "finished", NULL, NULL, &err), ERR_EXISTS);
	assert_works(storage_open(&options, &elsewhere, NULL, &err));
	assert_works(storage_claim(elsewhere, &request, &other, NULL, &err));
	assert_int_equal(other.number, 1);
	assert_fails(storage_end_attempt(f.storage, 1, "finished", NULL, NULL, &err), ERR_EXISTS);
	assert_int_equal(access(end, F_OK), -1);
	/* Nor does it once this process has claimed another one. */
	attempt_release(&f.attempt);
	assert_works(storage_claim(f.storage, &request, &f.attempt, NULL, &err));
	assert_int_equal(f.attempt.number, 2);
	assert_fails(storage_end_attempt(f.storage, 1, "replaced", NULL, NULL, &err), ERR_EXISTS);
	assert_int_equal(access(end, F_OK), -1);
	assert_works(storage_end_attempt(elsewhere, 1, "finished", NULL, NULL, &err));
	assert_int_equal(access(end, F_OK), 0);
	attempt_release(&other);
	storage_close(elsewhere);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_what_is_mended),
		cmocka_unit_test(test_whether_the_local_line_was_left),
		cmocka_unit_test(test_the_last_number),
		cmocka_unit_test(test_a_claim_that_is_lost_altogether),
		cmocka_unit_test(test_a_store_that_was_emptied),
		cmocka_unit_test(test_who_does_not_say_that_it_was_emptied),
		cmocka_unit_test(test_an_attempt_ends_once),
		cmocka_unit_test(test_an_attempt_ends_only_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
