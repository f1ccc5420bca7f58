/* What is forgotten while it is read is not damaged: what came in its place is read, or it is not
 * there any more. */
#include "slow_store.h"

/* Snapshot 1-2 comes, and 1-1 is forgotten, with its packs, in the moment in which something of 1-1
 * is asked for. */
struct meanwhile {
	struct fixture *f;
	const char *when; /* a part of the key */
	bool done;
};

static void shell(struct fixture *f, const char *script)
{
	auto_free char *command = text_format("cd '%s' && %s", f->store, script);

	assert_int_equal(system(command), 0);
}

static int replace(struct slow_store *slow, const char *key, struct err *error)
{
	struct meanwhile *meanwhile = slow->arg;

	(void)error;
	if (meanwhile->done || !strstr(key, meanwhile->when))
		return 0;
	meanwhile->done = true;
	shell(meanwhile->f, "mv aside jobs/job/snapshots/000001-000002.json");
	shell(meanwhile->f, "rm jobs/job/snapshots/000001-000001.json");
	shell(meanwhile->f, "rm jobs/job/packs/000001/000001-*");
	return 0;
}

static void start(struct fixture *f, struct meanwhile *meanwhile, const char *when)
{
	struct slow_store *slow;

	fixture_start(f);
	fixture_write(f, "a", 1000, 1);
	fixture_take(f);
	fixture_write(f, "a", 1000, 2);
	fixture_take(f);
	shell(f, "mv jobs/job/snapshots/000001-000002.json aside");
	/* It has read nothing yet. */
	storage_close(f->storage);
	fixture_open(f);
	*meanwhile = (struct meanwhile){.f = f, .when = when};
	slow = slow_store_install(f, NULL);
	slow->arg = meanwhile;
	slow->answer_get = replace;
}

#define MANIFEST "/snapshots/000001-000001"
#define PACK "/packs/000001/000001-"

static void test_the_list_has_what_came_in_its_place(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile;
	auto_(snapshot_list_release) struct snapshot_list list = {0};

	(void)state;
	start(&f, &meanwhile, MANIFEST);
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_true(meanwhile.done);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.items[0].id.sequence, 2);
	assert_int_equal(list.items[0].state, SNAPSHOT_GOOD);
	assert_true(list.items[0].newest);
	fixture_stop(&f);
}

static void test_what_is_verified_is_not_damaged(void **state)
{
	static const char *const rows[] = {MANIFEST, PACK};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meanwhile meanwhile;
		struct verify_request request = {0};
		struct verify_result result;

		start(&f, &meanwhile, rows[i]);
		assert_works(storage_verify(f.storage, &request, &result, NULL, &err));
		assert_true(meanwhile.done);
		assert_int_equal(result.damages, 0);
		assert_int_equal(result.unreadable, 0);
		assert_int_equal(result.snapshots, 1);
		assert_int_equal(result.packs_read, 1);
		fixture_stop(&f);
	}
}

/* The one that was named is not there. */
static void test_one_that_is_verified_is_gone(void **state)
{
	static const char *const rows[] = {MANIFEST, PACK};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meanwhile meanwhile;
		struct verify_request request = {.id = {1, 1}};
		struct verify_result result;

		start(&f, &meanwhile, rows[i]);
		assert_fails(storage_verify(f.storage, &request, &result, NULL, &err),
			     ERR_NOT_FOUND);
		assert_int_equal(result.damages, 0);
		assert_true(storage_is_forgotten(f.storage, request.id, NULL));
		fixture_stop(&f);
	}
}

/* Its manifest stands: it is damaged. */
static void test_what_is_there_is_damaged_still(void **state)
{
	struct fixture f;
	struct meanwhile meanwhile;
	struct verify_request request = {0};
	struct verify_result result;

	(void)state;
	start(&f, &meanwhile, "nothing");
	shell(&f, "rm jobs/job/packs/000001/000001-*");
	assert_works(storage_verify(f.storage, &request, &result, NULL, &err));
	assert_int_equal(result.damages, 1);
	assert_int_equal(result.snapshots, 1);
	assert_false(storage_is_forgotten(f.storage, (struct snapshot_id){1, 1}, NULL));
	assert_fails(fixture_try_restore(&f, (struct snapshot_id){1, 1}), ERR_CORRUPT);
	fixture_stop(&f);
}

static void test_what_is_restored_is_not_there(void **state)
{
	static const char *const rows[] = {MANIFEST, PACK};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meanwhile meanwhile;

		start(&f, &meanwhile, rows[i]);
		assert_fails(fixture_try_restore(&f, (struct snapshot_id){1, 1}), ERR_NOT_FOUND);
		fixture_check(&f, (struct snapshot_id){1, 2});
		fixture_stop(&f);
	}
}

static void test_what_is_exported_is_not_there(void **state)
{
	static const struct {
		const char *when;
		bool wrote;
	} rows[] = {{MANIFEST, false}, {PACK, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct meanwhile meanwhile;
		auto_close int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		bool wrote;

		start(&f, &meanwhile, rows[i].when);
		assert_fails(storage_export(f.storage, (struct snapshot_id){1, 1}, fd, &wrote, NULL,
					    &err),
			     ERR_NOT_FOUND);
		/* Of so little, the archive may have kept all to itself. */
		if (!rows[i].wrote)
			assert_false(wrote);
		assert_works(storage_export(f.storage, (struct snapshot_id){1, 2}, fd, &wrote, NULL,
					    &err));
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_list_has_what_came_in_its_place),
		cmocka_unit_test(test_what_is_verified_is_not_damaged),
		cmocka_unit_test(test_one_that_is_verified_is_gone),
		cmocka_unit_test(test_what_is_there_is_damaged_still),
		cmocka_unit_test(test_what_is_restored_is_not_there),
		cmocka_unit_test(test_what_is_exported_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
