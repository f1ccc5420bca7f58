/* Verifying finds each kind of damage, names it and the snapshots that suffer from it, and finds
 * nothing where nothing is. */
#include "storage_fixture.h"

#include "storage/format/chunk.h"

#define NO_ID ((struct snapshot_id){0})

struct findings {
	size_t count;
	struct snapshot_id ids[32];
	char texts[32][300];
};

static void note(void *arg, struct snapshot_id id, const char *sentence)
{
	struct findings *findings = arg;

	assert_true(findings->count < 32);
	findings->ids[findings->count] = id;
	text_set(findings->texts[findings->count++], sizeof(findings->texts[0]), sentence);
}

static void verify(struct fixture *f, struct snapshot_id id, struct findings *findings)
{
	uint32_t snapshots, damages;

	*findings = (struct findings){0};
	assert_works(
		storage_verify(f->storage, id, note, findings, &snapshots, &damages, NULL, &err));
	assert_int_equal(damages, findings->count);
	assert_true(snapshots > 0);
}

/* Two snapshots that share the pack of "a". */
static void prepare(struct fixture *f)
{
	fixture_start(f);
	fixture_write(f, "a", 2 * CHUNK_SIZE + 10, 1);
	fixture_write(f, "b", 1000, 2);
	fixture_take(f);
	fixture_write(f, "b", 1000, 3);
	fixture_take(f);
}

static void test_sound(void **state)
{
	struct fixture f;
	struct findings findings;

	(void)state;
	prepare(&f);
	verify(&f, NO_ID, &findings);
	assert_int_equal(findings.count, 0);
	verify(&f, (struct snapshot_id){1, 2}, &findings);
	assert_int_equal(findings.count, 0);
	fixture_stop(&f);
}

static void test_flipped_bit(void **state)
{
	struct fixture f;
	struct findings findings;
	auto_free char *pack = NULL;

	(void)state;
	prepare(&f);
	pack = fixture_find(&f, "packs/000001/000002-");
	fixture_flip(pack, 500);
	verify(&f, NO_ID, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.ids[0].sequence, 2);
	assert_non_null(strstr(findings.texts[0], "b: pack packs/000001/000002-"));
	assert_non_null(strstr(findings.texts[0], "digest"));
	verify(&f, (struct snapshot_id){1, 1}, &findings);
	assert_int_equal(findings.count, 0);
	fixture_stop(&f);
}

static void test_flipped_bit_in_the_index(void **state)
{
	struct fixture f;
	struct findings findings;
	auto_free char *pack = NULL;
	struct stat status;

	(void)state;
	prepare(&f);
	pack = fixture_find(&f, "packs/000001/000002-");
	assert_int_equal(stat(pack, &status), 0);
	fixture_flip(pack, status.st_size - 60);
	verify(&f, (struct snapshot_id){1, 2}, &findings);
	/* The chunks themselves are sound: that is said by saying nothing of them. */
	assert_int_equal(findings.count, 1);
	assert_non_null(strstr(findings.texts[0], "index"));
	fixture_stop(&f);
}

static void test_truncated_and_missing_packs(void **state)
{
	struct fixture f;
	struct findings findings;
	auto_free char *pack = NULL;

	(void)state;
	prepare(&f);
	pack = fixture_find(&f, "packs/000001/000002-");
	assert_int_equal(truncate(pack, 300), 0);
	verify(&f, NO_ID, &findings);
	/* Its size, its end, and the file that is cut off. */
	assert_int_equal(findings.count, 3);
	for (size_t i = 0; i < findings.count; i++)
		assert_int_equal(findings.ids[i].sequence, 2);
	assert_int_equal(unlink(pack), 0);
	verify(&f, NO_ID, &findings);
	assert_int_equal(findings.count, 1);
	assert_non_null(strstr(findings.texts[0], "missing"));
	fixture_stop(&f);
}

static void test_shared_damage_is_told_for_each(void **state)
{
	struct fixture f;
	struct findings findings;
	auto_free char *pack = NULL;
	struct stat status;
	bool first = false, second = false;

	(void)state;
	prepare(&f);
	pack = fixture_find(&f, "packs/000001/000001-");
	assert_int_equal(stat(pack, &status), 0);
	fixture_flip(pack, 100);
	verify(&f, NO_ID, &findings);
	for (size_t i = 0; i < findings.count; i++) {
		first = first || findings.ids[i].sequence == 1;
		second = second || findings.ids[i].sequence == 2;
	}
	/* Three threads make one to three packs; only what is in the first and still used hurts the
	 * second snapshot. */
	assert_true(first);
	assert_true(second || status.st_size < (off_t)CHUNK_SIZE);
	fixture_stop(&f);
}

static void test_damaged_manifest(void **state)
{
	struct fixture f;
	struct findings findings;
	auto_free char *manifest = NULL;
	uint32_t snapshots, damages;

	(void)state;
	prepare(&f);
	manifest = fixture_find(&f, "snapshots/000001-000001.json");
	fixture_flip(manifest, 300);
	verify(&f, NO_ID, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.ids[0].sequence, 1);
	assert_fails(storage_verify(f.storage, (struct snapshot_id){1, 7}, note, &findings,
				    &snapshots, &damages, NULL, &err),
		     ERR_NOT_FOUND);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_flipped_bit),
		cmocka_unit_test(test_flipped_bit_in_the_index),
		cmocka_unit_test(test_truncated_and_missing_packs),
		cmocka_unit_test(test_shared_damage_is_told_for_each),
		cmocka_unit_test(test_damaged_manifest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
