#include "workspace/workspace.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "workspace/file_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

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
	return mkdir(directory, 0777);
}

static bool has(const char *root, const char *path)
{
	auto_free char *whole = text_format("%s/%s", root, path);

	return file_exists(whole);
}

/* It is the job's to make; what is above it is not. */
static void test_only_what_is_above_the_directory_is_made(void **state)
{
	static const struct {
		const char *before, *directory;
		const char *above; /* NULL: refused */
		bool there;
	} rows[] = {
		{":", "out", ".", false},
		{":", "a/b/out", "a/b", false},
		{":", "out/", ".", false},
		{"mkdir out", "out", "out", true},
		{"mkdir real; ln -s real link", "link/out", "real", false},
		{"mkdir real; ln -s real out", "out", "real", true},
		{"touch out", "out", NULL, true},
		{"touch a", "a/out", NULL, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct place *place = *state;
		auto_free char *command =
			text_format("cd '%s' && rm -rf * && { %s; }", place->root, rows[i].before);
		auto_free char *directory = text_format("%s/%s", place->root, rows[i].directory);
		auto_free char *left =
			text_format("test -z \"$(find '%s' -name '.reprieve*')\"", place->root);
		struct workspace workspace;
		struct err err = {0};
		int status;

		assert_int_equal(system(command), 0);
		workspace_init(&workspace, directory);
		status = workspace_prepare(&workspace, &err);
		if (status != (rows[i].above ? 0 : -1))
			fail_msg("%s, %s: %d %s", rows[i].before, rows[i].directory, status,
				 err.text);
		if (!rows[i].above && !strstr(err.text, workspace.directory))
			fail_msg("%s is not named: %s", workspace.directory, err.text);
		assert_int_equal(has(place->root, rows[i].directory), rows[i].there);
		assert_true(!rows[i].above || has(place->root, rows[i].above));
		assert_int_equal(system(left), 0);
		workspace_release(&workspace);
	}
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

static void test_the_list_of_what_is_being_written(void **state)
{
	struct place *place = *state;
	char path[] = "step_1/";
	char *paths[] = {path, NULL};
	struct path_list back = {0};
	auto_free char *beside = text_format("%s.reprieve", place->workspace.directory);
	bool rebooted = true;
	struct err err;

	/* Nothing is made where there is nothing to write. */
	assert_int_equal(workspace_write_under_way(&place->workspace, NULL, &err), 0);
	assert_false(file_exists(beside));
	assert_int_equal(workspace_read_under_way(&place->workspace, &back, &rebooted, &err), 0);
	assert_int_equal(back.count, 0);
	assert_int_equal(workspace_write_under_way(&place->workspace, paths, &err), 0);
	assert_int_equal(workspace_read_under_way(&place->workspace, &back, &rebooted, &err), 0);
	assert_int_equal(back.count, 1);
	assert_string_equal(back.paths[0], path);
	assert_false(rebooted);
	put(place, beside, "under-way", "");
	assert_int_equal(workspace_read_under_way(&place->workspace, &back, &rebooted, &err), -1);
	assert_int_equal(err.kind, ERR_CORRUPT);
	assert_int_equal(workspace_write_under_way(&place->workspace, paths + 1, &err), 0);
	assert_int_equal(workspace_read_under_way(&place->workspace, &back, &rebooted, &err), 0);
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
	assert_int_equal(workspace_quarantine(&place->workspace, paths, 1, true, &where, NULL), 0);
	moved = text_format("%s/step_2/state", where);
	assert_true(file_exists(moved));
	assert_true(there(place, "step_1/state"));
	assert_false(there(place, "step_2/state"));
	assert_true(workspace_drop_torn(&place->workspace));
	assert_false(file_exists(moved));
	assert_false(workspace_drop_torn(&place->workspace));
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
	assert_int_equal(workspace_quarantine(&place->workspace, paths, 2, false, &where, NULL), 0);
	assert_false(workspace_drop_torn(&place->workspace));
	assert_true(file_exists(where));
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
		{"step_7", false},       {"step_8/optimizer", false},
		{"epoch=3", false},      {"best/weights", true},
		{"logs", true},          {"logs/tensorboard", true},
		{".cache/1", true},      {".hub/refs/heads-2", true},
		{"clone/refs/2", true},  {"step_1", true},
		{"step_1/shards", true},
	};
	struct place *place = *state;

	put(place, NULL, "step_1/state", "good");
	make(place, "clone/.git");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		make(place, rows[i].path);
	workspace_prune(&place->workspace);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (there(place, rows[i].path) != rows[i].stays)
			fail_msg("%s", rows[i].path);
	assert_false(there(place, "step_8"));
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

static void status_of(struct place *place, const char *path, struct stat *status)
{
	auto_free char *whole = text_format("%s/%s", place->workspace.directory, path);

	assert_int_equal(stat(whole, status), 0);
}

/* "The newest" is the same by both times, whatever order the staged tree was written and is read
 * in. */
static void test_install_keeps_the_order_of_times(void **state)
{
	static const char *const oldest_first[] = {"s-3", "run/s-9", "s-1", "run/s-2", "last"};
	struct place *place = *state;
	auto_free char *name = workspace_new_staging(&place->workspace, NULL);
	auto_free char *staging = workspace_path_beside(&place->workspace, name, NULL);
	auto_(snapshot_files_release) struct snapshot_files snapshot = {0};
	auto_free char *where = NULL;
	struct stat before = {0}, status;

	for (size_t i = 5; i-- > 0;) {
		struct timespec times[2] = {{.tv_sec = 1000 + (time_t)i},
					    {.tv_sec = 1000 + (time_t)i}};
		auto_free char *file = text_format("%s/state", oldest_first[i]);
		auto_free char *whole = text_format("%s/%s", staging, oldest_first[i]);

		put(place, staging, i == 4 ? oldest_first[i] : file, "1");
		assert_int_equal(utimensat(AT_FDCWD, whole, times, 0), 0);
	}
	assert_int_equal(file_list_read(staging, &snapshot, NULL), 0);
	assert_int_equal(workspace_install(&place->workspace, name, &snapshot, NULL, &where, NULL),
			 0);
	for (size_t i = 0; i < 5; i++) {
		status_of(place, oldest_first[i], &status);
		assert_int_equal(status.st_mtim.tv_sec, 1000 + i);
		assert_true(status.st_ctim.tv_sec > before.st_ctim.tv_sec ||
			    (status.st_ctim.tv_sec == before.st_ctim.tv_sec &&
			     status.st_ctim.tv_nsec > before.st_ctim.tv_nsec));
		before = status;
	}
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
	assert_int_equal(file_patterns_add(&patterns.exclude, "wandb", NULL), 0);
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

/* What others have put in the place of our folder. */
static void test_a_folder_that_is_not_ours_is_not_used(void **state)
{
	static const struct {
		const char *make; /* in the root, with the user's directory `checkpoints` */
		bool used;
	} rows[] = {
		{"mkdir -m 0700 checkpoints.reprieve", true},
		{"mkdir -m 0755 checkpoints.reprieve", true},
		{"mkdir -m 0777 checkpoints.reprieve", false},
		{"mkdir checkpoints.reprieve; chown 65533 checkpoints.reprieve", false},
		/* The owner of the directory, for whom root works. */
		{"chown 65533 checkpoints; mkdir checkpoints.reprieve; "
		 "chown 65533 checkpoints.reprieve",
		 true},
		{"mkdir other; ln -s other checkpoints.reprieve", false},
		{"ln -s nowhere checkpoints.reprieve", false},
		{"touch checkpoints.reprieve", false},
	};
	struct place *place = *state;
	char job[] = "train";

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *command =
			text_format("cd '%s' && rm -rf * && mkdir checkpoints && %s", place->root,
				    rows[i].make);
		auto_free char *directory = text_copy(place->workspace.directory);
		auto_free char *inside = text_format("%s/.reprieve/completion.json", directory);
		auto_free char *outside = text_format("%s.reprieve/completion.json", directory);
		struct completion_record record = {.job = job, .id = {1, 1}}, back;

		assert_int_equal(system(command), 0);
		workspace_release(&place->workspace);
		workspace_init(&place->workspace, directory);
		assert_int_equal(workspace_write_record(&place->workspace, &record, NULL), 0);
		if (file_exists(outside) != rows[i].used || file_exists(inside) == rows[i].used)
			fail_msg("%s", rows[i].make);
		workspace_release(&place->workspace);
		workspace_init(&place->workspace, directory);
		assert_int_equal(workspace_read_record(&place->workspace, &back, NULL), 0);
		completion_record_release(&back);
	}
}

/* Without the lock, two runs would share the directory. */
static void test_nothing_is_locked_where_both_places_are_taken(void **state)
{
	static const char *const rows[] = {
		"touch checkpoints.reprieve checkpoints/.reprieve",
		"mkdir -m 0777 checkpoints.reprieve checkpoints/.reprieve",
		"ln -s nowhere checkpoints.reprieve; touch checkpoints/.reprieve",
	};
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *command =
			text_format("cd '%s' && rm -rf * && mkdir -m 0755 checkpoints && %s",
				    place->root, rows[i]);
		struct err err = {0};

		assert_int_equal(system(command), 0);
		assert_int_equal(workspace_lock(&place->workspace, "train", NULL, &err), -1);
		assert_int_equal(err.kind, ERR_DENIED);
		assert_non_null(strstr(err.text, "checkpoints.reprieve is "));
		assert_non_null(strstr(err.text, "checkpoints/.reprieve is "));
	}
}

static void write_lists(struct place *place)
{
	char first[] = "a", second[] = "b";
	char *paths[][2] = {{first, NULL}, {second, NULL}, {NULL, NULL}, {first, NULL}};
	struct err err;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_int_equal(workspace_write_under_way(&place->workspace, paths[i], &err), 0);
}

/* Where the list lies is decided once, whatever comes to lie at its place. */
static void test_the_list_stays_in_the_folder_of_the_lock(void **state)
{
	struct place *place = *state;
	auto_free char *command = text_format("cd '%s' && mv checkpoints.reprieve away && "
					      "mkdir -m 0700 checkpoints.reprieve",
					      place->root);
	auto_free char *remove = text_format("rm -r '%s/away'", place->root);
	auto_free char *ours = text_format("%s/away/under-way", place->root);
	auto_free char *anew = text_format("%s.reprieve/under-way", place->workspace.directory);

	assert_int_equal(workspace_lock(&place->workspace, "train", NULL, NULL), 0);
	assert_int_equal(system(command), 0);
	write_lists(place);
	assert_true(file_exists(ours) && !file_exists(anew));
	assert_int_equal(system(remove), 0);
	write_lists(place);
	assert_true(file_exists(anew));
}

/*
 * A server that gives what we make to another user (root_squash, "map all users"): setfsuid(2)
 * makes this thread's files another user's, while the process stays root's; and it takes root's
 * rights to files.
 */
#define SQUASHED 64007

static void test_a_server_that_maps_users(void **state)
{
	static const struct {
		const char *make;  /* by root */
		const char *where; /* our folder; NULL: it is refused */
	} rows[] = {
		/* a share of root's, in which the directory does not exist yet */
		{"chmod 0777 .", "checkpoints.reprieve"},
		{"chmod 0777 .; mkdir checkpoints; chown 1000 checkpoints; chmod 0777 checkpoints",
		 "checkpoints.reprieve"},
		{"chmod 0755 .; mkdir checkpoints; chown 1000 checkpoints; chmod 0777 checkpoints",
		 "checkpoints/.reprieve"},
		/* of an earlier run of ours, and of somebody else */
		{"chmod 0777 .; mkdir -m 0700 checkpoints.reprieve; chown 64007 "
		 "checkpoints.reprieve",
		 "checkpoints.reprieve"},
		{"chmod 0777 .; mkdir -m 0755 checkpoints.reprieve; chown 64008 "
		 "checkpoints.reprieve",
		 "checkpoints/.reprieve"},
		{"chmod 0777 .; mkdir checkpoints.reprieve; chown 64008 checkpoints.reprieve; "
		 "chmod 0777 checkpoints.reprieve",
		 "checkpoints/.reprieve"},
		{"chmod 0777 .; mkdir -m 0777 checkpoints; mkdir -p checkpoints.reprieve "
		 "checkpoints/.reprieve; chown 1000 checkpoints; "
		 "chmod 0777 checkpoints; chown 64008 checkpoints.reprieve checkpoints/.reprieve; "
		 "chmod 0777 checkpoints.reprieve checkpoints/.reprieve",
		 NULL},
	};
	struct place *place = *state;

	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *directory = text_copy(place->workspace.directory);
		auto_free char *command =
			text_format("cd '%s' && rm -rf * && %s", place->root, rows[i].make);
		auto_free char *where =
			rows[i].where ? text_format("%s/%s", place->root, rows[i].where) : NULL;
		struct workspace second;
		struct err err = {0};
		int status, again;

		assert_int_equal(system(command), 0);
		workspace_release(&place->workspace);
		workspace_init(&place->workspace, directory);
		workspace_init(&second, directory);
		setfsuid(SQUASHED);
		status = workspace_lock(&place->workspace, "train", NULL, &err);
		/* Whether the directory is there by then, or not. */
		assert_true(mkdir(directory, 0700) == 0 || errno == EEXIST);
		again = workspace_folder(&second, &err);
		setfsuid(0);
		if (where ? status < 0 || !text_equal(place->workspace.beside, where) : status == 0)
			fail_msg("%s: %s %s", rows[i].make, place->workspace.beside, err.text);
		/* A second run would come to the same lock. */
		assert_int_equal(again >= 0, where != NULL);
		assert_true(!where || text_equal(second.beside, where));
		assert_int_equal(err.kind, where ? ERR_NONE : ERR_DENIED);
		workspace_release(&second);
	}
}

static void test_only_our_staging_areas_are_removed(void **state)
{
	static const struct {
		const char *name;
		bool stays;
	} rows[] = {
		{"staging-0123456789ab", false}, {"staging-area", true},
		{"staging-0123456789a", true},   {"staging-0123456789abc", true},
		{"staging-0123456789aB", true},  {"quarantine", true},
	};
	struct place *place = *state;
	int folder = workspace_folder(&place->workspace, NULL);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(beneath_make_directories(folder, rows[i].name, 0700, NULL), 0);
	free(workspace_new_staging(&place->workspace, NULL));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (beneath_exists(folder, rows[i].name) != rows[i].stays)
			fail_msg("%s", rows[i].name);
}

/* Held, it is the same directory whatever its name leads to. */
static void test_a_held_directory_that_is_exchanged(void **state)
{
	struct place *place = *state;
	auto_free char *name = NULL, *staging = NULL, *where = NULL;
	auto_free char *command = text_format("cd '%s' && mv checkpoints away && mkdir checkpoints "
					      "&& echo theirs > checkpoints/file",
					      place->root);
	auto_free char *theirs = text_format("%s/checkpoints/file", place->root);
	auto_free char *ours = text_format("%s/away/new", place->root);
	auto_(snapshot_files_release) struct snapshot_files files = {0}, snapshot = {0};
	struct err err;

	put(place, NULL, "mine", "1");
	assert_int_equal(workspace_hold(&place->workspace, false, NULL), 0);
	name = workspace_new_staging(&place->workspace, NULL);
	staging = workspace_path_beside(&place->workspace, name, NULL);
	put(place, staging, "new", "2");
	assert_int_equal(system(command), 0);
	assert_int_equal(workspace_list_files(&place->workspace, &files, NULL), 0);
	assert_int_equal(files.count, 1);
	assert_string_equal(files.items[0].path, "mine");
	assert_int_equal(workspace_install(&place->workspace, name, &snapshot, NULL, &where, &err),
			 -1);
	assert_int_equal(err.kind, ERR_DENIED);
	assert_true(file_exists(theirs) && file_exists(ours));
	workspace_let_go(&place->workspace);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_only_what_is_above_the_directory_is_made),
		TEST(test_the_list_of_what_is_being_written),
		TEST(test_quarantine_keeps_what_it_moves),
		TEST(test_quarantine_leaves_no_empty_directories),
		TEST(test_prune_takes_only_what_a_trainer_would_take_for_a_checkpoint),
		TEST(test_install_replaces_and_keeps_strangers),
		TEST(test_install_keeps_the_order_of_times),
		TEST(test_install_leaves_what_is_no_checkpoint),
		TEST(test_install_leaves_what_snapshots_leave_out),
		TEST(test_install_of_read_only_directories),
		TEST(test_a_folder_that_is_not_ours_is_not_used),
		TEST(test_nothing_is_locked_where_both_places_are_taken),
		TEST(test_the_list_stays_in_the_folder_of_the_lock),
		TEST(test_a_server_that_maps_users),
		TEST(test_only_our_staging_areas_are_removed),
		TEST(test_a_held_directory_that_is_exchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
