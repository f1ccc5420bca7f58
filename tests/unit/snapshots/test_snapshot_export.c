/* The exported archive is what GNU tar and lz4 read: nobody is locked in. */
#include "storage_fixture.h"

#include "storage/format/chunk.h"

static int export_to(struct fixture *f, struct snapshot_id id, const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool wrote;

	assert_true(fd >= 0);
	return storage_export(f->storage, id, fd, &wrote, NULL, &err);
}

static void test_tar_reads_it(void **state)
{
	struct fixture f;
	auto_free char *archive = NULL, *command = NULL, *one = NULL, *two = NULL, *link = NULL,
		       *hole = NULL;

	(void)state;
	if (system("command -v lz4 >/dev/null && command -v tar >/dev/null") != 0)
		skip();
	fixture_start(&f);
	archive = text_format("%s/out.tar.lz4", f.root);
	one = text_format("%s/a", f.source);
	two = text_format("%s/hard", f.source);
	link = text_format("%s/latest", f.source);
	hole = text_format("%s/hole", f.source);
	fixture_write(&f, "a", 2 * CHUNK_SIZE + 3, 1);
	fixture_write(&f, "empty", 0, 1);
	fixture_write(&f, "deep/not \xff utf-8", 100, 2);
	fixture_write(&f, "deep/\xc3\xa4 new\nline", 100, 3);
	fixture_write(&f, "hole", 10, 4);
	assert_int_equal(truncate(hole, 10 << 20), 0);
	assert_int_equal(linkat(AT_FDCWD, one, AT_FDCWD, two, 0), 0);
	assert_int_equal(symlink("deep", link), 0);
	assert_int_equal(chmod(one, 0640), 0);
	assert_works(export_to(&f, fixture_take(&f), archive));
	command =
		text_format("mkdir '%s' && lz4 -dcq '%s' | tar -x --no-same-owner -p -C '%s' -f -",
			    f.target, archive, f.target);
	assert_int_equal(system(command), 0);
	fixture_compare(&f);
	fixture_stop(&f);
}

static void test_damage_is_never_exported_as_whole(void **state)
{
	struct fixture f;
	auto_free char *archive = NULL, *command = NULL, *pack = NULL;
	struct snapshot_id id;

	(void)state;
	fixture_start(&f);
	archive = text_format("%s/out.tar.lz4", f.root);
	fixture_write(&f, "a", 2 * CHUNK_SIZE, 1);
	id = fixture_take(&f);
	pack = fixture_find(&f, ".pack");
	fixture_flip(pack, 100000);
	assert_fails(export_to(&f, id, archive), ERR_CORRUPT);
	assert_non_null(strstr(err.text, "pack"));
	/* Nothing at all, or something that tar says is cut off. */
	command = text_format("names=$(lz4 -dcq '%s' 2>/dev/null | tar -t -f - 2>/dev/null) && "
			      "test -n \"$names\"",
			      archive);
	assert_int_not_equal(system(command), 0);
	assert_fails(export_to(&f, (struct snapshot_id){4, 4}, archive), ERR_NOT_FOUND);
	fixture_stop(&f);
}

static void test_full_disk_is_said(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", CHUNK_SIZE, 1);
	assert_fails(export_to(&f, fixture_take(&f), "/dev/full"), ERR_NO_SPACE);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tar_reads_it),
		cmocka_unit_test(test_damage_is_never_exported_as_whole),
		cmocka_unit_test(test_full_disk_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
