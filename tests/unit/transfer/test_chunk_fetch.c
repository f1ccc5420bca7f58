/* A second look before something is called damaged: chunks and records whose bits flip on the way,
 * once or for ever. */
#include "storage_fixture.h"

#include "storage/records/job_records.h"
#include "storage/transfer/fetching.h"

/* In front of the fixture's: the first `flips` gets of what has `part` in its key
 * have a bit wrong; one that `fails` (from 1; 0: none) does not come at all. */
struct noisy {
	struct store store;
	struct store *behind;
	const char *part;
	unsigned flips, fails, gets;
};

static int noisy_get(struct store *store, const char *key, uint64_t offset, size_t size,
		     struct bytes *out, struct cancel *cancel, struct err *error)
{
	struct noisy *noisy = (struct noisy *)store;
	size_t before = out->size;

	if (noisy->fails && strstr(key, noisy->part) && noisy->gets + 1 == noisy->fails) {
		noisy->gets++;
		return err_set(error, ERR_RETRY, "503");
	}
	if (noisy->behind->ops->get(noisy->behind, key, offset, size, out, cancel, error) < 0)
		return -1;
	if (strstr(key, noisy->part) && noisy->gets++ < noisy->flips)
		out->data[before + (out->size - before) / 2] ^= 0x10;
	return 0;
}

static const struct store_ops noisy_ops = {.get = noisy_get};

static struct noisy noisy_new(struct fixture *fixture, const char *part, unsigned flips)
{
	struct noisy noisy = {
		.store.ops = &noisy_ops,
		.behind = fixture->storage->transfer.store,
		.part = part,
		.flips = flips,
	};

	return noisy;
}

static int set_up(void **state)
{
	static struct fixture fixture;

	fixture_start(&fixture);
	fixture_write(&fixture, "data", 100000, 1);
	fixture_take(&fixture);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	fixture_stop(*state);
	return 0;
}

static int read_manifest(struct fixture *fixture, struct manifest *manifest)
{
	struct snapshot_id id = {fixture->attempt.number, 1};

	err = (struct err){0};
	return job_record_get_manifest(fixture->storage, id, manifest, NULL, &err);
}

/* A pack is damaged if what comes of it is wrong twice; what does not come says nothing of it. */
static void chunks(void **state)
{
	static const struct {
		unsigned flips, fails; /* see struct noisy */
		enum err_kind kind;    /* ERR_NONE: it is there */
		bool damaged;
		unsigned gets;
	} rows[] = {
		{0, 0, ERR_NONE, false, 1},   {1, 0, ERR_NONE, false, 2},
		{2, 0, ERR_CORRUPT, true, 2}, {3, 0, ERR_CORRUPT, true, 2},
		{0, 1, ERR_RETRY, false, 1},  {1, 2, ERR_RETRY, false, 2},
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct noisy noisy = noisy_new(fixture, "packs/", rows[i].flips);
		struct manifest manifest = {0};
		struct chunk_fetch fetch;
		const uint8_t *raw;
		int result;

		noisy.fails = rows[i].fails;
		assert_works(read_manifest(fixture, &manifest));
		fixture->storage->transfer.store = &noisy.store;
		assert_works(
			chunk_fetch_init(&fetch, &fixture->storage->transfer, &manifest, &err));
		result = chunk_fetch_one(&fetch, &manifest.entries[0].chunks[0], 100000, &raw, NULL,
					 &err);
		fixture->storage->transfer.store = noisy.behind;
		if (result != (rows[i].kind == ERR_NONE ? 0 : -1) || noisy.gets != rows[i].gets ||
		    (fetch.damaged != NULL) != rows[i].damaged)
			fail_msg("row %zu", i);
		if (result < 0)
			assert_int_equal(err.kind, rows[i].kind);
		chunk_fetch_release(&fetch);
		manifest_release(&manifest);
	}
}

/* It never changes: who wants its content is served by what was read. */
static void known_manifest(void **state)
{
	struct fixture *fixture = *state;
	struct snapshot_id id = {fixture->attempt.number, 1};
	struct noisy noisy = noisy_new(fixture, "snapshots/", 0);

	fixture->storage->transfer.store = &noisy.store;
	for (unsigned gets = 1; gets < 3; gets++) {
		struct manifest manifest = {0};

		assert_works(
			job_record_get_manifest_head(fixture->storage, id, &manifest, NULL, &err));
		manifest_release(&manifest);
		assert_works(
			job_record_get_known_head(fixture->storage, id, &manifest, NULL, &err));
		assert_int_equal(manifest.entry_count, 1);
		assert_int_equal(noisy.gets, gets);
		manifest_release(&manifest);
	}
	fixture->storage->transfer.store = noisy.behind;
}

static void records(void **state)
{
	struct fixture *fixture = *state;
	struct snapshot_id id = {fixture->attempt.number, 1};

	for (unsigned flips = 0; flips < 4; flips++) {
		struct noisy noisy = noisy_new(fixture, "snapshots/", flips);
		struct manifest manifest = {0};
		int result;

		fixture->storage->transfer.store = &noisy.store;
		result = job_record_get_manifest_head(fixture->storage, id, &manifest, NULL, &err);
		fixture->storage->transfer.store = noisy.behind;
		assert_int_equal(result, flips < 2 ? 0 : -1);
		assert_int_equal(noisy.gets, flips ? 2 : 1);
		if (result < 0)
			assert_int_equal(err.kind, ERR_CORRUPT);
		manifest_release(&manifest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(chunks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(known_manifest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(records, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
