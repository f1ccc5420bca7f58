#include "workspace/workspace.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "workspace/file_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
	char root[64];
	struct workspace workspace;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	auto_free char *directory = NULL;

	strcpy(place->root, "/tmp/test_workspace.XXXXXX");
	if (!mkdtemp(place->root))
		return -1;
	directory = text_format("%s/checkpoints", place->root);
	workspace_init(&place->workspace, directory);
	*state = place;
	return workspace_prepare(&place->workspace, NULL);
}

static int tear_down(void **state)
{
	struct place *place = *state;

	file_remove_tree(place->root, NULL);
	workspace_release(&place->workspace);
	free(place);
	return 0;
}

static void put(struct place *place, const char *below, const char *path, const char *content)
{
	auto_free char *whole =
		text_format("%s/%s", below ? below : place->workspace.directory, path);
	auto_free char *parent = text_copy_n(whole, (size_t)(strrchr(whole, '/') - whole));

	assert_int_equal(file_make_directories(parent, 0777, NULL), 0);
	assert_int_equal(file_write(whole, content, strlen(content), NULL), 0);
}

static bool there(struct place *place, const char *path)
{
	auto_free char *whole = text_format("%s/%s", place->workspace.directory, path);

	return file_exists(whole);
}

static void test_lists_regular_files_sorted(void **state)
{
	struct place *place = *state;
	auto_(snapshot_files_release) struct snapshot_files files = {0};

	put(place, NULL, "b/2", "22");
	put(place, NULL, "a", "1");
	put(place, NULL, ".reprieve/x", "ours");
	assert_int_equal(file_list_read(place->workspace.directory, &files, NULL), 0);
	assert_int_equal(files.count, 2);
	assert_string_equal(files.items[0].path, "a");
	assert_string_equal(files.items[1].path, "b/2");
	assert_int_equal(files.items[1].size, 2);
}

static void test_a_record_comes_back(void **state)
{
	struct place *place = *state;
	char job[] = "train";
	struct completion_record record = {.job = job, .id = {3, 7}};
	struct completion_record back = {0};
	struct err err;

	assert_int_equal(workspace_read_record(&place->workspace, &back, &err), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	put(place, NULL, "step_1/w", "abc");
	assert_int_equal(file_list_read(place->workspace.directory, &record.files, NULL), 0);
	assert_int_equal(workspace_write_record(&place->workspace, &record, NULL), 0);
	assert_int_equal(workspace_read_record(&place->workspace, &back, &err), 0);
	assert_string_equal(back.job, "train");
	assert_int_equal(back.id.attempt, 3);
	assert_int_equal(back.id.sequence, 7);
	assert_int_equal(back.files.count, 1);
	assert_string_equal(back.files.items[0].path, "step_1/w");
	assert_int_equal(back.files.items[0].mtime_ns, record.files.items[0].mtime_ns);
	completion_record_release(&back);
	snapshot_files_release(&record.files);
}

static void test_a_record_that_was_cut_off_is_not_believed(void **state)
{
	struct place *place = *state;
	struct completion_record back;
	struct err err;
	auto_free char *beside = text_format("%s.reprieve", place->workspace.directory);

	put(place, beside, "completion.json",
	    "{\"version\":1,\"job\":\"train\",\"id\":\"1-1\",\"files\":[[\"a\",");
	assert_int_equal(workspace_read_record(&place->workspace, &back, &err), -1);
	assert_int_equal(err.kind, ERR_CORRUPT);
}

static void test_the_list_of_what_is_being_written(void **state)
{
	struct place *place = *state;
	char path[] = "step_1/";
	char *paths[] = {path, NULL};
	struct path_list back = {0};
	auto_free char *beside = text_format("%s.reprieve", place->workspace.directory);
	struct err err;

	/* Nothing is made where there is nothing to write. */
	assert_int_equal(workspace_write_under_way(&place->workspace, NULL, &err), 0);
	assert_false(file_exists(beside));
	assert_int_equal(workspace_read_under_way(&place->workspace, &back, &err), 0);
	assert_int_equal(back.count, 0);
	assert_int_equal(workspace_write_under_way(&place->workspace, paths, &err), 0);
	assert_int_equal(workspace_read_under_way(&place->workspace, &back, &err), 0);
	assert_int_equal(back.count, 1);
	assert_string_equal(back.paths[0], path);
	put(place, beside, "under-way", "");
	assert_int_equal(workspace_read_under_way(&place->workspace, &back, &err), -1);
	assert_int_equal(err.kind, ERR_CORRUPT);
	assert_int_equal(workspace_write_under_way(&place->workspace, paths + 1, &err), 0);
	assert_int_equal(workspace_read_under_way(&place->workspace, &back, &err), 0);
	assert_int_equal(back.count, 1);
	path_list_free(back.paths);
}

static void test_quarantine_keeps_what_it_moves(void **state)
{
	struct place *place = *state;
	char path[] = "step_2/state";
	char *paths[] = {path};
	auto_free char *where = NULL;
	auto_free char *moved = NULL;

	put(place, NULL, "step_1/state", "good");
	put(place, NULL, "step_2/state", "torn");
	assert_int_equal(workspace_quarantine(&place->workspace, paths, 1, &where, NULL), 0);
	moved = text_format("%s/step_2/state", where);
	assert_true(file_exists(moved));
	assert_true(there(place, "step_1/state"));
	assert_false(there(place, "step_2/state"));
}

static void make(struct place *place, const char *path)
{
	auto_free char *whole = text_format("%s/%s", place->workspace.directory, path);

	assert_int_equal(file_make_directories(whole, 0777, NULL), 0);
}

static void test_quarantine_leaves_no_empty_directories(void **state)
{
	struct place *place = *state;
	char torn[] = "last/rank/state", ours[] = ".git/refs/head";
	char *paths[] = {torn, ours};
	auto_free char *where = NULL;

	put(place, NULL, torn, "torn");
	put(place, NULL, ours, "x");
	make(place, "logs");
	assert_int_equal(workspace_quarantine(&place->workspace, paths, 2, &where, NULL), 0);
	assert_false(there(place, "last"));
	assert_true(there(place, ".git/refs"));
	assert_true(there(place, "logs"));
}

static void test_prune_takes_only_what_a_trainer_would_take_for_a_checkpoint(void **state)
{
	static const struct {
		const char *path;
		bool stays;
	} rows[] = {
		{"step_7", false},      {"step_8/optimizer", false},
		{"epoch=3", false},     {"best/weights", false}, /* held a file that was sealed */
		{"logs", true},         {"logs/tensorboard", true},
		{".cache/1", true},     {".hub/refs/heads-2", true},
		{"clone/refs/2", true}, {"step_1", true},
	};
	struct place *place = *state;
	char job[] = "train";
	struct completion_record record = {.job = job, .id = {1, 1}};
	auto_free char *sealed = text_format("%s/best/weights/state", place->workspace.directory);

	put(place, NULL, "step_1/state", "good");
	put(place, NULL, "best/weights/state", "good");
	assert_int_equal(file_list_read(place->workspace.directory, &record.files, NULL), 0);
	assert_int_equal(workspace_write_record(&place->workspace, &record, NULL), 0);
	snapshot_files_release(&record.files);
	assert_int_equal(unlink(sealed), 0);
	make(place, "clone/.git");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		make(place, rows[i].path);
	workspace_prune(&place->workspace);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (there(place, rows[i].path) != rows[i].stays)
			fail_msg("%s", rows[i].path);
	assert_false(there(place, "step_8"));
	assert_false(there(place, "best"));
	make(place, ".git");
	make(place, "step_9");
	workspace_prune(&place->workspace);
	assert_true(there(place, "step_9"));
}

static void test_install_replaces_and_keeps_strangers(void **state)
{
	struct place *place = *state;
	auto_free char *name = workspace_new_staging(&place->workspace, NULL);
	auto_free char *staging = workspace_path_beside(&place->workspace, name, NULL);
	auto_(snapshot_files_release) struct snapshot_files snapshot = {0};
	auto_free char *where = NULL;
	auto_free char *stranger = NULL;

	put(place, NULL, "same", "1");
	assert_int_equal(file_list_read(place->workspace.directory, &snapshot, NULL), 0);
	put(place, NULL, "stranger", "mine");
	put(place, staging, "same", "1");
	put(place, staging, "deep/new", "2");
	assert_int_equal(workspace_install(&place->workspace, name, &snapshot, NULL, &where, NULL),
			 0);
	assert_true(there(place, "same"));
	assert_true(there(place, "deep/new"));
	assert_false(there(place, "stranger"));
	assert_non_null(where);
	stranger = text_format("%s/stranger", where);
	assert_true(file_exists(stranger));
	assert_false(file_exists(staging));
}

static void test_install_leaves_what_is_no_checkpoint(void **state)
{
	struct place *place = *state;
	auto_free char *name = workspace_new_staging(&place->workspace, NULL);
	auto_free char *staging = workspace_path_beside(&place->workspace, name, NULL);
	auto_(snapshot_files_release) struct snapshot_files snapshot = {0};
	struct file_patterns patterns = {0};
	auto_free char *where = NULL, *older = NULL, *torn = NULL;

	put(place, NULL, "run/metrics.csv", "1");
	put(place, NULL, "wandb/torn", "1");
	assert_int_equal(file_list_read(place->workspace.directory, &snapshot, NULL), 0);
	put(place, NULL, "run/metrics.csv", "1, 2, 3");
	put(place, NULL, "run/other.csv", "4");
	put(place, NULL, "run/step_9", "torn");
	put(place, NULL, "wandb/torn", "was saved before it was excluded");
	put(place, NULL, "wandb/run/x", "5");
	put(place, staging, "run/metrics.csv", "1");
	put(place, staging, "run/deep/new", "6");
	put(place, staging, "wandb/torn", "1");
	assert_int_equal(file_patterns_add_exclude(&patterns, "wandb", NULL), 0);
	assert_int_equal(workspace_install(&place->workspace, name, &snapshot, &patterns, &where,
					   NULL),
			 0);
	file_patterns_release(&patterns);
	assert_true(there(place, "run/other.csv"));
	assert_true(there(place, "wandb/run/x"));
	assert_true(there(place, "run/deep/new"));
	assert_true(there(place, "run/metrics.csv"));
	assert_false(there(place, "run/step_9"));
	assert_false(file_exists(staging));
	assert_non_null(where);
	older = text_format("%s/run/metrics.csv", where);
	torn = text_format("%s/wandb/torn", where);
	assert_true(file_exists(older));
	assert_true(file_exists(torn));
}

static void make_link(struct place *place, const char *target, const char *path)
{
	auto_free char *whole = text_format("%s/%s", place->workspace.directory, path);

	assert_int_equal(symlink(target, whole), 0);
}

static void make_fifo(struct place *place, const char *path)
{
	auto_free char *whole = text_format("%s/%s", place->workspace.directory, path);

	assert_int_equal(mkfifo(whole, 0600), 0);
}

static bool lies_in(const char *directory, const char *path)
{
	auto_free char *whole = text_format("%s/%s", directory ? directory : "/nowhere", path);

	return file_exists(whole);
}

/* What no snapshot holds stays, unless the snapshot has something there; nothing of it is deleted.
 */
static void test_install_leaves_what_snapshots_leave_out(void **state)
{
	struct place *place = *state;
	auto_free char *name = workspace_new_staging(&place->workspace, NULL);
	auto_free char *staging = workspace_path_beside(&place->workspace, name, NULL);
	auto_free char *where = NULL;
	auto_(snapshot_files_release) struct snapshot_files snapshot = {0};

	put(place, staging, "step_2/w", "new");
	put(place, staging, "socket", "a file in the snapshot");
	assert_int_equal(file_list_read(staging, &snapshot, NULL), 0);
	put(place, NULL, "step_1/w", "old");
	make_link(place, "/etc", "dataset");
	make_link(place, "/etc", "step_1/config");
	make_link(place, "step_1", "latest");
	make_fifo(place, "commands");
	make_fifo(place, "socket");
	assert_int_equal(workspace_install(&place->workspace, name, &snapshot, NULL, &where, NULL),
			 0);
	assert_true(there(place, "step_2/w"));
	assert_true(there(place, "dataset") && there(place, "step_1/config"));
	assert_true(there(place, "commands") && !there(place, "step_1/w"));
	/* It would point nowhere. */
	assert_true(!there(place, "latest") && lies_in(where, "latest"));
	assert_true(lies_in(where, "step_1/w") && lies_in(where, "socket"));
}

/* As root nothing is forbidden, so a child without rights does it. */
static void as_nobody(struct place *place, void (*act)(struct place *place))
{
	pid_t child;
	int status;

	if (geteuid() != 0) {
		act(place);
		return;
	}
	assert_int_equal(chown(place->root, 65534, 65534), 0);
	assert_int_equal(chown(place->workspace.directory, 65534, 65534), 0);
	child = fork();
	if (child == 0) {
		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(1);
		act(place);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void forbid(struct place *place, const char *below, const char *path)
{
	auto_free char *whole =
		text_format("%s/%s", below ? below : place->workspace.directory, path);

	assert_int_equal(chmod(whole, 0555), 0);
}

static mode_t mode_of(struct place *place, const char *path)
{
	auto_free char *whole = text_format("%s/%s", place->workspace.directory, path);
	struct stat status;

	assert_int_equal(stat(whole, &status), 0);
	return status.st_mode & 07777;
}

static void install_read_only(struct place *place)
{
	auto_free char *name = workspace_new_staging(&place->workspace, NULL);
	auto_free char *staging = workspace_path_beside(&place->workspace, name, NULL);
	auto_free char *where = NULL;
	auto_(snapshot_files_release) struct snapshot_files snapshot = {0};
	struct file_patterns patterns = {0};

	put(place, staging, "step_1/w", "new");
	put(place, staging, "step_2/in/w", "new");
	assert_int_equal(file_list_read(staging, &snapshot, NULL), 0);
	put(place, NULL, "step_1/w", "older");
	put(place, NULL, "step_1/loss.csv", "1");
	forbid(place, NULL, "step_1");
	forbid(place, staging, "step_1");
	forbid(place, staging, "step_2/in");
	forbid(place, staging, "step_2");
	assert_int_equal(workspace_install(&place->workspace, name, &snapshot, &patterns, &where,
					   NULL),
			 0);
	assert_true(there(place, "step_1/w") && there(place, "step_1/loss.csv"));
	assert_true(lies_in(where, "step_1/w") && there(place, "step_2/in/w"));
	assert_int_equal(mode_of(place, "step_1"), 0555);
	assert_int_equal(mode_of(place, "step_2"), 0555);
	assert_int_equal(mode_of(place, "step_2/in"), 0555);
	assert_false(file_exists(staging));
	/* The next one finds them so. */
	assert_int_equal(file_remove_tree(place->workspace.directory, NULL), 0);
}

static void test_install_of_read_only_directories(void **state)
{
	as_nobody(*state, install_read_only);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lists_regular_files_sorted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_record_comes_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_record_that_was_cut_off_is_not_believed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_list_of_what_is_being_written, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_quarantine_keeps_what_it_moves, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_quarantine_leaves_no_empty_directories, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			test_prune_takes_only_what_a_trainer_would_take_for_a_checkpoint, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(test_install_replaces_and_keeps_strangers, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_install_leaves_what_is_no_checkpoint, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_install_leaves_what_snapshots_leave_out,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_install_of_read_only_directories, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
