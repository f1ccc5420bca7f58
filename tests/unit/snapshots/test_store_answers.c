/* What saving, forgetting and collecting garbage make of a store that says no, says nothing, or
 * says the wrong thing: nothing that is committed is lost, and nothing that may be needed is
 * removed. */
#include "slow_store.h"

#include "storage/format/chunk.h"
#include "storage/snapshots/forget.h"

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

static void make_old(struct fixture *f)
{
	auto_free char *command =
		text_format("find '%s/jobs' -type f -exec touch -d '2 days ago' '{}' +", f->store);

	assert_int_equal(system(command), 0);
}

/* --- a full store --- */

static int say_full(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return strstr(key, "/snapshots/") ? err_set(error, ERR_NO_SPACE, "507") : 0;
}

static int say_nothing(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return strstr(key, "/snapshots/") ? err_set(error, ERR_RETRY, "no answer") : 0;
}

/* The first try has put the manifest, its answer was lost, and the second is told that the store is
 * full: the snapshot is there. */
static void test_a_full_store_that_has_the_manifest(void **state)
{
	struct fixture f;
	struct slow_store *slow;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	slow = slow_store_install(&f, NULL);
	slow->answer_record = say_full;
	fixture_check(&f, fixture_take(&f));
	fixture_stop(&f);
}

/* Nobody knows whether it was put: then the packs that it may name stay. */
static void test_a_full_store_that_may_have_the_manifest(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 1000, 1);
	slow = slow_store_install(&f, NULL);
	slow->answer_record = say_full;
	slow->answer_get = say_nothing;
	assert_fails(fixture_try_take(&f, &result), ERR_NO_SPACE);
	slow->answer_get = NULL;
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

/* --- a store that refuses to remove something --- */

static int refuse_first(struct slow_store *slow, const char *key, struct err *error)
{
	return strstr(key, slow->arg) ? err_set(error, ERR_DENIED, "under a lease") : 0;
}

static int stop_answering(struct slow_store *slow, const char *key, struct err *error)
{
	return strstr(key, slow->arg) ? err_set(error, ERR_RETRY, "no answer") : 0;
}

/* Four snapshots, each with a pack of its own. */
static struct slow_store *four(struct fixture *f)
{
	fixture_start(f);
	for (uint64_t i = 1; i <= 4; i++) {
		fixture_write(f, "w", 1000, i);
		fixture_take(f);
	}
	make_old(f);
	return slow_store_install(f, NULL);
}

static void forget(struct fixture *f, struct forget_result *result)
{
	struct forget_request request = {.policy.keep_last = 1};

	assert_works(storage_forget(f->storage, &request, result, NULL, &err));
}

static void test_one_manifest_stays(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct forget_result result;

	(void)state;
	slow = four(&f);
	slow->answer_remove = refuse_first;
	slow->arg = (void *)"snapshots/000001-000001";
	forget(&f, &result);
	assert_int_equal(result.forgotten, 2);
	assert_int_equal(result.kept, 2);
	assert_int_equal(result.refused.count, 1);
	assert_non_null(strstr(result.refused.first, "000001-000001.json: under a lease"));
	assert_int_equal(count_files(&f, "/packs/"), 2);
	fixture_check(&f, (struct snapshot_id){1, 4});
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 1}));
	fixture_stop(&f);
}

static void test_one_pack_stays(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct forget_result result;

	(void)state;
	slow = four(&f);
	slow->answer_remove = refuse_first;
	slow->arg = (void *)"packs/000001/000001-";
	forget(&f, &result);
	assert_int_equal(result.forgotten, 3);
	assert_int_equal(result.collected.packs_removed, 2);
	assert_int_equal(result.refused.count, 1);
	assert_int_equal(count_files(&f, "/packs/"), 2);
	fixture_stop(&f);
}

static void test_a_store_that_stops_answering_ends_it(void **state)
{
	static const char *const parts[] = {"/snapshots/", "/packs/"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		struct slow_store *slow = four(&f);
		struct forget_request request = {.policy.keep_last = 1};
		struct forget_result result;

		slow->answer_remove = stop_answering;
		slow->arg = (void *)parts[i];
		assert_fails(storage_forget(f.storage, &request, &result, NULL, &err), ERR_RETRY);
		fixture_check(&f, (struct snapshot_id){1, 4});
		fixture_stop(&f);
	}
}

/* --- what garbage collection must know --- */

static int hide_attempts(struct slow_store *slow, const char *prefix, struct err *error)
{
	unsigned *left = slow->arg;

	return strstr(prefix, "/attempts/") && (*left)-- == 0
		       ? err_set(error, ERR_RETRY, "no answer")
		       : 0;
}

/* It cannot tell whether a new attempt relies on them. */
static void test_no_pack_goes_if_the_attempts_cannot_be_listed(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct forget_request request = {.policy.keep_last = 1};
	struct forget_result result;
	unsigned left = 2;

	(void)state;
	slow = four(&f);
	slow->answer_list = hide_attempts;
	slow->arg = &left;
	assert_fails(storage_forget(f.storage, &request, &result, NULL, &err), ERR_RETRY);
	assert_int_equal(count_files(&f, "/packs/"), 4);
	assert_int_equal(count_files(&f, "/snapshots/"), 1);
	fixture_stop(&f);
}

/* The third snapshot is not seen by the survey, and is there when the packs are collected: it may
 * be one that was committed in between, and name any pack. */
static void test_a_snapshot_that_the_survey_did_not_see_keeps_its_packs(void **state)
{
	struct fixture f;
	auto_(inventory_release) struct inventory inventory = {0};
	auto_free char *manifest = NULL, *aside = NULL;
	auto_free bool *gone = NULL;
	const struct garbage_rule rule = {.age_ms = GARBAGE_AGE_MS};
	struct garbage_result result;
	struct forget_refusals refused = {0};

	(void)state;
	four(&f);
	manifest = fixture_find(&f, "snapshots/000001-000003");
	aside = text_format("%s/aside", f.root);
	assert_int_equal(rename(manifest, aside), 0);
	assert_works(inventory_read(f.storage, &inventory, NULL, &err));
	assert_int_equal(inventory.list.count, 3);
	assert_int_equal(rename(aside, manifest), 0);
	gone = memory_new(inventory.list.count * sizeof(*gone));
	assert_works(garbage_collect_packs(f.storage, &inventory, gone, &rule, &result, &refused,
					   NULL, &err));
	assert_int_equal(result.packs_removed, 0);
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 3}));
	fixture_stop(&f);
}

/* --- a store that was emptied --- */

struct emptied {
	struct fixture *f;
	struct storage *other;
	struct attempt attempt;
	unsigned listings;
};

static int begin_anew(struct slow_store *slow, const char *key, struct err *error)
{
	struct emptied *emptied = slow->arg;
	struct storage_options options = {.url = emptied->f->url, .job = "job", .threads = 1};
	struct claim claim = {.policy = RESTORE_LATEST};

	(void)error;
	if (!text_equal(key, "format.json") || emptied->other)
		return 0;
	assert_works(storage_open(&options, &emptied->other, NULL, &err));
	assert_works(storage_claim(emptied->other, &claim, &emptied->attempt, NULL, &err));
	return 0;
}

static int hide_second(struct slow_store *slow, const char *prefix, struct err *error)
{
	struct emptied *emptied = slow->arg;

	return strstr(prefix, "/attempts/") && ++emptied->listings == 2
		       ? err_set(error, ERR_RETRY, "no answer")
		       : 0;
}

/* Another attempt begins in it before our claim is there again, and the look for it fails: so our
 * claim does not count yet, and the next save looks once more. */
static void test_begun_anew_without_an_answer(void **state)
{
	struct fixture f;
	struct emptied emptied = {.f = &f};
	struct slow_store *slow;
	struct save_result result;
	auto_free char *empty = NULL;
	uint32_t newest;

	(void)state;
	fixture_start(&f);
	fixture_claim(&f);
	fixture_write(&f, "w", 1000, 1);
	fixture_take(&f);
	slow = slow_store_install(&f, NULL);
	slow->arg = &emptied;
	slow->answer_record = begin_anew;
	slow->answer_list = hide_second;
	empty = text_format("rm -rf '%s'/*", f.store);
	assert_int_equal(system(empty), 0);
	assert_fails(storage_superseded(f.storage, 2, &newest, NULL, &err), ERR_RETRY);
	assert_int_equal(emptied.attempt.number, 1);
	assert_fails(fixture_try_take(&f, &result), ERR_EXISTS);
	assert_non_null(strstr(err.text, "attempt 1 has begun in it"));
	assert_int_equal(count_files(&f, "/snapshots/"), 0);
	attempt_release(&emptied.attempt);
	storage_close(emptied.other);
	fixture_stop(&f);
}

/* Nobody has: once that is known, it saves as before. */
static void test_emptied_without_an_answer(void **state)
{
	struct fixture f;
	struct emptied emptied = {.f = &f};
	struct slow_store *slow;
	struct save_result result;
	auto_free char *empty = NULL;
	uint32_t newest;

	(void)state;
	fixture_start(&f);
	fixture_claim(&f);
	slow = slow_store_install(&f, NULL);
	slow->arg = &emptied;
	slow->answer_list = hide_second;
	empty = text_format("rm -rf '%s'/*", f.store);
	assert_int_equal(system(empty), 0);
	assert_fails(storage_superseded(f.storage, 2, &newest, NULL, &err), ERR_RETRY);
	assert_int_equal(count_files(&f, "confirmed"), 0);
	fixture_write(&f, "w", 1000, 1);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(count_files(&f, "000002.confirmed"), 1);
	fixture_check(&f, (struct snapshot_id){2, 1});
	fixture_stop(&f);
}

/* --- a store that fills up under a save --- */

static int fill_up(struct slow_store *slow, unsigned number, unsigned again, struct cancel *cancel,
		   struct err *error)
{
	(void)slow, (void)again, (void)cancel;
	return number > 1 ? err_set(error, ERR_NO_SPACE, "507") : 0;
}

/* What came to nothing is taken back at once, so that something smaller fits; what a snapshot names
 * stays. */
static void test_what_fills_the_store_is_taken_back(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 1000, 1);
	fixture_take(&f);
	assert_int_equal(count_files(&f, "/packs/"), 1);
	slow = slow_store_install(&f, NULL);
	slow->put_pack = fill_up;
	fixture_write(&f, "b", 12 * CHUNK_SIZE, 2);
	assert_fails(fixture_try_take(&f, &result), ERR_NO_SPACE);
	assert_true(atomic_load(&slow->pack_puts) > 1);
	assert_int_equal(count_files(&f, "/packs/"), 1);
	slow->put_pack = NULL;
	assert_works(fixture_try_take(&f, &result));
	/* Nothing that was taken back is relied on. */
	assert_int_equal(result.chunks_sent, 12);
	fixture_check(&f, (struct snapshot_id){1, 3});
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_store_that_has_the_manifest),
		cmocka_unit_test(test_a_full_store_that_may_have_the_manifest),
		cmocka_unit_test(test_one_manifest_stays),
		cmocka_unit_test(test_one_pack_stays),
		cmocka_unit_test(test_a_store_that_stops_answering_ends_it),
		cmocka_unit_test(test_no_pack_goes_if_the_attempts_cannot_be_listed),
		cmocka_unit_test(test_a_snapshot_that_the_survey_did_not_see_keeps_its_packs),
		cmocka_unit_test(test_begun_anew_without_an_answer),
		cmocka_unit_test(test_emptied_without_an_answer),
		cmocka_unit_test(test_what_fills_the_store_is_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
