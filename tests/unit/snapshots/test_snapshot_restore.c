/* Restoring: what is refused, what is taken from the seed, what is left out; damage is named and
 * never handed out. */
#include "storage_fixture.h"

#include "storage/format/chunk.h"
#include "storage/format/manifest.h"
#include "storage/format/record.h"

#include "base/json.h"

#include <sys/mount.h>

static ino_t inode_of(const char *directory, const char *name)
{
	auto_free char *path = text_format("%s/%s", directory, name);
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_ino;
}

static void test_seed(void **state)
{
	struct fixture f;
	struct restore_request request = {.id = {1, 1}};
	struct restore_result result;
	auto_free char *seed = NULL, *command = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a/w", 3 * CHUNK_SIZE + 7, 1);
	fixture_write(&f, "b", 1000, 2);
	fixture_write(&f, "c", 1000, 3);
	fixture_write(&f, "same", 1000, 4);
	fixture_take(&f);
	seed = text_format("%s/seed", f.root);
	command =
		text_format("cp -r '%s' '%s' && rm '%s/b' && echo short > '%s/c' && printf X | dd "
			    "of='%s/a/w' bs=1 seek=5000000 conv=notrunc status=none",
			    f.source, seed, seed, seed, seed);
	assert_int_equal(system(command), 0);
	request.directory = f.target;
	request.seed = open(seed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_works(storage_restore(f.storage, &request, &result, NULL, &err));
	close(request.seed);
	fixture_compare(&f);
	/* The seed keeps its own file, unless the caller gives it away. */
	assert_int_not_equal(inode_of(f.target, "same"), inode_of(seed, "same"));
	assert_int_equal(result.bytes_seeded, 2 * CHUNK_SIZE + 1007);
	assert_true(result.bytes_fetched > CHUNK_SIZE && result.bytes_fetched < CHUNK_SIZE + 3000);
	assert_int_equal(result.files, 4);
	assert_int_equal(result.bytes, 3 * CHUNK_SIZE + 3007);
	assert_int_equal(result.step, 1);
	fixture_stop(&f);
}

/* What is the same is not copied: there may be no room for a second one. Its times may differ. */
static void test_equal_files_of_the_seed_are_linked(void **state)
{
	struct fixture f;
	struct restore_request request = {.id = {1, 1}, .link_seed = true};
	struct restore_result result;
	auto_free char *seed = NULL, *command = NULL, *held = NULL;
	int fd;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a/w", 2 * CHUNK_SIZE + 7, 1);
	fixture_write(&f, "b", 1000, 2);
	fixture_write(&f, "c", 1000, 3);
	fixture_write(&f, "d", 1000, 5);
	fixture_write(&f, "empty", 0, 4);
	fixture_take(&f);
	seed = text_format("%s/seed", f.root);
	command = text_format("cp -r '%s' '%s' && printf X | dd of='%s/b' bs=1 seek=500 "
			      "conv=notrunc status=none && ln '%s/c' '%s/second-name'",
			      f.source, seed, seed, seed, seed);
	assert_int_equal(system(command), 0);
	request.directory = f.target;
	request.seed = open(seed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	held = text_format("%s/d", seed);
	fd = open(held, O_WRONLY | O_CLOEXEC);
	assert_works(storage_restore(f.storage, &request, &result, NULL, &err));
	close(request.seed);
	assert_int_equal(inode_of(f.target, "a/w"), inode_of(seed, "a/w"));
	/* Somebody may write to it yet. */
	assert_int_not_equal(inode_of(f.target, "d"), inode_of(seed, "d"));
	close(fd);
	assert_int_not_equal(inode_of(f.target, "b"), inode_of(seed, "b"));
	/* Somebody else has it under a name of his own, and may write to it. */
	assert_int_not_equal(inode_of(f.target, "c"), inode_of(seed, "c"));
	assert_int_equal(result.bytes_seeded, 2 * CHUNK_SIZE + 2007);
	assert_int_equal(file_remove_tree(seed, NULL), 0);
	fixture_compare(&f);
	fixture_stop(&f);
}

/* Its packs are gone, and yet the room is what is said to be missing. */
static void test_a_disk_too_small_is_said_whatever_else_fails(void **state)
{
	struct fixture f;
	struct restore_request request = {.id = {1, 1}};
	struct restore_result result;
	auto_free char *command = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "deep/w", 3 * CHUNK_SIZE + 7, 1);
	fixture_take(&f);
	assert_int_equal(mkdir(f.target, 0755), 0);
	if (mount("tmpfs", f.target, "tmpfs", 0, "size=9m") < 0) {
		fixture_stop(&f);
		skip(); /* needs root */
	}
	command = text_format("rm '%s'/jobs/job/packs/*/*.pack", f.store);
	assert_int_equal(system(command), 0);
	request.directory = f.target;
	assert_fails(storage_restore(f.storage, &request, &result, NULL, &err), ERR_NO_SPACE);
	assert_non_null(strstr(err.text, "deep/w: cannot allocate 12 MiB: No space left"));
	assert_int_equal(umount(f.target), 0);
	fixture_stop(&f);
}

static void test_holes_stay_holes(void **state)
{
	struct fixture f;
	auto_free char *source = NULL, *target = NULL;
	struct stat status;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", CHUNK_SIZE, 1);
	fixture_write(&f, "all", 1, 1);
	source = text_format("%s/w", f.source);
	target = text_format("%s/w", f.target);
	assert_int_equal(truncate(source, 40 * CHUNK_SIZE + 7), 0);
	fixture_flip(source, 20 * CHUNK_SIZE);
	free(source);
	source = text_format("%s/all", f.source);
	assert_int_equal(truncate(source, 0), 0);
	assert_int_equal(truncate(source, 9 * CHUNK_SIZE), 0);
	fixture_check(&f, fixture_take(&f));
	assert_int_equal(stat(target, &status), 0);
	assert_in_range(status.st_blocks * 512, 2 * CHUNK_SIZE, 3 * CHUNK_SIZE);
	free(target);
	target = text_format("%s/all", f.target);
	assert_int_equal(stat(target, &status), 0);
	assert_int_equal(status.st_blocks, 0);
	fixture_stop(&f);
}

static void damage_flip(const char *path)
{
	fixture_flip(path, 5000);
}

static void damage_truncate(const char *path)
{
	assert_int_equal(truncate(path, 5000), 0);
}

static void damage_remove(const char *path)
{
	assert_int_equal(unlink(path), 0);
}

static void test_damaged_packs_are_named_and_the_older_one_works(void **state)
{
	static void (*const damages[])(
		const char *) = {damage_flip, damage_truncate, damage_remove};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct fixture f;
		auto_free char *pack = NULL;

		fixture_start(&f);
		fixture_write(&f, "w", 100000, 1);
		fixture_take(&f);
		fixture_write(&f, "w", 100000, 2);
		fixture_take(&f);
		pack = fixture_find(&f, "packs/000001/000002-");
		damages[i](pack);
		assert_fails(fixture_try_restore(&f, (struct snapshot_id){1, 2}), ERR_CORRUPT);
		assert_non_null(strstr(err.text, strrchr(pack, '/')));
		fixture_write(&f, "w", 100000, 1);
		assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 1}));
		fixture_claim(&f);
		/* A flipped bit is seen only by reading, and written down then. */
		assert_int_equal(f.attempt.start.sequence, 1);
		fixture_stop(&f);
	}
}

/* Puts a manifest in the place of the newest that is well-formed, with a proper
 * digest, and evil. */
static void forge(struct fixture *f, const char *member, json_t *value)
{
	auto_free char *path = fixture_find(f, "snapshots/000001-000001.json");
	auto_(bytes_release) struct bytes record = {0};
	json_t *body;

	assert_works(
		storage_read_manifest(f->storage, (struct snapshot_id){1, 1}, &body, NULL, &err));
	json_object_set_new(json_array_get(json_object_get(body, "entries"), 0), member, value);
	assert_works(record_encode(RECORD_SNAPSHOT, body, &record, &err));
	assert_works(file_write(path, record.data, record.size, &err));
	json_decref(body);
}

static void test_hostile_manifests_write_nothing(void **state)
{
	static const struct {
		const char *member, *value;
	} rows[] = {
		{"path", "../escaped"},
		{"path", "/tmp/reprieve-test-escaped"},
		{"path", "a/../../escaped"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f;
		auto_free char *escaped = NULL;

		fixture_start(&f);
		fixture_write(&f, "w", 10, 1);
		fixture_take(&f);
		forge(&f, rows[i].member, json_string(rows[i].value));
		assert_fails(fixture_try_restore(&f, (struct snapshot_id){1, 1}), ERR_CORRUPT);
		escaped = text_format("%s/escaped", f.root);
		assert_false(file_exists(escaped));
		assert_false(file_exists("/tmp/reprieve-test-escaped"));
		assert_false(file_exists(f.target));
		fixture_claim(&f);
		/* There is no other, so that the claim names it; nobody can restore it. */
		assert_int_equal(f.attempt.start.sequence, 1);
		assert_int_equal(f.attempt.damaged_count, 1);
		fixture_stop(&f);
	}
}

static void test_identity_is_not_handed_out(void **state)
{
	struct fixture f;
	auto_free char *path = NULL;
	struct stat status;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "w", 10, 1);
	fixture_take(&f);
	forge(&f, "mode", json_integer(04755));
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 1}));
	path = text_format("%s/w", f.target);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_equal_files_of_the_seed_are_linked),
		cmocka_unit_test(test_a_disk_too_small_is_said_whatever_else_fails),
		cmocka_unit_test(test_holes_stay_holes),
		cmocka_unit_test(test_damaged_packs_are_named_and_the_older_one_works),
		cmocka_unit_test(test_hostile_manifests_write_nothing),
		cmocka_unit_test(test_identity_is_not_handed_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
