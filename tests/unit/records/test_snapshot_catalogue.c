/* The catalogue saves reading manifests and changes no answer: it neither hides nor resurrects a
 * snapshot, and what is wrong in it costs requests only. */
#include "slow_store.h"
#include "synthetic_history.h"

#include "storage/records/catalogue_cache.h"

#include <signal.h>
#include <sys/wait.h>

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
	auto_(snapshot_catalogue_release) struct snapshot_catalogue first = {0}, second = {0};
	auto_free struct manifest_pack *named = NULL, *shared = NULL;
	auto_json json_t *body = NULL;
	auto_free char *groups = NULL;
	struct catalogue_entry *entry;
	size_t count;

	(void)state;
	snapshot_catalogue_add(&first, &info, &object, packs, 6);
	info.id.sequence = 1;
	info.members = info.members_without = 0;
	snapshot_catalogue_add(&first, &info, &object, packs + 1, 2);
	info.id.sequence = 3;
	/* Without a date it may be replaced unseen. */
	snapshot_catalogue_add(&first, &info, &(struct manifest_object){.size = 500}, packs, 6);
	assert_int_equal(first.count, 2);
	body = snapshot_catalogue_encode(&first);
	/* Packs in a row are one group, and what has another form stands alone. */
	groups = json_dumps(json_object_get(body, "packs"), JSON_COMPACT);
	assert_string_equal(groups, "[[\"packs/000001/000002-abc\",1,[10,20]],"
				    "[\"packs/000001/000002-abc\",4,[30]],"
				    "[\"packs/strange\",null,[40]],"
				    "[\"packs/000001/000002-abc\",12345,[50]],"
				    "[\"packs/000001/000002-abc-1.pack\",null,[60]]]");
	assert_works(snapshot_catalogue_decode(body, &second, &err));
	assert_int_equal(second.count, 2);
	assert_int_equal(second.packs.count, 6);
	entry = snapshot_catalogue_find(&second, (struct snapshot_id){1, 2}, &object);
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
	/* Of one machine nothing is said of members. */
	assert_null(
		json_object_get(json_array_get(json_object_get(body, "snapshots"), 0), "members"));
	assert_int_equal(entry->info.parent.sequence, 1);
	named = snapshot_catalogue_packs(&second, entry, &count);
	assert_int_equal(count, 6);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(named[i].key, packs[i].key);
		assert_int_equal(named[i].bytes, packs[i].bytes);
	}
	/* Another object under the same name. */
	other.size++;
	assert_null(snapshot_catalogue_find(&second, (struct snapshot_id){1, 2}, &other));
	other = object;
	other.put_ms++;
	assert_null(snapshot_catalogue_find(&second, (struct snapshot_id){1, 2}, &other));
	other.put_ms = 0;
	assert_null(snapshot_catalogue_find(&second, (struct snapshot_id){1, 2}, &other));
	snapshot_catalogue_keep(&second, (struct snapshot_id[]){{1, 1}, {4, 4}}, 2);
	assert_int_equal(second.count, 1);
	assert_int_equal(second.packs.count, 2);
	entry = snapshot_catalogue_find(&second, (struct snapshot_id){1, 1}, &object);
	shared = snapshot_catalogue_packs(&second, entry, &count);
	assert_int_equal(count, 2);
	assert_string_equal(shared[1].key, packs[2].key);
}

static void test_nonsense_is_refused(void **state)
{
	static const char *const bodies[] = {
		"{}",
		"{\"packs\": [], \"snapshots\": [{}]}",
		"{\"packs\": [], \"snapshots\": [{\"id\": \"1-1\", \"packs\": [[0, 1]]}]}",
		"{\"packs\": [[\"a\", 1, [5]]], \"snapshots\": [{\"id\": \"1-1\", \"packs\": [[0, "
		"2]]}]}",
		"{\"packs\": [[\"a\", 1, [5]]], \"snapshots\": [{\"id\": \"1-1\", \"packs\": [[-1, "
		"1]]}]}",
		"{\"packs\": [[\"a\", 1, [5]]], \"snapshots\": [{\"id\": \"1-1\", \"packs\": [[1, "
		"1]]}]}",
		"{\"packs\": [[\"a\", 1, [5]]], \"snapshots\": [{\"id\": \"1-1\", \"packs\": [[0, "
		"0]]}]}",
		"{\"packs\": [[\"a\", 1, [5, 0]]], \"snapshots\": []}",
		"{\"packs\": [[\"a\", 1, [5]], [\"a\", 1, [5]]], \"snapshots\": []}",
		"{\"packs\": [[7, 1, [5]]], \"snapshots\": []}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		struct snapshot_catalogue catalogue = {0};
		auto_json json_t *body = json_parse(bodies[i], strlen(bodies[i]), &err);

		assert_non_null(body);
		assert_fails(snapshot_catalogue_decode(body, &catalogue, &err), ERR_CORRUPT);
		assert_int_equal(catalogue.count, 0);
	}
}

/* --- in a store --- */

static struct forget_result forget(struct fixture *f, uint32_t keep_last)
{
	struct forget_request request = {.policy.keep_last = keep_last};
	struct forget_result result;

	assert_works(storage_forget(f->storage, &request, &result, NULL, &err));
	return result;
}

/* A new process. */
static void reopen(struct fixture *f)
{
	storage_close(f->storage);
	fixture_open(f);
}

static void start_with_catalogue(struct fixture *f)
{
	auto_free char *path = NULL;

	fixture_start(f);
	for (uint64_t i = 0; i < SNAPSHOTS; i++) {
		fixture_write(f, "w", 100000, i);
		fixture_take(f);
	}
	forget(f, 100);
	path = fixture_find(f, "catalogues/");
	reopen(f);
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
	start_with_catalogue(&f);
	list = list_counted(&f, &manifests);
	assert_list(&list, SNAPSHOTS);
	/* That of the newest good one. */
	assert_int_equal(manifests, 1);
	snapshot_list_release(&list);
	/* Without it the list is the same. */
	reopen(&f);
	{
		auto_free char *path = fixture_find(&f, "catalogues/");

		assert_int_equal(unlink(path), 0);
	}
	list = list_counted(&f, &manifests);
	assert_list(&list, SNAPSHOTS);
	assert_int_equal(manifests, SNAPSHOTS);
	snapshot_list_release(&list);
	fixture_stop(&f);
}

static void test_a_new_one_replaces_the_old_one(void **state)
{
	struct fixture f;
	auto_free char *path = NULL;

	(void)state;
	start_with_catalogue(&f);
	for (uint64_t i = 0; i < SNAPSHOTS; i++) {
		fixture_write(&f, "w", 100000, SNAPSHOTS + i);
		fixture_take(&f);
	}
	forget(&f, 100);
	path = fixture_find(&f, "catalogues/000002");
	assert_int_equal(unlink(path), 0);
	{
		auto_free char *command =
			text_format("test -z \"$(find '%s' -type f -path '*catalogues/*')\"",
				    f.store);

		assert_int_equal(system(command), 0);
	}
	fixture_stop(&f);
}

static void test_it_neither_hides_nor_resurrects(void **state)
{
	struct fixture f;
	struct snapshot_list list;
	unsigned manifests;
	auto_free char *second = NULL, *newest = NULL, *pack = NULL;

	(void)state;
	start_with_catalogue(&f);
	second = fixture_find(&f, "snapshots/000001-000002");
	assert_int_equal(unlink(second), 0);
	pack = fixture_find(&f, "packs/000001/000005-");
	assert_int_equal(unlink(pack), 0);
	/* It rots after the catalogue was made. */
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

/* What is good is kept by what is true, not by what the catalogue remembers. */
static void test_the_newest_manifest_is_read_before_others_go(void **state)
{
	struct fixture f;
	auto_free char *newest = NULL;

	(void)state;
	start_with_catalogue(&f);
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

static void test_a_damaged_catalogue_is_none(void **state)
{
	struct fixture f;
	struct snapshot_list list;
	unsigned manifests;

	(void)state;
	start_with_catalogue(&f);
	{
		auto_free char *path = fixture_find(&f, "catalogues/");

		assert_works(file_write(path, "no record\n", 10, &err));
	}
	list = list_counted(&f, &manifests);
	assert_list(&list, SNAPSHOTS);
	assert_int_equal(manifests, SNAPSHOTS);
	snapshot_list_release(&list);
	/* The next retention makes a new one. */
	forget(&f, 100);
	reopen(&f);
	list = list_counted(&f, &manifests);
	assert_list(&list, SNAPSHOTS);
	assert_int_equal(manifests, 1);
	snapshot_list_release(&list);
	fixture_stop(&f);
}

/* Packs are kept by what the catalogue says that manifests name. */
static void test_retention_by_the_catalogue(void **state)
{
	struct fixture f;
	auto_free char *command = NULL;
	struct verify_request request = {0};
	struct verify_result verified;

	(void)state;
	start_with_catalogue(&f);
	/* All but the manifests, which the catalogue knows by their dates. */
	command = text_format("find '%s/jobs/job/packs' -type f -exec touch -d '2 days ago' '{}' +",
			      f.store);
	assert_int_equal(system(command), 0);
	assert_int_equal(forget(&f, 3).collected.packs_removed, SNAPSHOTS - 3);
	assert_works(storage_verify(f.storage, &request, &verified, NULL, &err));
	assert_int_equal(verified.snapshots, 3);
	assert_int_equal(verified.damages, 0);
	fixture_stop(&f);
}

static const char *const points[] = {"before_catalogue_put", "after_catalogue_put"};

static void test_killed_around_the_put(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct fixture f;
		struct snapshot_list list;
		unsigned manifests;
		pid_t child;
		int status;

		fixture_start(&f);
		for (uint64_t j = 0; j < SNAPSHOTS; j++) {
			fixture_write(&f, "w", 100000, j);
			fixture_take(&f);
		}
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			setenv("REPRIEVE_FAULT", points[i], 1);
			reopen(&f);
			forget(&f, 100);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		reopen(&f);
		list = list_counted(&f, &manifests);
		assert_list(&list, SNAPSHOTS);
		snapshot_list_release(&list);
		forget(&f, 100);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_says_what_was_added),
		cmocka_unit_test(test_nonsense_is_refused),
		cmocka_unit_test(test_manifests_are_read_once),
		cmocka_unit_test(test_a_new_one_replaces_the_old_one),
		cmocka_unit_test(test_it_neither_hides_nor_resurrects),
		cmocka_unit_test(test_the_newest_manifest_is_read_before_others_go),
		cmocka_unit_test(test_a_damaged_catalogue_is_none),
		cmocka_unit_test(test_retention_by_the_catalogue),
		cmocka_unit_test(test_killed_around_the_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
