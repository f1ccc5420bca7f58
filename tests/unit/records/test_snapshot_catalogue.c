/* What a process remembers of manifests saves reading them again, and changes no answer: it neither
 * hides nor resurrects a snapshot. */
#include "slow_store.h"

#include "storage/records/snapshot_catalogue.h"

#define SNAPSHOTS 12

/* --- the pure part --- */

static void test_it_says_what_was_added(void **state)
{
	struct manifest_pack packs[] = {
		{(char *)"packs/000001/000002-abc-0001.pack", 10},
		{(char *)"packs/000001/000002-abc-0002.pack", 20},
		{(char *)"packs/000001/000002-abc-0004.pack", 30},
		{(char *)"packs/strange", 40},
		{(char *)"packs/000001/000002-abc-12345.pack", 50},
		{(char *)"packs/000001/000002-abc-1.pack", 60},
	};
	struct snapshot_info info = {
		.id = {1, 2},
		.parent = {1, 1},
		.created = "then",
		.host = "here",
		.reason = "notice",
		.tag = "best",
		.step = 77,
		.files = 3,
		.bytes = 1000,
		.bytes_stored = 60,
		.members = 4,
		.members_without = 1,
	};
	struct manifest_object object = {.size = 500, .put_ms = 12345}, other = object;
	auto_(snapshot_catalogue_release) struct snapshot_catalogue catalogue = {0};
	auto_free struct manifest_pack *named = NULL, *shared = NULL;
	struct catalogue_entry *entry;
	size_t count;

	(void)state;
	snapshot_catalogue_add(&catalogue, &info, &object, packs, 6);
	info.id.sequence = 1;
	info.members = info.members_without = 0;
	snapshot_catalogue_add(&catalogue, &info, &object, packs + 1, 2);
	info.id.sequence = 3;
	/* Without a date it may be replaced unseen. */
	snapshot_catalogue_add(&catalogue, &info, &(struct manifest_object){.size = 500}, packs, 6);
	assert_int_equal(catalogue.count, 2);
	assert_int_equal(catalogue.packs.count, 6);
	entry = snapshot_catalogue_find(&catalogue, (struct snapshot_id){1, 2}, &object);
	assert_non_null(entry);
	assert_string_equal(entry->info.created, "then");
	assert_string_equal(entry->info.host, "here");
	assert_string_equal(entry->info.reason, "notice");
	assert_string_equal(entry->info.tag, "best");
	assert_int_equal(entry->info.step, 77);
	assert_int_equal(entry->info.files, 3);
	assert_int_equal(entry->info.bytes, 1000);
	assert_int_equal(entry->info.bytes_stored, 60);
	assert_int_equal(entry->info.members, 4);
	assert_int_equal(entry->info.members_without, 1);
	assert_int_equal(entry->info.parent.sequence, 1);
	named = snapshot_catalogue_packs(&catalogue, entry, &count);
	assert_int_equal(count, 6);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(named[i].key, packs[i].key);
		assert_int_equal(named[i].bytes, packs[i].bytes);
	}
	/* Another object under the same name. */
	other.size++;
	assert_null(snapshot_catalogue_find(&catalogue, (struct snapshot_id){1, 2}, &other));
	other = object;
	other.put_ms++;
	assert_null(snapshot_catalogue_find(&catalogue, (struct snapshot_id){1, 2}, &other));
	other.put_ms = 0;
	assert_null(snapshot_catalogue_find(&catalogue, (struct snapshot_id){1, 2}, &other));
	snapshot_catalogue_keep(&catalogue, (struct snapshot_id[]){{1, 1}, {4, 4}}, 2);
	assert_int_equal(catalogue.count, 1);
	assert_int_equal(catalogue.packs.count, 2);
	entry = snapshot_catalogue_find(&catalogue, (struct snapshot_id){1, 1}, &object);
	shared = snapshot_catalogue_packs(&catalogue, entry, &count);
	assert_int_equal(count, 2);
	assert_string_equal(shared[1].key, packs[2].key);
}

/* --- in a store --- */

static struct forget_result forget(struct fixture *f, uint32_t keep_last)
{
	struct forget_request request = {.policy.keep_last = keep_last};
	struct forget_result result;

	assert_works(storage_forget(f->storage, &request, &result, NULL, &err));
	return result;
}

/* A process that has read all manifests. */
static void start_and_read(struct fixture *f)
{
	struct snapshot_list list;

	fixture_start(f);
	for (uint64_t i = 0; i < SNAPSHOTS; i++) {
		fixture_write(f, "w", 100000, i);
		fixture_take(f);
	}
	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	snapshot_list_release(&list);
}

static int count_manifests(struct slow_store *slow, const char *key, struct err *error)
{
	(void)error;
	if (strstr(key, "/snapshots/"))
		atomic_fetch_add((atomic_uint *)slow->arg, 1);
	return 0;
}

static struct snapshot_list list_counted(struct fixture *f, unsigned *manifests)
{
	struct slow_store *slow = slow_store_install(f, NULL);
	struct snapshot_list list;
	atomic_uint count = 0;

	slow->answer_get = count_manifests;
	slow->arg = &count;
	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	slow->answer_get = NULL;
	*manifests = atomic_load(&count);
	return list;
}

static void assert_list(const struct snapshot_list *list, size_t count)
{
	assert_int_equal(list->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_info *info = &list->items[i];

		assert_int_equal(info->id.sequence, SNAPSHOTS - i);
		assert_int_equal(info->state, SNAPSHOT_GOOD);
		assert_int_equal(info->newest, i == 0);
		assert_string_equal(info->reason, "request");
		assert_int_equal(info->step, info->id.sequence);
		assert_int_equal(info->files, 1);
		assert_int_equal(info->bytes, 100000);
		assert_true(info->bytes_stored > 100000 && info->bytes_alone > 100000);
		assert_true(info->created[0] && info->host[0]);
	}
}

static void test_manifests_are_read_once(void **state)
{
	struct fixture f;
	struct snapshot_list list;
	unsigned manifests;

	(void)state;
	start_and_read(&f);
	list = list_counted(&f, &manifests);
	assert_list(&list, SNAPSHOTS);
	/* That of the newest good one. */
	assert_int_equal(manifests, 1);
	snapshot_list_release(&list);
	/* Another process reads all. */
	storage_close(f.storage);
	fixture_open(&f);
	list = list_counted(&f, &manifests);
	assert_list(&list, SNAPSHOTS);
	assert_int_equal(manifests, SNAPSHOTS);
	snapshot_list_release(&list);
	fixture_stop(&f);
}

static void test_it_neither_hides_nor_resurrects(void **state)
{
	struct fixture f;
	struct snapshot_list list;
	unsigned manifests;
	auto_free char *catalogue = NULL, *newest = NULL, *pack = NULL;

	(void)state;
	start_and_read(&f);
	catalogue = fixture_find(&f, "snapshots/000001-000002");
	assert_int_equal(unlink(catalogue), 0);
	pack = fixture_find(&f, "packs/000001/000005-");
	assert_int_equal(unlink(pack), 0);
	/* It rots after it was read. */
	newest = fixture_find(&f, "snapshots/000001-000012");
	fixture_flip(newest, 300);
	list = list_counted(&f, &manifests);
	assert_int_equal(list.count, SNAPSHOTS - 1);
	assert_int_equal(list.items[0].state, SNAPSHOT_DAMAGED);
	assert_true(list.items[1].newest);
	for (size_t i = 0; i < list.count; i++) {
		assert_int_not_equal(list.items[i].id.sequence, 2);
		if (list.items[i].id.sequence == 5)
			assert_int_equal(list.items[i].state, SNAPSHOT_DAMAGED);
	}
	snapshot_list_release(&list);
	fixture_stop(&f);
}

/* What is good is kept by what is true, not by what is remembered. */
static void test_the_newest_manifest_is_read_before_others_go(void **state)
{
	struct fixture f;
	auto_free char *newest = NULL;

	(void)state;
	start_and_read(&f);
	{
		struct stat before;
		struct timespec times[2];

		newest = fixture_find(&f, "snapshots/000001-000012");
		assert_int_equal(stat(newest, &before), 0);
		fixture_flip(newest, 300);
		/* As a disk rots: neither size nor date change. */
		times[0] = before.st_atim;
		times[1] = before.st_mtim;
		assert_int_equal(utimensat(AT_FDCWD, newest, times, 0), 0);
	}
	/* Keeps the newest good one, which is the eleventh, and the damaged one after it. */
	assert_int_equal(forget(&f, 1).kept, 2);
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 11}));
	fixture_stop(&f);
}

/* Packs are kept by what is remembered that manifests name. */
static void test_retention_by_memory(void **state)
{
	struct fixture f;
	auto_free char *command = NULL;
	struct verify_request request = {0};
	struct verify_result verified;

	(void)state;
	start_and_read(&f);
	/* All but the manifests, which are known by their dates. */
	command = text_format("find '%s/jobs/job/packs' -type f -exec touch -d '2 days ago' '{}' +",
			      f.store);
	assert_int_equal(system(command), 0);
	assert_int_equal(forget(&f, 3).collected.packs_removed, SNAPSHOTS - 3);
	assert_works(storage_verify(f.storage, &request, &verified, NULL, &err));
	assert_int_equal(verified.snapshots, 3);
	assert_int_equal(verified.damages, 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_says_what_was_added),
		cmocka_unit_test(test_manifests_are_read_once),
		cmocka_unit_test(test_it_neither_hides_nor_resurrects),
		cmocka_unit_test(test_the_newest_manifest_is_read_before_others_go),
		cmocka_unit_test(test_retention_by_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
