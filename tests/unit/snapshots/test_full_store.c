/* A store that is full: what nobody can need any more goes at once, and the save that found it full
 * has room. What somebody may be about to need stays. */
#include "slow_store.h"

#include "storage/records/claims.h"
#include "storage/transfer/sending.h"

#include <unistd.h>

static int count_files(struct fixture *f, const char *part)
{
	auto_free char *command =
		text_format("find '%s' -type f -path '*%s*' | wc -l", f->store, part);
	FILE *stream = popen(command, "r");
	int count = -1;

	assert_non_null(stream);
	assert_int_equal(fscanf(stream, "%d", &count), 1);
	pclose(stream);
	return count;
}

static void take_several(struct fixture *f, uint64_t count)
{
	for (uint64_t i = 1; i <= count; i++) {
		fixture_write(f, "w", 1000, 100 * (uint64_t)f->attempt.number + i);
		fixture_take(f);
	}
}

static int refuse_pack(struct slow_store *slow, unsigned number, unsigned again,
		       struct cancel *cancel, struct err *error)
{
	(void)slow, (void)number, (void)again, (void)cancel;
	return err_set(error, ERR_NO_SPACE, "507");
}

/* The next save finds the store full; afterwards there is room for what is smaller. `err` has what
 * it has said. */
static struct slow_store *fill(struct fixture *f)
{
	struct slow_store *slow = slow_store_install(f, NULL);
	struct save_result result;

	slow->put_pack = refuse_pack;
	fixture_write(f, "w", 1000, 77);
	assert_fails(fixture_try_take(f, &result), ERR_NO_SPACE);
	slow->put_pack = NULL;
	return slow;
}

static bool make_room(struct fixture *f, struct forget_result *result)
{
	static const struct forget_policy policy = {.keep_last = 1};

	memset(result, 0x5a, sizeof(*result));
	return storage_make_room(f->storage, f->attempt.number, &policy, result, NULL, NULL);
}

static void forget(struct fixture *f, uint32_t attempt, struct forget_result *result)
{
	struct forget_request request = {.policy.keep_last = 1, .attempt = attempt};

	assert_works(storage_forget(f->storage, &request, result, NULL, &err));
}

/* The fixture counts those that failed; here the newest one was committed. */
static void take_behind(struct fixture *f, struct snapshot_id parent)
{
	struct save_request request = {
		.id = fixture_next(f),
		.parent = parent,
		.directory = f->source,
		.reason = "request",
	};
	struct save_result result;

	assert_works(storage_save(f->storage, &request, &result, NULL, &err));
	fixture_check(f, request.id);
	assert_int_equal(fixture_damages(f), 0);
}

static void test_what_is_young_makes_room(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 4);
	fill(&f);
	assert_true(make_room(&f, &result));
	assert_int_equal(result.forgotten, 3);
	assert_int_equal(result.collected.packs_removed, 3);
	assert_int_equal(count_files(&f, "/packs/"), 1);
	take_behind(&f, (struct snapshot_id){1, 4});
	fixture_stop(&f);
}

/* No rule says that a snapshot goes. */
static void test_without_a_policy_only_garbage_goes(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 3);
	forget(&f, 0, &result);
	assert_int_equal(result.forgotten, 2);
	assert_int_equal(result.collected.packs_removed, 0);
	take_several(&f, 1);
	fill(&f);
	assert_true(storage_make_room(f.storage, 1, NULL, &result, NULL, NULL));
	assert_int_equal(result.forgotten, 0);
	assert_int_equal(result.collected.packs_removed, 2);
	assert_int_equal(count_files(&f, "/snapshots/"), 2);
	/* And nothing the second time: the save would fail as before. */
	assert_false(storage_make_room(f.storage, 1, NULL, &result, NULL, &err));
	assert_non_null(strstr(err.text, "--keep-last N"));
	fixture_stop(&f);
}

/* Who was never short of room leaves garbage its day; who was removes it behind each commit. */
static void test_retention_hurries_once_the_store_was_full(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 3);
	forget(&f, 1, &result);
	assert_int_equal(result.forgotten, 2);
	assert_int_equal(result.collected.packs_removed, 0);
	assert_int_equal(result.collected.packs_deferred, 2);
	fill(&f);
	forget(&f, 0, &result);
	assert_int_equal(result.collected.packs_removed, 0);
	forget(&f, 1, &result);
	assert_int_equal(result.collected.packs_removed, 2);
	fixture_stop(&f);
}

/* What was killed has left no end record, and the snapshot that it started from stays for it: not
 * where there is no room for the newest attempt. That of the newest itself does. */
static void test_what_older_attempts_started_from_goes(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 1);
	fixture_claim(&f);
	take_several(&f, 1);
	fixture_claim(&f);
	take_several(&f, 2);
	forget(&f, 3, &result);
	assert_int_equal(count_files(&f, "/snapshots/"), 3);
	fill(&f);
	assert_true(make_room(&f, &result));
	assert_int_equal(result.forgotten, 1);
	assert_int_equal(result.kept, 2);
	assert_int_equal(count_files(&f, "/snapshots/000002-000001"), 1);
	assert_int_equal(count_files(&f, "/snapshots/000003-000002"), 1);
	fixture_stop(&f);
}

/* That of the newest attempt stays as long as anything else can go, and if no policy lets it go. */
static void test_what_the_attempt_started_from_goes_last(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 1);
	fixture_claim(&f);
	fill(&f);
	assert_false(make_room(&f, &result));
	f.sequence = 0;
	take_several(&f, 2);
	f.storage->found_full = true;
	assert_true(make_room(&f, &result));
	assert_int_equal(count_files(&f, "/snapshots/"), 2);
	assert_int_equal(count_files(&f, "/snapshots/000001-000001"), 1);
	assert_false(storage_make_room(f.storage, 2, NULL, &result, NULL, NULL));
	forget(&f, 2, &result);
	assert_int_equal(count_files(&f, "/snapshots/"), 2);
	assert_true(make_room(&f, &result));
	assert_int_equal(result.collected.packs_removed, 1);
	assert_int_equal(count_files(&f, "/snapshots/"), 1);
	assert_int_equal(count_files(&f, "/packs/"), 1);
	assert_false(make_room(&f, &result));
	take_behind(&f, (struct snapshot_id){2, 2});
	fixture_stop(&f);
}

/* Nothing that can be kept or not: fewer snapshots would not help. */
static void test_the_advice_is_what_can_help(void **state)
{
	static const struct forget_policy policy = {.keep_last = 1};
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 2);
	fill(&f);
	assert_non_null(strstr(err.text, "--keep-last N"));
	assert_true(storage_make_room(f.storage, 1, &policy, &result, NULL, NULL));
	assert_false(storage_make_room(f.storage, 1, &policy, &result, NULL, &err));
	assert_null(strstr(err.text, "--keep-last N"));
	assert_non_null(strstr(err.text, "make it larger"));
	assert_non_null(strstr(err.text, "(507)"));
	fixture_stop(&f);
}

/* With room for three snapshots, where one is kept, a job saves for as long as it likes. */
static void test_three_times_the_size_is_enough(void **state)
{
	struct fixture f;
	struct forget_result result;
	struct save_result saved;
	struct slow_store *slow;
	unsigned full = 0;

	(void)state;
	fixture_start(&f);
	slow = slow_store_install(&f, NULL);
	fixture_write(&f, "frozen", 20000, 1);
	for (uint64_t i = 1; i <= 12; i++) {
		struct save_request request = {
			.id = fixture_next(&f),
			.parent = {i > 1, (uint32_t)i - 1},
			.directory = f.source,
			.reason = "request",
		};

		fixture_write(&f, "w", 20000, 100 + i);
		while (storage_save(f.storage, &request, &saved, NULL, &err) < 0) {
			assert_int_equal(err.kind, ERR_NO_SPACE);
			assert_true(make_room(&f, &result));
			full++;
		}
		/* Two files of noise: the store takes three snapshots, and records. */
		slow->room = 3 * 41000;
	}
	assert_true(full > 0);
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

/* --- who may need it --- */

/* All that was sent is there, as a killed process would leave it at best. */
static void wait_for_uploads(struct storage *storage)
{
	while (storage->transfer.uploader && !pack_uploader_wait(storage->transfer.uploader, 50))
		;
}

struct meanwhile {
	struct fixture *f;
	struct storage *other;
	struct attempt attempt;
	unsigned listings, at;
};

static void claim_elsewhere(struct meanwhile *meanwhile)
{
	struct storage_options options = {.url = meanwhile->f->url, .job = "job", .threads = 1};
	struct claim claim = {.policy = RESTORE_LATEST};

	assert_works(storage_open(&options, &meanwhile->other, NULL, &err));
	assert_works(storage_claim(meanwhile->other, &claim, &meanwhile->attempt, NULL, &err));
}

static int claim_at(struct slow_store *slow, const char *prefix, struct err *error)
{
	struct meanwhile *meanwhile = slow->arg;

	(void)error;
	if (strstr(prefix, "/attempts/") && ++meanwhile->listings == meanwhile->at)
		claim_elsewhere(meanwhile);
	return 0;
}

static void meanwhile_end(struct meanwhile *meanwhile)
{
	attempt_release(&meanwhile->attempt);
	storage_close(meanwhile->other);
}

/* Before it begins; and at the last look before packs are removed. */
static void test_a_newer_attempt_keeps_it_all(void **state)
{
	static const unsigned rows[] = {0, 3};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meanwhile meanwhile = {.f = &f, .at = rows[i]};
		struct forget_result result;
		struct slow_store *slow;

		fixture_start(&f);
		take_several(&f, 4);
		slow = fill(&f);
		slow->arg = &meanwhile;
		if (rows[i] == 0)
			claim_elsewhere(&meanwhile);
		else
			slow->answer_list = claim_at;
		assert_false(make_room(&f, &result));
		assert_int_equal(meanwhile.attempt.number, 2);
		assert_int_equal(count_files(&f, "/packs/"), 4);
		meanwhile_end(&meanwhile);
		fixture_stop(&f);
	}
}

/* The number is another's in a store that was emptied and begun anew: so are the packs. */
static void test_the_number_of_another_keeps_it_all(void **state)
{
	static const char *const paths[] = {"w"};
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_result result;
	auto_free char *empty = NULL;
	struct presave_request request = {.id = {1, 1}, .paths = paths, .path_count = 1};
	struct presave_result sent;

	(void)state;
	fixture_start(&f);
	take_several(&f, 2);
	fill(&f);
	empty = text_format("rm -rf '%s/jobs'", f.store);
	assert_int_equal(system(empty), 0);
	claim_elsewhere(&meanwhile);
	assert_int_equal(meanwhile.attempt.number, 1);
	request.directory = f.source;
	assert_works(storage_presave(meanwhile.other, &request, &sent, NULL, &err));
	wait_for_uploads(meanwhile.other);
	storage_close(steal(&meanwhile.other));
	assert_int_equal(count_files(&f, "/packs/"), 1);
	assert_false(make_room(&f, &result));
	assert_int_equal(count_files(&f, "/packs/"), 1);
	meanwhile_end(&meanwhile);
	fixture_stop(&f);
}

/* Another one may be about to commit what it has put. */
static void test_a_member_of_a_gang_removes_nothing(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 3);
	fill(&f);
	storage_set_gang(f.storage, 2, 0);
	assert_false(make_room(&f, &result));
	assert_int_equal(count_files(&f, "/packs/"), 3);
	forget(&f, 1, &result);
	assert_int_equal(result.collected.packs_removed, 0);
	assert_int_equal(count_files(&f, "/packs/"), 3);
	fixture_stop(&f);
}

/* --- what was sent and never committed --- */

static void send_early(struct fixture *f, const char *path)
{
	struct presave_request request = {
		.id = {f->attempt.number, f->sequence + 1},
		.parent = {f->attempt.number, f->sequence},
		.directory = f->source,
		.paths = &path,
		.path_count = 1,
	};
	struct presave_result result;

	assert_works(storage_presave(f->storage, &request, &result, NULL, &err));
	wait_for_uploads(f->storage);
}

static int refuse_swept(struct slow_store *slow, const char *key, struct err *error)
{
	auto_free char *path = NULL;
	struct fixture *f = slow->arg;

	if (!text_ends(key, ".swept.json"))
		return 0;
	path = text_format("%s/%s", f->store, key);
	assert_int_equal(unlink(path), 0);
	return err_set(error, ERR_NO_SPACE, "507");
}

/* An attempt that was killed has left a pack after the newest snapshot, which the next one does not
 * need after all. Without room for the record that protects from a claim, it stays. */
static void test_what_a_killed_attempt_has_left(void **state)
{
	struct fixture f;
	struct forget_result result;
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	take_several(&f, 1);
	fixture_write(&f, "v", 1000, 5);
	send_early(&f, "v");
	fixture_claim(&f);
	slow = fill(&f);
	slow->arg = &f;
	forget(&f, 2, &result);
	assert_int_equal(result.collected.packs_removed, 0);
	slow->answer_record = refuse_swept;
	assert_false(make_room(&f, &result));
	assert_int_equal(count_files(&f, "/packs/000001/000002-"), 1);
	slow->answer_record = NULL;
	assert_true(make_room(&f, &result));
	assert_int_equal(result.collected.packs_removed, 1);
	assert_int_equal(count_files(&f, "/packs/"), 1);
	take_behind(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

/* It was sent for the next snapshot, by the same process, which goes without it from then on. */
static void test_what_was_removed_is_not_relied_on(void **state)
{
	struct fixture f;
	struct forget_result result;

	(void)state;
	fixture_start(&f);
	take_several(&f, 1);
	fixture_write(&f, "v", 1000, 5);
	send_early(&f, "v");
	pack_uploader_free(steal(&f.storage->transfer.uploader));
	f.storage->found_full = true;
	assert_true(make_room(&f, &result));
	assert_int_equal(count_files(&f, "/packs/"), 1);
	take_behind(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

/* --- room for a claim --- */

/* Full to the last byte, but for what is kept for a claim. */
static int refuse_without_room(struct slow_store *slow, const char *key, struct err *error)
{
	struct fixture *f = slow->arg;
	auto_free char *path = text_format("%s/%s", f->store, key);

	if (count_files(f, "/attempts/room") == 0)
		return 0;
	assert_int_equal(unlink(path), 0);
	return err_set(error, ERR_NO_SPACE, "no space left");
}

static void test_a_claim_has_room(void **state)
{
	struct fixture f;
	struct claim claim = {.policy = RESTORE_LATEST};
	struct forget_result result;
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	assert_int_equal(count_files(&f, "/attempts/room"), 1);
	take_several(&f, 1);
	fixture_write(&f, "v", 1000, 5);
	send_early(&f, "v");
	storage_close(f.storage);
	fixture_open(&f);
	slow = slow_store_install(&f, NULL);
	slow->arg = &f;
	slow->answer_record = refuse_without_room;
	attempt_release(&f.attempt);
	assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
	assert_int_equal(f.attempt.number, 2);
	assert_int_equal(f.attempt.start.sequence, 1);
	assert_int_equal(count_files(&f, "/attempts/room"), 0);
	/* It is kept again once there is some. */
	f.storage->found_full = true;
	f.storage->transfer.remote = false;
	slow->answer_record = NULL;
	assert_true(make_room(&f, &result));
	assert_int_equal(count_files(&f, "/attempts/room"), 1);
	fixture_stop(&f);
}

/* One without it is none the worse, as long as there is other room. */
static void test_room_that_is_gone_is_kept_again(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	assert_true(claim_room_use(f.storage->transfer.store, "job", NULL));
	assert_false(claim_room_use(f.storage->transfer.store, "job", NULL));
	fixture_claim(&f);
	assert_int_equal(count_files(&f, "/attempts/room"), 1);
	fixture_stop(&f);
}

/* --- a claim behind it --- */

/* The first look of the claim has listed the snapshots; the claim is not there yet. */
static int commit_after_first_look(struct slow_store *slow, const char *prefix, struct err *error)
{
	struct meanwhile *meanwhile = slow->arg;
	struct save_request request = {
		.id = {1, 2},
		.parent = {1, 1},
		.directory = meanwhile->f->source,
		.reason = "request",
	};
	struct save_result result;

	(void)error;
	if (strstr(prefix, "/attempts/") && ++meanwhile->listings == 1)
		assert_works(storage_save(meanwhile->other, &request, &result, NULL, &err));
	return 0;
}

/*
 * The old attempt commits once more between the two looks of a claim that starts from scratch. It
 * may be removing, just then, what it sent and did not need, as long as it has not seen the claim:
 * so what is not newer than that commit is no base for the new attempt.
 */
static void test_what_comes_between_the_looks_of_a_claim(void **state)
{
	struct fixture f;
	struct claim claim = {.policy = RESTORE_NONE};
	struct meanwhile meanwhile = {.f = &f};
	struct save_result result;
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	take_several(&f, 1);
	fixture_write(&f, "v", 1000, 5);
	send_early(&f, "v");
	fixture_write(&f, "v", 1000, 6);
	meanwhile.other = f.storage;
	fixture_open(&f);
	slow = slow_store_install(&f, NULL);
	slow->arg = &meanwhile;
	slow->answer_list = commit_after_first_look;
	attempt_release(&f.attempt);
	assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
	assert_int_equal(f.attempt.number, 2);
	assert_int_equal(count_files(&f, "/snapshots/"), 2);
	slow->answer_list = NULL;
	f.sequence = 0;
	fixture_write(&f, "v", 1000, 5);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_kept, 0);
	assert_int_equal(result.chunks_sent, 2);
	meanwhile_end(&meanwhile);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_young_makes_room),
		cmocka_unit_test(test_without_a_policy_only_garbage_goes),
		cmocka_unit_test(test_retention_hurries_once_the_store_was_full),
		cmocka_unit_test(test_what_older_attempts_started_from_goes),
		cmocka_unit_test(test_what_the_attempt_started_from_goes_last),
		cmocka_unit_test(test_the_advice_is_what_can_help),
		cmocka_unit_test(test_three_times_the_size_is_enough),
		cmocka_unit_test(test_a_newer_attempt_keeps_it_all),
		cmocka_unit_test(test_the_number_of_another_keeps_it_all),
		cmocka_unit_test(test_a_member_of_a_gang_removes_nothing),
		cmocka_unit_test(test_what_a_killed_attempt_has_left),
		cmocka_unit_test(test_what_was_removed_is_not_relied_on),
		cmocka_unit_test(test_a_claim_has_room),
		cmocka_unit_test(test_room_that_is_gone_is_kept_again),
		cmocka_unit_test(test_what_comes_between_the_looks_of_a_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
