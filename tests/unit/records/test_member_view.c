/* What is seen of a gang's snapshot: a member's own part as its directory, or all of them. */
#include "../gangs/gang_fixture.h"

#include "storage/records/records.h"

/* The paths, one after the other; the caller frees. */
static char *paths_of(const struct manifest *manifest)
{
	char *text = text_copy("");

	for (size_t i = 0; i < manifest->entry_count; i++) {
		char *longer =
			text_format("%s%s%s", text, i > 0 ? " " : "", manifest->entries[i].path);

		free(text);
		text = longer;
	}
	return text;
}

static void test_views(void **state)
{
	static const struct {
		const char *name;
		uint32_t members, member; /* 0 members: this process is none */
		int look_at;              /* -1: at all */
		enum err_kind kind;
		const char *paths;
	} rows[] = {
		{"the first member", 2, 0, -1, ERR_NONE, "weights"},
		{"the second member", 2, 1, -1, ERR_NONE, "more more/state weights"},
		{"who looks at the second one", 0, 0, 1, ERR_NONE, "more more/state weights"},
		{"who looks at one that is not there", 0, 0, 2, ERR_INVALID, NULL},
		{"a member of a larger gang", 3, 1, -1, ERR_UNFIT, NULL},
		{"one machine", 1, 0, -1, ERR_UNFIT, NULL},
		{"who looks at all", 0, 0, -1, ERR_NONE,
		 "member-00000 member-00000/weights member-00001 member-00001/more "
		 "member-00001/more/state member-00001/weights"},
	};
	struct gang gang;

	(void)state;
	gang_start(&gang, 2);
	fixture_write(&gang.machines[1].files, "more/state", 10, 7);
	gang_round(&gang, 1, (struct gang_given[]){{.step = 1}, {.step = 1}});
	gang_assert_committed(&gang, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(manifest_release) struct manifest manifest = {0};
		auto_free char *paths = NULL;
		struct fixture looking = {0};

		text_set(looking.url, sizeof(looking.url), gang.store.url);
		fixture_open(&looking);
		if (rows[i].members > 0)
			storage_set_gang(looking.storage, rows[i].members, rows[i].member);
		if (rows[i].look_at >= 0)
			storage_gang_look_at(looking.storage, (uint32_t)rows[i].look_at);
		if (rows[i].kind == ERR_NONE) {
			assert_works(job_record_get_manifest(looking.storage, gang.newest,
							     &manifest, NULL, &err));
			paths = paths_of(&manifest);
			if (!text_equal(paths, rows[i].paths))
				fail_msg("%s: %s", rows[i].name, paths);
		} else {
			assert_fails(job_record_get_manifest(looking.storage, gang.newest,
							     &manifest, NULL, &err),
				     rows[i].kind);
		}
		storage_close(looking.storage);
	}
	gang_stop(&gang);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_views)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
