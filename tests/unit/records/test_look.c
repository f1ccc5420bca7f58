/* Whom an answer that was asked for ahead serves, and for how long. */
#include "storage_fixture.h"

#include "storage/records/records.h"

#include <pthread.h>

#define PREFIX "jobs/job/x/"

static void put(struct storage *storage, const char *key)
{
	struct store *store = storage->transfer.store;

	assert_works(store->ops->put(store, key, "x", 1, STORE_UNIQUE, NULL, &err));
}

static size_t count_listed(struct storage *storage)
{
	auto_(store_listing_release) struct store_listing found = {0};

	assert_works(look_list(storage, PREFIX, &found, NULL, &err));
	return found.count;
}

static void want_list(struct storage *storage)
{
	look_want(storage, text_copy(PREFIX));
	look_ask(storage, NULL, NULL, NULL);
	/* It came too late for what was asked. */
	put(storage, PREFIX "b");
}

static void *list_elsewhere(void *arg)
{
	return (void *)count_listed(arg);
}

static void test_a_list_serves_once(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	put(f.storage, PREFIX "a");
	want_list(f.storage);
	assert_int_equal(count_listed(f.storage), 1);
	assert_int_equal(count_listed(f.storage), 2);
	fixture_stop(&f);
}

static void test_who_keeps_a_list_is_served_again(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	put(f.storage, PREFIX "a");
	want_list(f.storage);
	look_keep(f.storage);
	assert_int_equal(count_listed(f.storage), 1);
	/* What is wanted meanwhile is there. */
	look_want(f.storage, text_copy(PREFIX));
	look_ask(f.storage, NULL, NULL, NULL);
	assert_int_equal(count_listed(f.storage), 1);
	assert_int_equal(count_listed(f.storage), 2);
	fixture_stop(&f);
}

static void test_what_ended_serves_nobody(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	put(f.storage, PREFIX "a");
	want_list(f.storage);
	look_end(f.storage);
	assert_int_equal(count_listed(f.storage), 2);
	fixture_stop(&f);
}

static void test_another_thread_looks_itself(void **state)
{
	struct fixture f;
	pthread_t thread;
	void *listed;

	(void)state;
	fixture_start(&f);
	put(f.storage, PREFIX "a");
	want_list(f.storage);
	assert_int_equal(pthread_create(&thread, NULL, list_elsewhere, f.storage), 0);
	assert_int_equal(pthread_join(thread, &listed), 0);
	assert_int_equal((size_t)listed, 2);
	assert_int_equal(count_listed(f.storage), 1);
	fixture_stop(&f);
}

static void test_a_manifest_serves_on_and_a_claim_once(void **state)
{
	struct fixture f;
	struct store *store;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 10, 1);
	fixture_take(&f);
	store = f.storage->transfer.store;
	for (unsigned i = 0; i < 2; i++) {
		auto_free char *key =
			i ? job_record_key_attempt(f.storage, 1)
			  : job_record_key_snapshot(f.storage, (struct snapshot_id){1, 1});
		enum record_kind kind = i ? RECORD_ATTEMPT : RECORD_SNAPSHOT;
		json_t *body = NULL;

		look_want(f.storage, text_copy(key));
		look_ask(f.storage, NULL, NULL, NULL);
		assert_works(store->ops->remove(store, key, NULL, &err));
		assert_works(look_record(f.storage, key, kind, &body, NULL, &err));
		json_decref(body);
		if (i) {
			assert_fails(look_record(f.storage, key, kind, &body, NULL, &err),
				     ERR_NOT_FOUND);
			continue;
		}
		look_end(f.storage);
		assert_works(look_record(f.storage, key, kind, &body, NULL, &err));
		json_decref(body);
	}
	fixture_stop(&f);
}

static void put_beside(void *arg)
{
	put(arg, PREFIX "beside");
}

/* Nothing is asked for: the work is done all the same, and what failed is said as it was. */
static void test_work_beside_and_failures(void **state)
{
	struct fixture f;
	json_t *body = NULL;

	(void)state;
	fixture_start(&f);
	look_ask(f.storage, put_beside, f.storage, NULL);
	assert_int_equal(count_listed(f.storage), 1);
	look_want(f.storage, text_copy(PREFIX "n.json"));
	look_ask(f.storage, NULL, NULL, NULL);
	put(f.storage, PREFIX "n.json");
	assert_fails(look_record(f.storage, PREFIX "n.json", RECORD_PIN, &body, NULL, &err),
		     ERR_NOT_FOUND);
	assert_fails(look_record(f.storage, PREFIX "n.json", RECORD_PIN, &body, NULL, &err),
		     ERR_CORRUPT);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_list_serves_once),
		cmocka_unit_test(test_who_keeps_a_list_is_served_again),
		cmocka_unit_test(test_what_ended_serves_nobody),
		cmocka_unit_test(test_another_thread_looks_itself),
		cmocka_unit_test(test_a_manifest_serves_on_and_a_claim_once),
		cmocka_unit_test(test_work_beside_and_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
