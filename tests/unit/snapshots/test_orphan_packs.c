/* What an attempt that was killed has sent serves the next one. */
#include "slow_store.h"

#include "storage/snapshots/snapshots.h"
#include "storage/transfer/sending.h"

#include "base/clock.h"

static int presend(struct fixture *f, const char *const *paths, size_t count)
{
	struct presave_request request = {
		.id = {f->attempt.number, f->sequence + 1},
		.parent = f->attempt.start,
		.directory = f->source,
		.paths = paths,
		.path_count = count,
	};
	struct presave_result result;

	return storage_presave(f->storage, &request, &result, NULL, &err);
}

/* As a killed process would at best: all packs are there, nothing is committed. */
static void wait_for_uploads(struct fixture *f)
{
	while (f->storage->transfer.uploader &&
	       !pack_uploader_wait(f->storage->transfer.uploader, 50))
		;
}

/* An attempt that sends two files ahead and is killed before it commits. */
static void leave_packs(struct fixture *f)
{
	static const char *const paths[] = {"a", "b"};

	fixture_write(f, "a", 3 * CHUNK_SIZE, 1);
	fixture_write(f, "b", 1000, 2);
	assert_works(presend(f, paths, 2));
	wait_for_uploads(f);
}

static void test_the_next_attempt_uses_what_was_left(void **state)
{
	struct fixture f;
	struct save_result result;
	struct snapshot_list list;

	(void)state;
	fixture_start(&f);
	leave_packs(&f);
	fixture_claim(&f);
	fixture_write(&f, "c", 1000, 3);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 1);
	assert_int_equal(result.chunks_kept, 4);
	fixture_check(&f, (struct snapshot_id){2, 1});
	/* They are this snapshot's now. */
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_true(list.items[0].bytes_stored > 3 * CHUNK_SIZE);
	snapshot_list_release(&list);
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

static void test_damaged_leftovers_are_passed_over(void **state)
{
	static const struct {
		const char *name;
		off_t from_end;
	} rows[] = {{"footer missing", 1}, {"digest", 20}, {"count", 44}, {"records", 60}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct save_result result;
		struct stat status;
		auto_free char *pack = NULL;

		fixture_start(&f);
		/* One pack. */
		fixture_write(&f, "a", 1000, 1);
		assert_works(presend(&f, (const char *const[]){"a"}, 1));
		wait_for_uploads(&f);
		pack = fixture_find(&f, ".pack");
		assert_int_equal(stat(pack, &status), 0);
		fixture_flip(pack, status.st_size - rows[i].from_end);
		fixture_claim(&f);
		assert_works(fixture_try_take(&f, &result));
		if (result.chunks_sent != 1)
			fail_msg("%s: was relied on", rows[i].name);
		fixture_check(&f, (struct snapshot_id){2, 1});
		fixture_stop(&f);
	}
}

struct sweeping {
	char *pack;
	atomic_uint listings; /* of packs until then; several at once */
};

static void sweep(struct slow_store *slow)
{
	struct sweeping *sweeping = slow->arg;

	if (atomic_fetch_sub(&sweeping->listings, 1) == 0)
		assert_int_equal(unlink(sweeping->pack), 0);
}

static void test_leftovers_that_are_swept_meanwhile(void **state)
{
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	struct sweeping sweeping = {.listings = 1};
	struct snapshot_list list;

	(void)state;
	fixture_start(&f);
	leave_packs(&f);
	sweeping.pack = fixture_find(&f, ".pack");
	fixture_claim(&f);
	slow = slow_store_install(&f, NULL);
	slow->arg = &sweeping;
	slow->before_list = sweep;
	/* It sees that before the commit, and sends what was in it. */
	assert_works(fixture_try_take(&f, &result));
	slow->before_list = NULL;
	assert_int_equal(access(sweeping.pack, F_OK), -1);
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_int_equal(list.count, 1);
	snapshot_list_release(&list);
	assert_true(result.chunks_sent > 0);
	fixture_check(&f, (struct snapshot_id){2, 1});
	free(sweeping.pack);
	fixture_stop(&f);
}

static void test_which_are_leftovers(void **state)
{
	static const struct {
		const char *key;
		uint64_t size;
	} packs[] = {
		{"jobs/j/packs/000001/000009-n-0001.pack", 5000},
		{"jobs/j/packs/000002/000003-n-0001.pack", 5000},
		{"jobs/j/packs/000002/000004-known-0001.pack", 5000},
		{"jobs/j/packs/000002/000004-n-0001.pack", 5000},
		{"jobs/j/packs/000002/000004-tiny-0001.pack", 20},
		{"jobs/j/packs/000003/000001-n-0001.pack", 5000},
		{"jobs/j/packs/000003/huge-n-0001.pack", 5000},
		{"jobs/j/packs/999999/000001-huge-0001.pack", (uint64_t)1 << 40},
		{"jobs/j/packs/odd", 5000},
	};
	struct store_listing listing = {0};
	const struct store_object *chosen[10];
	struct chunk_index index;

	(void)state;
	chunk_index_init(&index);
	chunk_index_open_pack(&index, "packs/000002/000004-known-0001.pack");
	for (size_t i = 0; i < sizeof(packs) / sizeof(packs[0]); i++)
		store_listing_add(&listing, packs[i].key, packs[i].size);
	store_listing_sort(&listing);
	assert_int_equal(orphan_packs_select(&listing, "jobs/j/", (struct snapshot_id){2, 3},
					     &index, chosen, 10),
			 2);
	assert_string_equal(chosen[0]->key, packs[5].key);
	assert_string_equal(chosen[1]->key, packs[3].key);
	assert_int_equal(orphan_packs_select(&listing, "jobs/j/", (struct snapshot_id){0, 0},
					     &index, chosen, 3),
			 3);
	store_listing_release(&listing);
	chunk_index_release(&index);
	assert_int_equal(orphan_packs_time_limit_ms(CLOCK_NEVER), 5000);
	assert_int_equal(orphan_packs_time_limit_ms(30000), 3000);
	assert_int_equal(orphan_packs_time_limit_ms(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_next_attempt_uses_what_was_left),
		cmocka_unit_test(test_damaged_leftovers_are_passed_over),
		cmocka_unit_test(test_leftovers_that_are_swept_meanwhile),
		cmocka_unit_test(test_which_are_leftovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
