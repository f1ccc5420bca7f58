/* What a member restores of a gang's snapshot, and what is seen of it as a whole. */
#include "gang_fixture.h"

#include "storage/gangs/gangs.h"

static const struct gang_given both[] = {{.step = 10}, {.step = 10}};
static const struct gang_given second[] = {{.empty = true}, {.step = 10}};

/* As "a b", sorted. */
static char *names_in(struct fixture *files)
{
	auto_free char *command = text_format("cd '%s' && find . -type f -printf '%%P\\n' | "
					      "LC_ALL=C sort | tr '\\n' ' '",
					      files->target);
	FILE *stream = popen(command, "r");
	char text[512] = "";

	assert_non_null(stream);
	if (!fgets(text, sizeof(text), stream))
		text[0] = '\0';
	pclose(stream);
	if (text[0])
		text[strlen(text) - 1] = '\0';
	return text_copy(text);
}

static void restore(struct fixture *files, struct snapshot_id id, struct restore_result *result)
{
	struct restore_request request = {.id = id, .directory = files->target};

	memset(result, 0x5a, sizeof(*result));
	assert_int_equal(file_remove_tree(files->target, NULL), 0);
	assert_works(storage_restore(files->storage, &request, result, NULL, &err));
}

static void assert_restores(struct gang *gang, uint32_t member, enum gang_parts_choice choice,
			    const char *names)
{
	struct fixture *files = &gang->machines[member].files;
	auto_(snapshot_files_release) struct snapshot_files listed = {0};
	struct restore_result result;
	auto_free char *found = NULL;

	storage_gang_choose_parts(files->storage, choice);
	restore(files, gang->newest, &result);
	found = names_in(files);
	assert_string_equal(found, names);
	assert_works(storage_list_files(files->storage, gang->newest, &listed, NULL, &err));
	assert_int_equal(listed.count, result.files);
}

static void by_choice(void **state)
{
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	fixture_write(&gang.machines[0].files, "shard-0", 10, 1);
	fixture_write(&gang.machines[1].files, "sub/shard-1", 10, 2);
	gang_round(&gang, 1, both);
	gang_assert_committed(&gang, 1);
	assert_restores(&gang, 0, GANG_PARTS_OWN, "shard-0 weights");
	assert_restores(&gang, 0, GANG_PARTS_AUTO, "shard-0 weights");
	assert_restores(&gang, 0, GANG_PARTS_ALL, "shard-0 sub/shard-1 weights");
	assert_restores(&gang, 1, GANG_PARTS_ALL, "shard-0 sub/shard-1 weights");
	/* Who has none gets those of the others, if need be. */
	gang_round(&gang, 2, second);
	gang_assert_committed(&gang, 2);
	assert_restores(&gang, 0, GANG_PARTS_OWN, "");
	assert_restores(&gang, 0, GANG_PARTS_AUTO, "sub/shard-1 weights");
	assert_restores(&gang, 1, GANG_PARTS_AUTO, "sub/shard-1 weights");
	/* The next save builds upon its own part all the same. */
	storage_gang_choose_parts(gang.machines[1].files.storage, GANG_PARTS_ALL);
	gang_round(&gang, 3, both);
	gang_assert_committed(&gang, 3);
	assert_int_equal(gang.machines[1].result.chunks_sent, 0);
	gang_stop(&gang);
}

/* Nothing is left of a manifest whose lists cannot be read. */
static void lists_that_are_lost(void **state)
{
	struct gang gang;
	struct storage *storage;
	struct gang_clashes clashes;
	auto_free char *command = NULL;

	(void)state;
	gang_start(&gang, 2);
	gang_round(&gang, 1, both);
	gang_assert_committed(&gang, 1);
	command = text_format("find '%s/jobs/job/packs' -type f -delete", gang.store.store);
	assert_int_equal(system(command), 0);
	storage = gang.machines[0].files.storage;
	for (enum gang_parts_choice choice = GANG_PARTS_OWN; choice <= GANG_PARTS_AUTO; choice++) {
		struct manifest manifest = {0};

		storage_gang_choose_parts(storage, choice);
		err = (struct err){0};
		assert_int_equal(gang_choice_get_manifest(storage, gang.newest, &manifest, &clashes,
							  NULL, &err),
				 -1);
		assert_non_null(strstr(err.text, "snapshots/000001-000001.json"));
		assert_null(manifest.packs);
		assert_null(manifest.parts);
		assert_int_equal(manifest.pack_count + manifest.part_count, 0);
	}
	gang_stop(&gang);
}

/* A second name of the model, and a symbolic link to it, which is no file. */
static void link_beside(const struct fixture *fixture)
{
	auto_free char *model = text_format("%s/model", fixture->source);
	auto_free char *hard = text_format("%s/hard", fixture->source);
	auto_free char *soft = text_format("%s/soft", fixture->source);

	assert_int_equal(link(model, hard), 0);
	assert_int_equal(symlink("model", soft), 0);
}

/* Who has which name, whoever asks: of another number of them, and of one machine. */
static void names_of_all(void **state)
{
	static const struct gang_file expected[] = {
		{.path = "shard-1", .member = 1, .having = 1},
		{.path = "sub/same", .member = 0, .having = 2},
		{.path = "weights", .member = 0, .having = 2, .differs = true},
	};
	static const char *const of_one[] = {"hard", "model", "sub/other"};
	auto_(gang_files_release) struct gang_files files = {0};
	struct snapshot_id alone;
	struct storage *storage;
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	fixture_write(&gang.machines[0].files, "sub/same", 10, 1);
	fixture_write(&gang.machines[1].files, "sub/same", 10, 1);
	fixture_write(&gang.machines[1].files, "shard-1", 10, 1);
	fixture_write(&gang.store, "model", 10, 1);
	fixture_write(&gang.store, "sub/other", 10, 2);
	link_beside(&gang.store);
	alone = fixture_take(&gang.store);
	gang_round(&gang, 4, both);
	gang_assert_committed(&gang, 4);
	storage = gang.machines[0].files.storage;
	storage_set_gang(storage, 3, 2);
	assert_works(storage_gang_list_files(storage, gang.newest, &files, NULL, &err));
	assert_int_equal(files.members, 2);
	assert_int_equal(files.count, 3);
	for (size_t i = 0; i < files.count; i++) {
		assert_string_equal(files.items[i].path, expected[i].path);
		assert_int_equal(files.items[i].member, expected[i].member);
		assert_int_equal(files.items[i].having, expected[i].having);
		assert_int_equal(files.items[i].differs, expected[i].differs);
		assert_false(files.items[i].running);
	}
	gang_files_release(&files);
	assert_works(storage_gang_list_files(storage, alone, &files, NULL, &err));
	assert_int_equal(files.members, 0);
	assert_int_equal(files.count, 3);
	for (size_t i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++) {
		assert_string_equal(files.items[i].path, of_one[i]);
		assert_int_equal(files.items[i].having, 1);
	}
	storage_set_gang(storage, 2, 0);
	gang_stop(&gang);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_choice),
		cmocka_unit_test(lists_that_are_lost),
		cmocka_unit_test(names_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
