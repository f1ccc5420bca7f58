/* Which members of a gang have the same checkpoint directory. */
#include "workspace/workspace.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define DAY 86400

struct place {
	char root[64];
	struct workspace workspace, other;
	json_t *nonces;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	auto_free char *directory = NULL;

	strcpy(place->root, "/tmp/test_member_mark.XXXXXX");
	if (!mkdtemp(place->root))
		return -1;
	directory = text_format("%s/checkpoints", place->root);
	workspace_init(&place->workspace, directory);
	workspace_init(&place->other, directory);
	place->nonces = json_pack("[s, s, s]", "aa", "bb", "cc");
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;

	file_remove_tree(place->root, NULL);
	workspace_release(&place->workspace);
	workspace_release(&place->other);
	json_decref(place->nonces);
	free(place);
	return 0;
}

static void test_who_is_here(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	bool here[3];

	assert_int_equal(workspace_mark_member(&place->workspace, "bb", &err), 0);
	assert_false(workspace_has_other_mark(&place->workspace, "bb"));
	assert_int_equal(workspace_mark_member(&place->other, "cc", &err), 0);
	assert_int_equal(workspace_mark_member(&place->other, "dd", &err), 0);
	assert_true(workspace_has_other_mark(&place->workspace, "bb"));
	assert_int_equal(workspace_find_members(&place->workspace, place->nonces, "bb", here, &err),
			 0);
	assert_true(!here[0] && here[1] && here[2]);
	/* Whoever has taken it away is not here, but oneself is. */
	workspace_unmark_member(&place->other, "cc");
	workspace_unmark_member(&place->workspace, "bb");
	assert_int_equal(workspace_find_members(&place->workspace, place->nonces, "bb", here, &err),
			 0);
	assert_true(!here[0] && here[1] && !here[2]);
}

/* One that comes while others start has its mark when its turn has come. */
static void test_what_is_removed(void **state)
{
	struct place *place = *state;
	struct err err = {0};
	bool here[3];
	struct timespec times[2];
	int folder = workspace_folder(&place->workspace, &err);
	struct stat mark;

	assert_int_equal(workspace_mark_member(&place->workspace, "dd", &err), 0);
	assert_int_equal(workspace_mark_member(&place->workspace, "ee", &err), 0);
	assert_int_equal(fstatat(folder, "member-ee", &mark, 0), 0);
	times[0] = times[1] = (struct timespec){.tv_sec = mark.st_mtime - 2 * DAY};
	assert_int_equal(utimensat(folder, "member-ee", times, 0), 0);
	assert_int_equal(workspace_find_members(&place->workspace, place->nonces, "aa", here, &err),
			 0);
	assert_int_equal(faccessat(folder, "member-dd", F_OK, 0), 0);
	assert_int_equal(faccessat(folder, "member-ee", F_OK, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_who_is_here, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_removed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
