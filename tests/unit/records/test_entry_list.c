/* Snapshots of many files: the list of files is content like any other. It is not sent again, not
 * read by who does not need it, and healed when it is damaged. */
#include "storage_fixture.h"

#include "base/json.h"
#include "storage/transfer/transfer.h"

#include <stdio.h>
#include <sys/time.h>

#define FILES 1000

static void write_files(struct fixture *f)
{
	for (int i = 0; i < FILES; i++) {
		char path[64];

		snprintf(path, sizeof(path), "part-%d/sample-%05d.bin", i / 500, i);
		fixture_write(f, path, 20, (uint64_t)i);
	}
}

/* Gives every file another time: the content stays, the list is another one. */
static void touch_files(struct fixture *f, int seconds)
{
	auto_free char *command =
		text_format("find '%s' -type f -exec touch -d @%d {} +", f->source, seconds);

	assert_int_equal(system(command), 0);
}

static char *manifest_text(struct fixture *f, struct snapshot_id id, size_t *size)
{
	char part[64], text[SNAPSHOT_ID_TEXT];
	auto_free char *path = NULL;
	struct bytes read = {0};

	snprintf(part, sizeof(part), "snapshots/%s", snapshot_id_format(id, text));
	path = fixture_find(f, part);
	assert_works(file_read(path, &read, &err));
	*size = read.size;
	assert_works(bytes_append(&read, "", 1, &err));
	return (char *)read.data;
}

static bool is_apart(struct fixture *f, struct snapshot_id id)
{
	size_t size;
	auto_free char *text = manifest_text(f, id, &size);
	bool apart = strstr(text, "\"pieces\":") != NULL;

	assert_int_equal(apart, strstr(text, "\"entries\":") == NULL);
	return apart;
}

/* The newest pack of that snapshot, which has the list. */
static char *find_list_pack(struct fixture *f, struct snapshot_id id)
{
	auto_free char *command = text_format("ls '%s'/jobs/job/packs/%06u/%06u-* | sort -t- -k3 | "
					      "tail -n 1",
					      f->store, id.attempt, id.sequence);
	FILE *stream = popen(command, "r");
	char path[512] = "";

	assert_non_null(stream);
	assert_non_null(fgets(path, sizeof(path), stream));
	pclose(stream);
	path[strcspn(path, "\n")] = '\0';
	return text_copy(path);
}

static void test_a_short_list_is_in_the_manifest(void **state)
{
	struct fixture f;

	(void)state;
	fixture_start(&f);
	for (int i = 0; i < 20; i++) {
		char path[16];

		snprintf(path, sizeof(path), "f%d", i);
		fixture_write(&f, path, 10, (uint64_t)i);
	}
	assert_false(is_apart(&f, fixture_take(&f)));
	fixture_stop(&f);
}

static void test_a_long_list_comes_back(void **state)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0}, restored = {0};
	struct restore_request request = {.files = &restored};
	struct restore_result result;
	auto_json json_t *body = NULL;
	struct fixture f;
	struct snapshot_id id;

	(void)state;
	fixture_start(&f);
	write_files(&f);
	id = fixture_take(&f);
	assert_true(is_apart(&f, id));
	fixture_check(&f, id);
	assert_int_equal(fixture_damages(&f), 0);
	assert_works(storage_list_files(f.storage, id, &files, NULL, &err));
	assert_int_equal(files.count, FILES);
	assert_int_equal(file_remove_tree(f.target, NULL), 0);
	request.id = id;
	request.directory = f.target;
	assert_works(storage_restore(f.storage, &request, &result, NULL, &err));
	assert_int_equal(restored.count, FILES);
	assert_string_equal(restored.items[FILES - 1].path, files.items[FILES - 1].path);
	assert_int_equal(restored.items[7].mtime_ns, files.items[7].mtime_ns);
	/* Who reads the manifest as JSON sees the list in any case. */
	assert_works(storage_read_manifest(f.storage, id, &body, NULL, &err));
	assert_int_equal(json_array_size(json_object_get(body, "entries")), FILES + FILES / 500);
	assert_null(json_object_get(body, "pieces"));
	fixture_stop(&f);
}

static void test_what_has_not_changed_is_not_sent_again(void **state)
{
	struct save_result first, again, other_process, one_more;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	write_files(&f);
	assert_works(fixture_try_take(&f, &first));
	assert_works(fixture_try_take(&f, &again));
	assert_int_equal(again.chunks_sent, 0);
	assert_int_equal(again.chunks_kept, FILES);
	assert_in_range(again.bytes_sent, 1, first.bytes_sent / 100);
	fixture_claim(&f);
	assert_works(fixture_try_take(&f, &other_process));
	assert_in_range(other_process.bytes_sent, 1, first.bytes_sent / 100);
	fixture_check(&f, (struct snapshot_id){2, 1});
	fixture_write(&f, "part-3/sample-01700x.bin", 20, FILES + 1);
	assert_works(fixture_try_take(&f, &one_more));
	assert_int_equal(one_more.chunks_sent, 1);
	assert_in_range(one_more.bytes_sent, 1, first.bytes_sent / 2);
	fixture_check(&f, (struct snapshot_id){2, 2});
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

/* Two snapshots that differ in their lists alone; the second one's lies in one pack. */
static char *start_with_two(struct fixture *f)
{
	struct save_result result;

	fixture_start(f);
	write_files(f);
	touch_files(f, 1000000000);
	assert_works(fixture_try_take(f, &result));
	touch_files(f, 1100000000);
	assert_works(fixture_try_take(f, &result));
	assert_int_equal(result.chunks_sent, 0);
	return find_list_pack(f, (struct snapshot_id){1, 2});
}

static void test_starting_and_listing_do_not_read_the_list(void **state)
{
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	struct fixture f;
	auto_free char *pack = start_with_two(&f);

	(void)state;
	/* Whoever read it would see this. */
	fixture_flip(pack, 5000);
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_int_equal(list.count, 2);
	assert_int_equal(list.items[0].state, SNAPSHOT_GOOD);
	assert_int_equal(list.items[0].files, FILES);
	fixture_claim(&f);
	assert_int_equal(f.attempt.start.sequence, 2);
	assert_fails(fixture_try_restore(&f, f.attempt.start), ERR_CORRUPT);
	fixture_stop(&f);
}

static void test_a_damaged_list_is_set_aside_and_healed(void **state)
{
	struct fixture f;
	auto_free char *pack = start_with_two(&f);
	struct snapshot_id id;

	(void)state;
	fixture_flip(pack, 5000);
	assert_fails(fixture_try_restore(&f, (struct snapshot_id){1, 2}), ERR_CORRUPT);
	assert_non_null(strstr(err.text, strrchr(pack, '/')));
	assert_false(file_exists(f.target));
	fixture_claim(&f);
	assert_int_equal(f.attempt.damaged_count, 1);
	assert_int_equal(f.attempt.start.sequence, 1);
	/* The files are still those of the second. */
	id = fixture_take(&f);
	fixture_check(&f, id);
	fixture_stop(&f);
}

static void test_a_list_that_is_gone_is_sent_again_before_the_commit(void **state)
{
	struct save_result result;
	struct fixture f;
	auto_free char *pack = start_with_two(&f);

	(void)state;
	assert_int_equal(unlink(pack), 0);
	assert_fails(fixture_try_take(&f, &result), ERR_RETRY);
	assert_true(result.store_lacks);
	assert_works(fixture_try_take(&f, &result));
	fixture_check(&f, (struct snapshot_id){1, f.sequence});
	fixture_stop(&f);
}

struct findings {
	uint32_t count;
	bool named;
};

static void note_finding(void *arg, struct snapshot_id id, const char *sentence)
{
	struct findings *findings = arg;

	findings->count++;
	findings->named |= id.sequence == 2 && strstr(sentence, "list of files") != NULL;
}

static void test_verify_finds_and_sets_aside_a_damaged_list(void **state)
{
	struct fixture f;
	auto_free char *pack = start_with_two(&f);
	struct findings findings = {0};
	struct verify_request request = {.repair = true, .found = note_finding, .arg = &findings};
	struct verify_result result;

	(void)state;
	assert_works(storage_verify(f.storage, &request, &result, NULL, &err));
	assert_int_equal(result.damages, 0);
	fixture_flip(pack, 5000);
	assert_works(storage_verify(f.storage, &request, &result, NULL, &err));
	assert_int_equal(findings.count, 1);
	assert_true(findings.named);
	/* Reading the list has set it aside already. */
	assert_int_equal(result.set_aside, 0);
	fixture_claim(&f);
	assert_int_equal(f.attempt.start.sequence, 1);
	fixture_flip(pack, 5000);
	assert_works(storage_verify(f.storage, &request, &result, NULL, &err));
	assert_int_equal(result.put_back, 1);
	assert_works(fixture_try_restore(&f, (struct snapshot_id){1, 2}));
	fixture_stop(&f);
}

/* Removing the older snapshot leaves what the newer one shares with it. */
static void test_a_shared_list_outlives_its_first_snapshot(void **state)
{
	struct forget_request request = {.policy = {.keep_last = 1}};
	struct forget_result result;
	struct save_result saved;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	write_files(&f);
	assert_works(fixture_try_take(&f, &saved));
	assert_works(fixture_try_take(&f, &saved));
	request.garbage_age_ms = 1;
	assert_works(storage_forget(f.storage, &request, &result, NULL, &err));
	fixture_check(&f, (struct snapshot_id){1, 2});
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

/* tests/vectors/store-3 was written long ago, in the format of today. */
static void test_a_stored_store_is_read_and_continued(void **state)
{
	struct fixture f;
	auto_free char *copy = NULL;

	(void)state;
	fixture_start(&f);
	assert_works(file_remove_tree(f.store, &err));
	copy = text_format("cp -r '%s' '%s'", STORE_VECTOR, f.store);
	assert_int_equal(system(copy), 0);
	fixture_claim(&f);
	assert_int_equal(f.attempt.number, 2);
	assert_int_equal(f.attempt.start.attempt, 1);
	assert_int_equal(fixture_damages(&f), 0);
	assert_works(fixture_try_restore(&f, f.attempt.start));
	free(steal(&copy));
	copy = text_format("cd '%s' && grep -q '^weights of version 2$' step-1/weights.bin && test "
			   "$(stat -c %%s again) = 5000 && test again -ef step-1/text && test -L "
			   "latest && test $(stat -c %%Y step-1/weights.bin) = 1767323045",
			   f.target);
	assert_int_equal(system(copy), 0);
	write_files(&f);
	fixture_check(&f, fixture_take(&f));
	assert_int_equal(fixture_damages(&f), 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_short_list_is_in_the_manifest),
		cmocka_unit_test(test_a_long_list_comes_back),
		cmocka_unit_test(test_what_has_not_changed_is_not_sent_again),
		cmocka_unit_test(test_starting_and_listing_do_not_read_the_list),
		cmocka_unit_test(test_a_damaged_list_is_set_aside_and_healed),
		cmocka_unit_test(test_a_list_that_is_gone_is_sent_again_before_the_commit),
		cmocka_unit_test(test_verify_finds_and_sets_aside_a_damaged_list),
		cmocka_unit_test(test_a_shared_list_outlives_its_first_snapshot),
		cmocka_unit_test(test_a_stored_store_is_read_and_continued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
