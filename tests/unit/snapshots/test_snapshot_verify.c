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
	struct verify_request request = {.id = id, .found = note, .arg = findings};
	struct verify_result result;

	*findings = (struct findings){0};
	assert_works(storage_verify(f->storage, &request, &result, NULL, &err));
	assert_int_equal(result.damages, findings->count);
	assert_true(result.snapshots > 0);
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

static void test_damaged_manifest(void **state)
{
	struct fixture f;
	struct findings findings;
	auto_free char *manifest = NULL;
	struct verify_request gone = {.id = {1, 7}};
	struct verify_result result;

	(void)state;
	prepare(&f);
	manifest = fixture_find(&f, "snapshots/000001-000001.json");
	fixture_flip(manifest, 300);
	verify(&f, NO_ID, &findings);
	assert_int_equal(findings.count, 1);
	assert_int_equal(findings.ids[0].sequence, 1);
	assert_fails(storage_verify(f.storage, &gone, &result, NULL, &err), ERR_NOT_FOUND);
	fixture_stop(&f);
}

/* No byte of a pack may differ from what was written: its head, its payloads, its index, its end.
 */
static void test_every_byte_is_looked_at(void **state)
{
	struct fixture f;
	auto_free char *pack = NULL;
	struct stat status;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 300, 1);
	fixture_write(&f, "b", 200, 2);
	fixture_take(&f);
	pack = fixture_find(&f, "packs/000001/000001-");
	assert_int_equal(stat(pack, &status), 0);
	for (off_t i = 0; i < status.st_size; i++) {
		fixture_flip(pack, i);
		if (fixture_damages(&f) == 0)
			fail_msg("byte %lld of %lld is not looked at", (long long)i,
				 (long long)status.st_size);
		fixture_flip(pack, i);
	}
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

static void repair(struct fixture *f, uint32_t set_aside, uint32_t put_back)
{
	struct verify_request request = {.repair = true};
	struct verify_result result;

	assert_works(storage_verify(f->storage, &request, &result, NULL, &err));
	assert_int_equal(result.set_aside, set_aside);
	assert_int_equal(result.put_back, put_back);
}

static enum snapshot_state newest_state(struct fixture *f)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};

	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	return list.items[0].state;
}

/* What is set aside is no base for anything; what turns out to be whole is put back. What is whole
 * in it can be had all the time. */
static void test_repair_sets_aside_what_is_damaged(void **state)
{
	struct fixture f;
	struct save_result result;
	auto_free char *pack = NULL;

	(void)state;
	prepare(&f);
	pack = fixture_find(&f, "packs/000001/000001-");
	fixture_flip(pack, 500);
	assert_int_equal(newest_state(&f), SNAPSHOT_GOOD);
	repair(&f, 1, 0);
	assert_int_equal(newest_state(&f), SNAPSHOT_DAMAGED);
	repair(&f, 0, 0);
	fixture_flip(pack, 500);
	repair(&f, 0, 1);
	assert_int_equal(newest_state(&f), SNAPSHOT_GOOD);
	/* The next save sends anew what was in it. */
	fixture_flip(pack, 500);
	repair(&f, 1, 0);
	assert_works(fixture_try_take(&f, &result));
	assert_true(result.chunks_sent >= 1);
	fixture_check(&f, (struct snapshot_id){1, 3});
	fixture_stop(&f);
}

/* Without anybody's doing: who restores finds it, and who saves the same content sends it anew. */
static void test_a_restore_sets_aside_what_it_finds(void **state)
{
	struct fixture f;
	struct save_result result;
	auto_free char *pack = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", CHUNK_SIZE, 1);
	fixture_take(&f);
	fixture_write(&f, "a", CHUNK_SIZE, 2);
	fixture_take(&f);
	pack = fixture_find(&f, "packs/000001/000002-");
	fixture_flip(pack, 500);
	assert_int_equal(fixture_try_restore(&f, (struct snapshot_id){1, 2}), -1);
	assert_int_equal(err.kind, ERR_CORRUPT);
	fixture_claim(&f);
	assert_int_equal(f.attempt.start.sequence, 1);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 1);
	fixture_check(&f, (struct snapshot_id){2, 1});
	fixture_claim(&f);
	assert_int_equal(f.attempt.start.attempt, 2);
	fixture_stop(&f);
}

struct lost {
	char text[200];
};

static void note_lost(void *arg, const char *path)
{
	struct lost *lost = arg;
	size_t used = strlen(lost->text);

	snprintf(lost->text + used, sizeof(lost->text) - used, "%s; ", path);
}

static void test_what_is_lost(void **state)
{
	struct fixture f;
	struct lost lost = {""};
	struct verify_request request = {.id = {1, 3}, .lost = note_lost, .arg = &lost};
	struct verify_result result;
	auto_free char *first = NULL, *second = NULL;

	(void)state;
	prepare(&f);
	fixture_write(&f, "c", 1000, 4);
	fixture_take(&f);
	first = fixture_find(&f, "packs/000001/000002-");
	second = fixture_find(&f, "packs/000001/000003-");
	fixture_flip(first, 500);
	assert_int_equal(unlink(second), 0);
	assert_works(storage_verify(f.storage, &request, &result, NULL, &err));
	assert_string_equal(lost.text, "b; c; ");
	fixture_stop(&f);
}

static void test_a_sample(void **state)
{
	struct fixture f;
	struct verify_request request = {.sample_percent = 1};
	struct verify_result result;

	(void)state;
	prepare(&f);
	assert_works(storage_verify(f.storage, &request, &result, NULL, &err));
	assert_true(result.packs >= 2);
	assert_true(result.packs_read >= 1 && result.packs_read <= result.packs);
	request.sample_percent = 100;
	assert_works(storage_verify(f.storage, &request, &result, NULL, &err));
	assert_int_equal(result.packs_read, result.packs);
	fixture_stop(&f);
}

/* A pack with three chunks, of which the only snapshot that is left needs the middle one. */
static void prepare_rests(struct fixture *f, char **pack)
{
	struct storage_options options = {.job = "job", .threads = 1};
	auto_free char *first = NULL, *third = NULL, *manifest = NULL;

	fixture_start(f);
	/* One thread makes one pack, in the order of the names. */
	storage_close(f->storage);
	options.url = f->url;
	assert_works(storage_open(&options, &f->storage, NULL, &err));
	fixture_write(f, "a", 300, 1);
	fixture_write(f, "b", 300, 2);
	fixture_write(f, "c", 300, 3);
	fixture_take(f);
	first = text_format("%s/a", f->source);
	third = text_format("%s/c", f->source);
	assert_int_equal(unlink(first), 0);
	assert_int_equal(unlink(third), 0);
	fixture_take(f);
	manifest = fixture_find(f, "snapshots/000001-000001");
	assert_int_equal(unlink(manifest), 0);
	*pack = fixture_find(f, "packs/000001/000001-");
}

/* The next save might rely on any chunk of a pack, so all of them are looked at. */
static void test_what_no_snapshot_needs_is_looked_at(void **state)
{
	static const struct {
		const char *name, *said;
		off_t offset, from_end;
	} rows[] = {
		{"the first chunk", "a chunk that none of these snapshots needs", 100, 0},
		{"the middle one", "b: pack packs/000001/000001-", 450, 0},
		{"the last one", "a chunk that none of these snapshots needs", 750, 0},
		{"the index", "index", 0, 60},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		struct findings findings;
		auto_free char *pack = NULL;
		struct stat status;
		off_t offset = rows[i].offset;

		prepare_rests(&f, &pack);
		assert_int_equal(stat(pack, &status), 0);
		assert_true(status.st_size > 900);
		if (rows[i].from_end)
			offset = status.st_size - rows[i].from_end;
		verify(&f, NO_ID, &findings);
		assert_int_equal(findings.count, 0);
		fixture_flip(pack, offset);
		verify(&f, NO_ID, &findings);
		if (findings.count != 1 || !strstr(findings.texts[0], rows[i].said))
			fail_msg("%s: %zu findings, %s", rows[i].name, findings.count,
				 findings.texts[0]);
		assert_int_equal(findings.ids[0].sequence, 2);
		/* Each of them is set aside, and put back once it is whole again. */
		repair(&f, 1, 0);
		fixture_flip(pack, offset);
		repair(&f, 0, 1);
		repair(&f, 0, 0);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sound),
		cmocka_unit_test(test_flipped_bit),
		cmocka_unit_test(test_flipped_bit_in_the_index),
		cmocka_unit_test(test_truncated_and_missing_packs),
		cmocka_unit_test(test_damaged_manifest),
		cmocka_unit_test(test_every_byte_is_looked_at),
		cmocka_unit_test(test_repair_sets_aside_what_is_damaged),
		cmocka_unit_test(test_a_restore_sets_aside_what_it_finds),
		cmocka_unit_test(test_what_is_lost),
		cmocka_unit_test(test_a_sample),
		cmocka_unit_test(test_what_no_snapshot_needs_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
