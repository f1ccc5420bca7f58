/* What a save says, and what the list says of it afterwards: each field. */
#include "storage_fixture.h"

#include "base/json.h"

#include "storage/format/chunk.h"

static struct save_result save(struct fixture *f, const struct save_request *request)
{
	struct save_result result;

	memset(&result, 0x5a, sizeof(result));
	assert_works(storage_save(f->storage, request, &result, NULL, &err));
	return result;
}

static uint64_t bytes_of_packs(struct fixture *f, const char *of)
{
	auto_free char *command = text_format("find '%s' -path '*/packs/%s*' -printf '%%s\n' | "
					      "awk '{ sum += $1 } END { print sum + 0 }'",
					      f->store, of);
	FILE *stream = popen(command, "r");
	unsigned long long bytes = 0;

	assert_non_null(stream);
	assert_int_equal(fscanf(stream, "%llu", &bytes), 1);
	pclose(stream);
	return bytes;
}

static void test_every_field(void **state)
{
	struct fixture f;
	auto_json json_t *about = json_pack("{s:s}", "tag", "best");
	auto_(snapshot_list_release) struct snapshot_list list = {0};
	auto_free char *pipe_path = NULL;
	struct save_request first = {.id = {1, 1}, .reason = "interval", .step = 7, .about = about};
	struct save_request second = {.id = {1, 2}, .parent = {1, 1}, .reason = "notice"};
	struct save_result result;
	char host[65] = "";

	(void)state;
	fixture_start(&f);
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	first.directory = second.directory = f.source;
	second.step = -1;
	fixture_write(&f, "a", CHUNK_SIZE + 10, 1);
	fixture_write(&f, "d/b", 1000, 2);
	result = save(&f, &first);
	assert_false(result.empty || result.changed || result.store_lacks);
	assert_int_equal(result.files, 2);
	assert_int_equal(result.bytes, CHUNK_SIZE + 1010);
	assert_int_equal(result.chunks_sent, 3);
	assert_int_equal(result.chunks_kept, 0);
	assert_int_equal(result.bytes_sent_before, 0);
	assert_int_equal(result.running_files, 0);
	assert_int_equal(result.running_files_lost, 0);
	assert_int_equal(result.left_out, 0);
	assert_string_equal(result.left_out_path, "");
	assert_null(result.left_out_what);
	assert_true(result.bytes_sent > bytes_of_packs(&f, "000001/000001-"));

	fixture_write(&f, "d/c", 500, 3);
	pipe_path = text_format("%s/d/pipe", f.source);
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	result = save(&f, &second);
	assert_int_equal(result.files, 3);
	assert_int_equal(result.bytes, CHUNK_SIZE + 1510);
	assert_int_equal(result.chunks_sent, 1);
	assert_int_equal(result.chunks_kept, 3);
	assert_int_equal(result.left_out, 1);
	assert_string_equal(result.left_out_path, "d/pipe");
	assert_non_null(result.left_out_what);
	assert_works(storage_pin(f.storage, (struct snapshot_id){1, 1}, NULL, &err));

	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_int_equal(list.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct snapshot_info *info = &list.items[i];

		assert_int_equal(info->id.attempt, 1);
		assert_int_equal(info->id.sequence, 2 - i);
		assert_int_equal(info->state, SNAPSHOT_GOOD);
		assert_string_equal(info->damage, "");
		assert_false(info->newer);
		assert_int_equal(info->newest, i == 0);
		assert_false(info->started_from);
		assert_int_equal(info->pinned, i == 1);
		assert_int_equal(info->created[10], 'T');
		assert_string_equal(info->host, host);
	}
	assert_int_equal(snapshot_id_compare(list.items[0].parent, first.id), 0);
	assert_true(snapshot_id_is_none(list.items[1].parent));
	assert_string_equal(list.items[0].reason, "notice");
	assert_string_equal(list.items[1].reason, "interval");
	assert_int_equal(list.items[0].step, -1);
	assert_int_equal(list.items[1].step, 7);
	assert_string_equal(list.items[0].tag, "");
	assert_string_equal(list.items[1].tag, "best");
	assert_int_equal(list.items[0].files, 3);
	assert_int_equal(list.items[1].files, 2);
	assert_int_equal(list.items[0].bytes, CHUNK_SIZE + 1510);
	assert_int_equal(list.items[1].bytes, CHUNK_SIZE + 1010);
	assert_int_equal(list.items[0].bytes_stored, bytes_of_packs(&f, "000001/000002-"));
	assert_int_equal(list.items[1].bytes_stored, bytes_of_packs(&f, "000001/000001-"));
	assert_int_equal(list.items[0].bytes_alone, bytes_of_packs(&f, "000001/000002-"));
	assert_int_equal(list.items[1].bytes_alone, 0);
	fixture_claim(&f);
	snapshot_list_release(&list);
	assert_works(storage_list_snapshots(f.storage, &list, NULL, &err));
	assert_true(list.items[0].started_from);
	assert_false(list.items[1].started_from);
	fixture_stop(&f);
}

/* A directory without a file is told apart from a store that fails. */
static void test_an_empty_directory(void **state)
{
	struct fixture f;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	assert_fails(fixture_try_take(&f, &result), ERR_NOT_FOUND);
	assert_true(result.empty);
	assert_false(result.changed || result.store_lacks);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_an_empty_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
