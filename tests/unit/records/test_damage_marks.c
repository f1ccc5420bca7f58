/* What was found damaged is written down once, and no longer counts as there. */
#include "storage_fixture.h"

#include "storage/records/records.h"

#define FIRST "packs/000001/000001-abc-0001.pack"
#define SECOND "packs/000001/000001-abc-0002.pack"
#define THIRD "packs/000001/000002-abc-0001.pack"

static struct store_listing list_marks(struct fixture *f)
{
	struct store_listing marks = {0};

	assert_works(damage_marks_list(f->storage, &marks, NULL, &err));
	return marks;
}

static void test_a_mark_comes_and_goes(void **state)
{
	struct store_listing marks;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	marks = list_marks(&f);
	assert_false(damage_marks_has(f.storage, &marks, FIRST));
	assert_int_equal(damage_marks_date(f.storage, &marks, FIRST), 0);
	store_listing_release(&marks);
	assert_works(damage_mark_put_new(f.storage, FIRST, "it was short", NULL, &err));
	marks = list_marks(&f);
	assert_int_equal(marks.count, 1);
	assert_string_equal(marks.items[0].key, "jobs/job/damaged/000001/000001-abc-0001.pack");
	assert_true(damage_marks_has(f.storage, &marks, FIRST));
	assert_false(damage_marks_has(f.storage, &marks, SECOND));
	assert_int_equal(damage_marks_date(f.storage, &marks, FIRST), marks.items[0].modified_ms);
	assert_true(marks.items[0].modified_ms > 0);
	assert_int_equal(damage_marks_date(f.storage, &marks, SECOND), 0);
	store_listing_release(&marks);
	/* Whoever must know that it is his own hears that it is not; the others need not. */
	assert_fails(damage_mark_put_new(f.storage, FIRST, "again", NULL, &err), ERR_EXISTS);
	assert_non_null(strstr(err.text, FIRST));
	assert_works(damage_mark_put(f.storage, FIRST, "again", NULL, &err));
	assert_works(damage_mark_remove(f.storage, FIRST, NULL, &err));
	assert_works(damage_mark_remove(f.storage, FIRST, NULL, &err));
	marks = list_marks(&f);
	assert_int_equal(marks.count, 0);
	store_listing_release(&marks);
	fixture_stop(&f);
}

static void test_who_reads_only_writes_nothing(void **state)
{
	struct store_listing marks;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (int read_only = 1; read_only >= 0; read_only--) {
		f.storage->read_only = read_only;
		damage_mark_note(f.storage, FIRST, "it was short", NULL);
		marks = list_marks(&f);
		assert_int_equal(marks.count, !read_only);
		store_listing_release(&marks);
	}
	fixture_stop(&f);
}

static void test_marked_packs_are_dropped(void **state)
{
	static const char *const packs[] = {FIRST, SECOND, THIRD};
	static const struct {
		const char *marked[3];
		const char *left[3];
	} rows[] = {
		{{NULL}, {FIRST, SECOND, THIRD}},
		{{SECOND}, {FIRST, THIRD}},
		{{FIRST}, {SECOND, THIRD}},
		{{FIRST, THIRD}, {SECOND}},
		{{FIRST, SECOND, THIRD}, {NULL}},
		{{"packs/000009/000001-abc-0001.pack"}, {FIRST, SECOND, THIRD}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(store_listing_release) struct store_listing listing = {0};
		struct store_listing marks;
		struct fixture f;
		size_t count = 0;

		fixture_start(&f);
		for (size_t j = 0; j < 3 && rows[i].marked[j]; j++)
			assert_works(damage_mark_put(f.storage, rows[i].marked[j], "it was short",
						     NULL, &err));
		for (size_t j = 0; j < 3; j++) {
			auto_free char *key = text_format("jobs/job/%s", packs[j]);

			store_listing_add(&listing, key, 7);
		}
		marks = list_marks(&f);
		damage_marks_drop(f.storage, &marks, &listing);
		for (; count < 3 && rows[i].left[count]; count++) {
			assert_true(count < listing.count);
			assert_string_equal(listing.items[count].key + strlen("jobs/job/"),
					    rows[i].left[count]);
		}
		assert_int_equal(listing.count, count);
		store_listing_release(&marks);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mark_comes_and_goes),
		cmocka_unit_test(test_who_reads_only_writes_nothing),
		cmocka_unit_test(test_marked_packs_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
