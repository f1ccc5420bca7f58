/* A store is tried and measured, and nothing is left behind in it. */
#include "storage_fixture.h"

#include "base/clock.h"
#include "storage/backend/object_store.h"
#include "storage/scheme_table.h"

/* --- a store that does not give what was put --- */

#define PIECE ((size_t)8388608)

static struct {
	enum {
		NOT,
		LACKS_ITS_END,
		HAS_MORE,
		HAS_ANOTHER_BYTE,
		IS_EMPTY,
		GIVES_ANOTHER_PROBE,
		KEEPS_WHAT_IS_REMOVED,
		GIVES_NO_DATES,
		TELLS_ITS_CLOCK,
	} how;
} altering;
static const struct store_ops *sound_ops;
static struct store_ops altering_ops;

static int altering_get(struct store *store, const char *key, uint64_t offset, size_t size,
			struct bytes *out, struct cancel *cancel, struct err *failure)
{
	if (altering.how == GIVES_ANOTHER_PROBE && size == STORE_TO_END) {
		if (sound_ops->get(store, key, offset, size, out, cancel, failure) < 0)
			return -1;
		out->data[0] ^= 1;
		return 0;
	}
	if (size == PIECE && altering.how == IS_EMPTY)
		return 0;
	if (sound_ops->get(store, key, offset, size, out, cancel, failure) < 0)
		return -1;
	if (size != PIECE)
		return 0;
	if (altering.how == LACKS_ITS_END)
		out->size--;
	if (altering.how == HAS_ANOTHER_BYTE)
		out->data[out->size - 1] ^= 1;
	return altering.how == HAS_MORE ? bytes_append(out, "x", 1, failure) : 0;
}

static int altering_remove(struct store *store, const char *key, struct cancel *cancel,
			   struct err *failure)
{
	return altering.how == KEEPS_WHAT_IS_REMOVED
		       ? 0
		       : sound_ops->remove(store, key, cancel, failure);
}

static int altering_list(struct store *store, const char *prefix, enum store_depth depth,
			 struct store_listing *listing, struct cancel *cancel, struct err *failure)
{
	if (sound_ops->list(store, prefix, depth, listing, cancel, failure) < 0)
		return -1;
	for (size_t i = 0; i < listing->count && altering.how == GIVES_NO_DATES; i++)
		listing->items[i].modified_ms = 0;
	return 0;
}

static void altering_health(struct store *store, struct store_health *health)
{
	(void)store;
	health->skew_known = altering.how == TELLS_ITS_CLOCK;
	health->skew_ms = 77;
}

int __real_store_open(const char *url, bool create, bool read_only, struct store **store,
		      struct cancel *cancel, struct err *failure);
int __wrap_store_open(const char *url, bool create, bool read_only, struct store **store,
		      struct cancel *cancel, struct err *failure);
int __wrap_store_open(const char *url, bool create, bool read_only, struct store **store,
		      struct cancel *cancel, struct err *failure)
{
	int result = __real_store_open(url, create, read_only, store, cancel, failure);

	if (result == 0 && altering.how != NOT) {
		sound_ops = (*store)->ops;
		altering_ops = *sound_ops;
		altering_ops.get = altering_get;
		altering_ops.remove = altering_remove;
		altering_ops.list = altering_list;
		altering_ops.read_health = altering_health;
		(*store)->ops = &altering_ops;
	}
	return result;
}

/* --- */

static void assert_clean(struct fixture *f)
{
	auto_free char *command =
		text_format("test -z \"$(find '%s/tmp' -type f 2>/dev/null)\"", f->store);

	assert_int_equal(system(command), 0);
}

/* Measured are whole pieces, as many as the bytes need; a step takes no longer than all of them. */
static void test_a_sound_store(void **state)
{
	static const uint64_t piece = 8388608;
	const struct {
		uint64_t bytes, pieces;
	} rows[] = {{1, 1}, {piece, 1}, {piece + 1, 2}};
	struct fixture f;
	struct store_probe probe;

	(void)state;
	fixture_start(&f);
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		int64_t began = clock_monotonic_ms(), whole;

		assert_works(storage_probe(f.url, rows[row].bytes, &probe, NULL, &err));
		whole = clock_monotonic_ms() - began;
		for (int i = 0; i < PROBE_STEPS; i++) {
			if (!probe.steps[i].tried || !probe.steps[i].worked)
				fail_msg("step %d: %s", i, probe.steps[i].err.text);
			assert_in_range(probe.steps[i].took_ms, 0, whole);
		}
		assert_true(probe.dated);
		assert_int_equal(probe.bytes, rows[row].pieces * piece);
		assert_int_equal(probe.at_once, rows[row].pieces);
		assert_false(probe.skew_known);
		assert_non_null(strstr(probe.description, f.store));
		assert_clean(&f);
	}
	fixture_stop(&f);
}

static void test_a_store_that_cannot_be(void **state)
{
	struct store_probe probe;

	(void)state;
	assert_works(storage_probe("file:///dev/null/store", 1000, &probe, NULL, &err));
	assert_true(probe.steps[PROBE_OPEN].tried);
	assert_false(probe.steps[PROBE_OPEN].worked);
	assert_false(probe.steps[PROBE_PUT].tried);
	assert_works(storage_probe("ftp://there", 1000, &probe, NULL, &err));
	assert_int_equal(probe.steps[PROBE_OPEN].err.kind, ERR_INVALID);
}

/* tmp/ is a file: nothing can be put, and all that follows from it is not tried. */
static void test_a_store_that_takes_nothing(void **state)
{
	struct fixture f;
	struct store_probe probe;
	auto_free char *tmp = NULL;

	(void)state;
	fixture_start(&f);
	tmp = text_format("%s/tmp", f.store);
	assert_works(file_remove_tree(tmp, &err));
	assert_works(file_write(tmp, "x", 1, &err));
	assert_works(storage_probe(f.url, 1000, &probe, NULL, &err));
	assert_true(probe.steps[PROBE_OPEN].worked);
	assert_true(probe.steps[PROBE_PUT].tried);
	assert_false(probe.steps[PROBE_PUT].worked);
	assert_false(probe.steps[PROBE_IF_ABSENT].tried);
	assert_false(probe.steps[PROBE_UPLOAD].tried);
	fixture_stop(&f);
}

/* Of the directories on the way, those that were there stay, and those that it has made go. */
static void test_it_leaves_no_directory_behind(void **state)
{
	static const struct {
		const char *store;
		bool made;
	} rows[] = {{"there", false}, {"there/", false}, {"there/a", true}, {"there/a/b/c/", true}};
	struct fixture f;
	auto_free char *there = NULL;

	(void)state;
	fixture_start(&f);
	there = text_format("%s/there", f.root);
	assert_int_equal(mkdir(there, 0755), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *url = text_format("file://%s/%s", f.root, rows[i].store);
		struct store_probe probe;

		assert_works(storage_probe(url, 0, &probe, NULL, &err));
		assert_true(probe.steps[PROBE_REMOVE].worked);
		if (probe.made != rows[i].made || !file_directory_is_empty(there))
			fail_msg("%s", rows[i].store);
	}
	fixture_stop(&f);
}

/* Each piece that comes back is compared whole. */
static void test_a_store_that_gives_something_else(void **state)
{
	static const struct {
		const char *name;
		int how;
	} rows[] = {
		{"a piece without its end", LACKS_ITS_END},
		{"a piece and more", HAS_MORE},
		{"another last byte", HAS_ANOTHER_BYTE},
		{"nothing", IS_EMPTY},
	};
	struct fixture f;
	struct store_probe probe;

	(void)state;
	fixture_start(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		altering.how = rows[i].how;
		assert_works(storage_probe(f.url, 2 * PIECE, &probe, NULL, &err));
		if (!probe.steps[PROBE_UPLOAD].worked || probe.steps[PROBE_DOWNLOAD].worked ||
		    probe.steps[PROBE_DOWNLOAD].err.kind != ERR_CORRUPT)
			fail_msg("%s", rows[i].name);
		assert_clean(&f);
	}
	memset(&altering, 0, sizeof(altering));
	fixture_stop(&f);
}

/* Each step sees what is wrong with it, and no other one does. */
static void test_what_each_step_sees(void **state)
{
	static const struct {
		int how;
		enum probe_step fails; /* PROBE_STEPS: none */
		bool dated, tells;
	} rows[] = {{GIVES_ANOTHER_PROBE, PROBE_GET, true, false},
		    {KEEPS_WHAT_IS_REMOVED, PROBE_REMOVE, true, false},
		    {GIVES_NO_DATES, PROBE_STEPS, false, false},
		    {TELLS_ITS_CLOCK, PROBE_STEPS, true, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct store_probe probe;

		fixture_start(&f);
		altering.how = rows[i].how;
		assert_works(storage_probe(f.url, 0, &probe, NULL, &err));
		for (int step = 0; step < PROBE_STEPS; step++)
			if (probe.steps[step].tried &&
			    probe.steps[step].worked == (step == (int)rows[i].fails))
				fail_msg("row %zu, step %d", i, step);
		assert_int_equal(probe.dated, rows[i].dated);
		assert_int_equal(probe.skew_known, rows[i].tells);
		assert_int_equal(probe.skew_ms, 77);
		memset(&altering, 0, sizeof(altering));
		fixture_stop(&f);
	}
}

static void test_cancelled(void **state)
{
	struct fixture f;
	struct store_probe probe;
	struct cancel cancel;

	(void)state;
	fixture_start(&f);
	assert_works(cancel_init(&cancel, &err));
	cancel_raise(&cancel);
	assert_fails(storage_probe(f.url, 1000, &probe, &cancel, &err), ERR_CANCELLED);
	cancel_release(&cancel);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sound_store),
		cmocka_unit_test(test_a_store_that_cannot_be),
		cmocka_unit_test(test_a_store_that_takes_nothing),
		cmocka_unit_test(test_it_leaves_no_directory_behind),
		cmocka_unit_test(test_a_store_that_gives_something_else),
		cmocka_unit_test(test_what_each_step_sees),
		cmocka_unit_test(test_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
