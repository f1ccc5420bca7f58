/* When a process leaves its catalogue for the next one, and what the next one makes of it. */
#include "storage_fixture.h"

#include "storage/records/records.h"

/* As a process that has read the manifests of snapshots `first` to `last`. */
static void learn(struct fixture *f, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++) {
		struct snapshot_info info = {.id = {1, i}, .created = "then", .step = i};
		struct manifest_object object = {.size = 500, .put_ms = 12345};

		snapshot_catalogue_add(&f->storage->catalogue, &info, &object, NULL, 0);
	}
}

/* Snapshots `first` to `last`, in as much memory as they need; the caller frees. */
static struct snapshot_id *listed(uint32_t first, uint32_t last)
{
	struct snapshot_id *ids = memory_new((last - first + 1) * sizeof(*ids));

	for (uint32_t i = first; i <= last; i++)
		ids[i - first] = (struct snapshot_id){1, i};
	return ids;
}

static void store(struct fixture *f, uint32_t first, uint32_t last)
{
	auto_free struct snapshot_id *ids = listed(first, last);

	catalogue_cache_store(f->storage, ids, last - first + 1, NULL);
}

/* The number of the catalogue in the store, of which there is one; 0: none. */
static uint32_t number_in_store(struct fixture *f)
{
	struct store *store = f->storage->transfer.store;
	auto_(store_listing_release) struct store_listing found = {0};
	uint32_t number = 0;

	assert_works(
		store->ops->list(store, "jobs/job/catalogues/", STORE_ALL, &found, NULL, &err));
	assert_true(found.count <= 1);
	if (found.count > 0)
		assert_true(
			job_record_parse_number(found.items[0].key + strlen("jobs/job/catalogues/"),
						&number));
	return number;
}

/* What a new process knows that finds so many snapshots. */
static size_t count_loaded(struct fixture *f, uint32_t snapshots)
{
	auto_free struct snapshot_id *ids = listed(1, snapshots);
	struct job_listing listing = {
		.lineage = {.snapshots = ids, .snapshot_count = snapshots},
	};

	storage_close(f->storage);
	fixture_open(f);
	catalogue_cache_load(f->storage, &listing, NULL);
	return f->storage->catalogue.count;
}

static void test_it_is_put_where_it_saves_requests(void **state)
{
	static const struct {
		const char *name;
		/* Known and listed at first: 1 to that. Then known and listed so. */
		uint32_t before, known, first, last;
		uint32_t number; /* of the catalogue in the end; 0: there is none */
	} rows[] = {
		{"four need none", 4, 4, 1, 4, 0},
		{"five do", 5, 5, 1, 5, 1},
		{"nothing new", 10, 10, 1, 10, 1},
		{"it lacks three", 10, 13, 1, 13, 1},
		{"it lacks four", 10, 14, 1, 14, 2},
		{"it has three too many", 10, 10, 4, 10, 1},
		{"it has four too many", 10, 10, 5, 10, 2},
		{"three of each", 10, 13, 4, 13, 1},
		{"the newest ones were removed by others", 10, 12, 1, 6, 2},
		{"what is new was removed by others", 10, 14, 1, 10, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		uint32_t number;

		fixture_start(&f);
		learn(&f, 1, rows[i].before);
		store(&f, 1, rows[i].before);
		learn(&f, rows[i].before + 1, rows[i].known);
		store(&f, rows[i].first, rows[i].last);
		number = number_in_store(&f);
		if (number != rows[i].number)
			fail_msg("%s: catalogue %u", rows[i].name, number);
		/* Put once, it lacks nothing. */
		store(&f, rows[i].first, rows[i].last);
		assert_int_equal(number_in_store(&f), number);
		if (number == 2)
			assert_int_equal(f.storage->catalogue.count,
					 rows[i].last - rows[i].first + 1);
		fixture_stop(&f);
	}
}

static void test_the_next_process_reads_it(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	learn(&f, 1, 10);
	store(&f, 1, 10);
	assert_int_equal(count_loaded(&f, 10), 10);
	for (size_t i = 0; i < 10; i++)
		assert_true(f.storage->catalogue.entries[i]->stored);
	/* Few manifests are read themselves. */
	assert_int_equal(count_loaded(&f, 4), 0);
	assert_int_equal(count_loaded(&f, 5), 10);
	fixture_stop(&f);
}

static void test_who_reads_only_puts_none(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	learn(&f, 1, 10);
	f.storage->read_only = true;
	store(&f, 1, 10);
	assert_int_equal(number_in_store(&f), 0);
	fixture_stop(&f);
}

/* What was forgotten long ago is forgotten here as well. */
static void test_it_does_not_grow_for_ever(void **state)
{
	static const struct {
		uint32_t known, there;
		size_t left;
	} rows[] = {{18, 5, 18}, {19, 5, 5}, {8, 0, 8}, {9, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free struct snapshot_id *ids = listed(1, rows[i].there);
		struct job_listing listing = {
			.lineage = {.snapshots = ids, .snapshot_count = rows[i].there},
		};
		struct fixture f;

		fixture_start(&f);
		f.storage->catalogue_loaded = true;
		learn(&f, 1, rows[i].known);
		catalogue_cache_load(f.storage, &listing, NULL);
		assert_int_equal(f.storage->catalogue.count, rows[i].left);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_put_where_it_saves_requests),
		cmocka_unit_test(test_the_next_process_reads_it),
		cmocka_unit_test(test_who_reads_only_puts_none),
		cmocka_unit_test(test_it_does_not_grow_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
