/* What happens between forget's survey and what it removes: pins, claims, commits; and what it
 * clears away besides. */
#include "slow_store.h"

#include "storage/snapshots/forget.h"

#include <fcntl.h>
#include <sys/stat.h>

static size_t count_files(struct fixture *f, const char *part)
{
	auto_free char *command =
		text_format("find '%s' -type f -path '*%s*' | wc -l", f->store, part);
	FILE *stream = popen(command, "r");
	unsigned count = 0;

	assert_non_null(stream);
	assert_int_equal(fscanf(stream, "%u", &count), 1);
	pclose(stream);
	return count;
}

static void make_old(struct fixture *f, const char *below)
{
	auto_free char *command =
		text_format("find '%s/%s' -type f -exec touch -d '2 days ago' '{}' +", f->store,
			    below);

	assert_int_equal(system(command), 0);
}

/* Something that somebody else does, right before a certain listing of the attempts. */
struct meanwhile {
	struct fixture *f;
	struct storage *other;
	unsigned listings, first, last; /* from 1 */
	void (*act)(struct meanwhile *meanwhile);
};

static int act_before(struct slow_store *slow, const char *prefix, struct err *error)
{
	struct meanwhile *meanwhile = slow->arg;

	(void)error;
	if (!strstr(prefix, "/attempts/"))
		return 0;
	meanwhile->listings++;
	if (meanwhile->listings >= meanwhile->first && meanwhile->listings <= meanwhile->last)
		meanwhile->act(meanwhile);
	return 0;
}

static void claim(struct meanwhile *meanwhile)
{
	struct claim request = {0};
	auto_(attempt_release) struct attempt attempt = {0};

	assert_works(storage_claim(meanwhile->other, &request, &attempt, NULL, &err));
}

static void pin(struct meanwhile *meanwhile)
{
	assert_works(storage_pin(meanwhile->other, (struct snapshot_id){1, 1}, NULL, &err));
}

/* Four old snapshots with a pack each. */
static void start(struct fixture *f, struct meanwhile *meanwhile)
{
	struct storage_options options = {.job = "job"};
	struct slow_store *slow;

	fixture_start(f);
	options.url = f->url;
	for (uint64_t i = 1; i <= 4; i++) {
		fixture_write(f, "w", 1000, i);
		fixture_take(f);
	}
	make_old(f, "jobs");
	assert_works(storage_open(&options, &meanwhile->other, NULL, &err));
	slow = slow_store_install(f, NULL);
	slow->answer_list = act_before;
	slow->arg = meanwhile;
}

static void stop(struct fixture *f, struct meanwhile *meanwhile)
{
	storage_close(meanwhile->other);
	fixture_stop(f);
}

static int forget(struct fixture *f, struct forget_result *result)
{
	struct forget_request request = {.policy.keep_last = 1};

	memset(result, 0x5a, sizeof(*result));
	return storage_forget(f->storage, &request, result, NULL, &err);
}

/* The second listing of the attempts is the look whether the survey still stands. */
static void test_pinned_meanwhile(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f, .first = 2, .last = 2, .act = pin};
	struct forget_result result;

	(void)state;
	start(&f, &meanwhile);
	assert_works(forget(&f, &result));
	assert_int_equal(result.forgotten, 2);
	assert_int_equal(result.kept, 2);
	assert_int_equal(count_files(&f, "/snapshots/"), 2);
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 1}));
	stop(&f, &meanwhile);
}

/* Another one has begun to forget it. The user cannot pin it until it is gone, even without the
 * record of that one. */
static int pin_before_removal(struct slow_store *slow, const char *key, struct err *error)
{
	struct meanwhile *meanwhile = slow->arg;
	struct snapshot_id id = {1, 1};

	(void)error;
	if (!meanwhile->other || !text_ends(key, "snapshots/000001-000001.json"))
		return 0;
	assert_fails(storage_pin(meanwhile->other, id, NULL, &err), ERR_RETRY);
	assert_works(storage_unpin(meanwhile->other, id, NULL, &err));
	assert_fails(storage_pin(meanwhile->other, id, NULL, &err), ERR_RETRY);
	storage_close(steal(&meanwhile->other));
	return 0;
}

static void test_forgotten_by_two(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_result result;
	struct slow_store *slow;
	char *sign;
	bool pinned;

	(void)state;
	start(&f, &meanwhile);
	slow = slow_of(f.storage->transfer.store);
	assert_works(pin_forbid(meanwhile.other, (struct snapshot_id){1, 1}, &pinned, &sign, NULL,
				&err));
	assert_true(!pinned && !sign);
	slow->answer_remove = pin_before_removal;
	assert_works(forget(&f, &result));
	assert_null(meanwhile.other);
	assert_int_equal(count_files(&f, "snapshots/000001-000001"), 0);
	assert_int_equal(count_files(&f, "/pins/"), 0);
	assert_int_equal(count_files(&f, "/tmp/forgetting"), 0);
	assert_fails(storage_pin(f.storage, (struct snapshot_id){1, 1}, NULL, &err), ERR_NOT_FOUND);
	fixture_stop(&f);
}

static int do_not_answer(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return strstr(key, "/snapshots/") ? err_set(error, ERR_RETRY, "no answer") : 0;
}

/* The removal may still happen: until the next one has seen to it, the snapshot cannot be pinned.
 */
static void test_no_answer_to_the_removal(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_result result;
	struct slow_store *slow;

	(void)state;
	start(&f, &meanwhile);
	slow = slow_of(f.storage->transfer.store);
	slow->answer_remove = do_not_answer;
	assert_fails(forget(&f, &result), ERR_RETRY);
	assert_int_equal(count_files(&f, "/pins/000001-000001"), 1);
	assert_fails(storage_pin(f.storage, (struct snapshot_id){1, 1}, NULL, &err), ERR_RETRY);
	/* and the same for the one that finds it so */
	assert_fails(forget(&f, &result), ERR_RETRY);
	assert_int_equal(count_files(&f, "/tmp/forgetting-job-000001-000001-"), 1);
	slow->answer_remove = NULL;
	assert_works(forget(&f, &result));
	assert_int_equal(count_files(&f, "/pins/"), 0);
	assert_int_equal(count_files(&f, "snapshots/000001-000001"), 0);
	stop(&f, &meanwhile);
}

static int do_not_read_pins(struct slow_store *slow, const char *key, struct err *error)
{
	(void)slow;
	return strstr(key, "/pins/") ? err_set(error, ERR_RETRY, "no answer") : 0;
}

/* A list does not fail for it, and nothing is forgotten that may be pinned. */
static void test_a_pin_that_cannot_be_read(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct forget_result result;
	struct slow_store *slow;

	(void)state;
	start(&f, &meanwhile);
	assert_works(storage_pin(meanwhile.other, (struct snapshot_id){1, 1}, NULL, &err));
	slow = slow_of(f.storage->transfer.store);
	slow->answer_get = do_not_read_pins;
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_true(list.items[list.count - 1].pinned);
	assert_works(forget(&f, &result));
	assert_int_equal(result.forgotten, 2);
	stop(&f, &meanwhile);
}

/* A pin of what is kept anyway changes nothing, and costs no second survey. */
static void test_pinned_what_is_kept(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_result result;

	(void)state;
	start(&f, &meanwhile);
	assert_works(storage_pin(f.storage, (struct snapshot_id){1, 4}, NULL, &err));
	meanwhile.listings = 0;
	assert_works(forget(&f, &result));
	assert_int_equal(result.forgotten, 3);
	/* The survey, the look whether it stands, and the one before packs are removed. */
	assert_int_equal(meanwhile.listings, 3);
	stop(&f, &meanwhile);
}

/* A claim may rely on what is about to be removed: it is decided anew, a few times. */
static void test_claimed_meanwhile(void **state)
{
	static const struct {
		unsigned first, last;
		bool works;
	} rows[] = {{2, 2, true}, {2, 4, true}, {2, 6, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meanwhile meanwhile = {.f = &f, .act = claim};
		struct forget_result result;

		meanwhile.first = rows[i].first;
		meanwhile.last = rows[i].last;
		start(&f, &meanwhile);
		if (rows[i].works) {
			assert_works(forget(&f, &result));
			assert_int_equal(result.forgotten, 3);
			assert_int_equal(count_files(&f, "/snapshots/"), 1);
		} else {
			assert_fails(forget(&f, &result), ERR_RETRY);
			assert_non_null(strstr(err.text, "job job keeps starting new attempts; "
							 "nothing was removed"));
			assert_int_equal(count_files(&f, "/snapshots/"), 4);
			assert_int_equal(count_files(&f, "/packs/"), 4);
		}
		stop(&f, &meanwhile);
	}
}

/* One that comes after the manifests were removed, and before the packs are: they wait. */
static void test_claimed_before_the_packs_go(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f, .first = 3, .last = 3, .act = claim};
	struct forget_result result;
	auto_free char *pack = NULL;
	struct stat status;

	(void)state;
	start(&f, &meanwhile);
	pack = fixture_find(&f, "packs/000001/000001-");
	assert_int_equal(stat(pack, &status), 0);
	assert_works(forget(&f, &result));
	assert_int_equal(result.forgotten, 3);
	assert_int_equal(result.collected.packs_removed, 0);
	assert_int_equal(result.collected.bytes_removed, 0);
	assert_int_equal(result.collected.packs_deferred, 3);
	assert_true(result.collected.bytes_deferred > 2 * (uint64_t)status.st_size &&
		    result.collected.bytes_deferred < 4 * (uint64_t)status.st_size);
	assert_int_equal(count_files(&f, "/packs/"), 4);
	/* The next one finds nobody in its way. */
	assert_works(forget(&f, &result));
	assert_int_equal(result.collected.packs_removed, 3);
	assert_int_equal(count_files(&f, "/packs/"), 1);
	stop(&f, &meanwhile);
}

/* A job that is through, with a pack that a killed attempt has left. */
static char *start_with_leftover(struct fixture *f, struct meanwhile *meanwhile)
{
	char left[256];

	start(f, meanwhile);
	fixture_write(f, "w", 1000, 99);
	fixture_take(f);
	snprintf(left, sizeof(left), "%s/jobs/job/snapshots/000001-000005.json", f->store);
	assert_int_equal(unlink(left), 0);
	assert_works(
		storage_end_attempt(f->storage, f->attempt.number, "preempted", NULL, NULL, &err));
	make_old(f, "jobs");
	meanwhile->listings = 0;
	return fixture_find(f, "packs/000001/000005-");
}

/* The new attempt may have used the leftover, and committed. */
static void test_claimed_before_leftovers_go(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f, .first = 3, .last = 3, .act = claim};
	struct forget_result result;
	auto_free char *pack = NULL;

	(void)state;
	pack = start_with_leftover(&f, &meanwhile);
	assert_works(forget(&f, &result));
	assert_int_equal(result.collected.packs_removed, 0);
	assert_int_equal(access(pack, F_OK), 0);
	stop(&f, &meanwhile);
}

/* What was put is gone again. */
static int lose_record(struct slow_store *slow, const char *key, enum err_kind kind,
		       struct err *error)
{
	const struct meanwhile *meanwhile = slow->arg;
	auto_free char *path = text_format("%s/%s", meanwhile->f->store, key);

	if (!text_ends(key, ".swept.json"))
		return 0;
	assert_int_equal(unlink(path), 0);
	return err_set(error, kind, "no record is taken");
}

static int refuse_record(struct slow_store *slow, const char *key, struct err *error)
{
	return lose_record(slow, key, ERR_NO_SPACE, error);
}

static int deny_record(struct slow_store *slow, const char *key, struct err *error)
{
	return lose_record(slow, key, ERR_DENIED, error);
}

static int refuse_all(struct slow_store *slow, unsigned number, unsigned again,
		      struct cancel *cancel, struct err *error)
{
	(void)slow, (void)number, (void)again, (void)cancel;
	return err_set(error, ERR_NO_SPACE, "the store is full");
}

/* Neither the clock nor the record finds room: what needs none of them goes. */
static void test_full_store_is_emptied_of_garbage(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_result result;
	auto_free char *pack = NULL;
	struct slow_store *slow;
	struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};

	(void)state;
	pack = start_with_leftover(&f, &meanwhile);
	slow = slow_of(f.storage->transfer.store);
	slow->answer_record = refuse_record;
	slow->put_pack = refuse_all;
	/* All is as old as the newest pack: for all that is known, no time has passed. */
	assert_works(forget(&f, &result));
	assert_int_equal(result.forgotten, 3);
	assert_int_equal(result.collected.packs_removed, 0);
	free(pack);
	pack = fixture_find(&f, "packs/000001/000004-");
	assert_int_equal(utimensat(AT_FDCWD, pack, now, 0), 0);
	assert_works(forget(&f, &result));
	assert_int_equal(result.collected.packs_removed, 3);
	assert_int_equal(count_files(&f, "/packs/"), 2);
	/* Now there is room. */
	slow->answer_record = NULL;
	assert_works(forget(&f, &result));
	assert_int_equal(result.collected.packs_removed, 1);
	stop(&f, &meanwhile);
}

/* A save that begins meanwhile goes by the record: without it no pack is removed. */
static void test_a_store_that_takes_no_record(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_result result;
	auto_free char *pack = NULL;
	struct slow_store *slow;
	size_t packs;

	(void)state;
	pack = start_with_leftover(&f, &meanwhile);
	packs = count_files(&f, "/packs/");
	slow = slow_of(f.storage->transfer.store);
	slow->answer_record = deny_record;
	assert_fails(forget(&f, &result), ERR_DENIED);
	assert_int_equal(count_files(&f, "/packs/"), packs);
	assert_int_equal(access(pack, F_OK), 0);
	stop(&f, &meanwhile);
}

/* Whoever claims after it does without the leftover, though it is still there. */
static void test_what_was_swept_is_no_base(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_result result;
	struct save_result saved;
	auto_free char *pack = NULL, *copy = NULL, *back = NULL;

	(void)state;
	pack = start_with_leftover(&f, &meanwhile);
	copy = text_format("cp -p '%s' '%s/kept'", pack, f.root);
	assert_int_equal(system(copy), 0);
	assert_works(forget(&f, &result));
	assert_int_equal(access(pack, F_OK), -1);
	assert_int_equal(count_files(&f, ".swept.json"), 1);
	/* Its removal is late. */
	back = text_format("mkdir -p \"$(dirname '%s')\" && cp -p '%s/kept' '%s'", pack, f.root,
			   pack);
	assert_int_equal(system(back), 0);
	storage_close(f.storage);
	fixture_open(&f);
	fixture_claim(&f);
	assert_works(fixture_try_take(&f, &saved));
	assert_int_equal(saved.chunks_kept, 0);
	stop(&f, &meanwhile);
}

/* A commit after the survey, of another process, brings back into use what nobody else names. */
static void commit_again(void *arg, const struct snapshot_info *info, unsigned reasons)
{
	struct meanwhile *meanwhile = arg;
	struct save_request request = {
		.id = {1, 5},
		.parent = {1, 1},
		.directory = meanwhile->f->source,
		.reason = "request",
	};
	struct save_result result;

	(void)reasons;
	if (info->id.sequence != 4)
		return;
	fixture_write(meanwhile->f, "w", 1000, 1);
	assert_works(storage_save(meanwhile->other, &request, &result, NULL, &err));
	assert_int_equal(result.chunks_sent, 0);
}

static void test_committed_meanwhile(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_request request = {
		.policy.keep_last = 1,
		.decided = commit_again,
		.arg = &meanwhile,
	};
	struct forget_result result;

	(void)state;
	start(&f, &meanwhile);
	assert_works(storage_forget(f.storage, &request, &result, NULL, &err));
	assert_int_equal(result.forgotten, 3);
	assert_int_equal(result.collected.packs_removed, 2);
	assert_int_equal(count_files(&f, "/packs/"), 2);
	fixture_check(&f, (struct snapshot_id){1, 5});
	assert_int_equal(fixture_damages(&f), 0);
	stop(&f, &meanwhile);
}

static void test_how_old_garbage_must_be(void **state)
{
	static const struct {
		int64_t age_ms;
		uint32_t removed;
	} rows[] = {
		{0, 3},
		{-1, 3},
		{1000, 3},
		{(int64_t)3 * 24 * 3600 * 1000, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meanwhile meanwhile = {.f = &f};
		struct forget_request request = {.policy.keep_last = 1};
		struct forget_result result;

		start(&f, &meanwhile);
		request.garbage_age_ms = rows[i].age_ms;
		assert_works(storage_forget(f.storage, &request, &result, NULL, &err));
		assert_int_equal(result.collected.packs_removed, rows[i].removed);
		assert_int_equal(result.collected.packs_deferred, 3 - rows[i].removed);
		stop(&f, &meanwhile);
	}
}

/* What killed processes have left below tmp/, once it is a day old; not by a dry run. */
static void test_old_temporaries(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile = {.f = &f};
	struct forget_request dry = {.policy.keep_last = 1, .dry_run = true};
	struct forget_result result;
	struct store *store;

	(void)state;
	start(&f, &meanwhile);
	store = f.storage->transfer.store;
	assert_works(store->ops->put(store, "tmp/old", "x", 1, STORE_UNIQUE, NULL, &err));
	make_old(&f, "tmp");
	assert_works(store->ops->put(store, "tmp/young", "x", 1, STORE_UNIQUE, NULL, &err));
	assert_works(storage_forget(f.storage, &dry, &result, NULL, &err));
	assert_int_equal(count_files(&f, "/tmp/old"), 1);
	assert_works(forget(&f, &result));
	assert_int_equal(count_files(&f, "/store/tmp/old"), 0);
	assert_int_equal(count_files(&f, "/store/tmp/young"), 1);
	assert_int_equal(count_files(&f, "/store/tmp/"), 1);
	stop(&f, &meanwhile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pinned_meanwhile),
		cmocka_unit_test(test_forgotten_by_two),
		cmocka_unit_test(test_no_answer_to_the_removal),
		cmocka_unit_test(test_a_pin_that_cannot_be_read),
		cmocka_unit_test(test_pinned_what_is_kept),
		cmocka_unit_test(test_claimed_meanwhile),
		cmocka_unit_test(test_claimed_before_the_packs_go),
		cmocka_unit_test(test_claimed_before_leftovers_go),
		cmocka_unit_test(test_full_store_is_emptied_of_garbage),
		cmocka_unit_test(test_a_store_that_takes_no_record),
		cmocka_unit_test(test_what_was_swept_is_no_base),
		cmocka_unit_test(test_committed_meanwhile),
		cmocka_unit_test(test_how_old_garbage_must_be),
		cmocka_unit_test(test_old_temporaries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
