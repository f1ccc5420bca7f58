#include "workspace.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "checkpoint_name.h"
#include "directory_lock.h"
#include "file_list.h"
#include "path_set.h"
#include "under_way.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- paths --- */

static char *absolute_as_written(const char *path)
{
	char current[PATH_MAX];
	auto_free char *copy = text_copy(path);

	while (strlen(copy) > 1 && text_ends(copy, "/"))
		copy[strlen(copy) - 1] = '\0';
	if (copy[0] == '/' || !getcwd(current, sizeof(current)))
		return steal(&copy);
	return text_format("%s/%s", current, text_starts(copy, "./") ? copy + 2 : copy);
}

void workspace_init(struct workspace *workspace, const char *directory)
{
	workspace->directory = file_absolute(directory);
	if (workspace->directory[0] != '/') {
		char *whole = absolute_as_written(workspace->directory);
		free(workspace->directory);
		workspace->directory = whole;
	}
	workspace->alias = absolute_as_written(directory);
	if (text_equal(workspace->alias, workspace->directory))
		workspace->alias[0] = '\0';
	workspace->beside = NULL;
	workspace->lock_fd = 0;
}

void workspace_release(struct workspace *workspace)
{
	free(workspace->directory);
	free(workspace->alias);
	free(workspace->beside);
	if (workspace->lock_fd > 0)
		close(workspace->lock_fd);
	*workspace = (struct workspace){0};
}

int workspace_prepare(struct workspace *workspace, struct err *err)
{
	auto_free char *probe = NULL;
	char nonce[33];
	int fd;

	if (file_make_directories(workspace->directory, 0777, err) < 0)
		return err_wrap(err, "checkpoint directory");
	random_hex(nonce);
	probe = text_format("%s/.reprieve-%.8s", workspace->directory, nonce);
	fd = open(probe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_os(err, errno, "checkpoint directory %s cannot be written",
			      workspace->directory);
	close(fd);
	unlink(probe);
	return 0;
}

static bool same_device(const char *a, const char *b)
{
	struct stat first, second;

	return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev;
}

static char *place_outside(const struct workspace *workspace)
{
	return text_format("%s.reprieve", workspace->directory);
}

/* DIR.reprieve if renames between it and DIR can work; else DIR/.reprieve. */
static int make_beside(struct workspace *workspace, struct err *err)
{
	auto_free char *outside = place_outside(workspace);
	bool made;

	if (workspace->beside)
		return 0;
	made = mkdir(outside, 0700) == 0;
	/* If the directory does not exist yet, it will be created on the file system of our
	 * folder. */
	if ((made || errno == EEXIST) && access(outside, W_OK) == 0 &&
	    (!file_exists(workspace->directory) || same_device(outside, workspace->directory))) {
		workspace->beside = steal(&outside);
		return 0;
	}
	if (made)
		rmdir(outside);
	workspace->beside = text_format("%s/.reprieve", workspace->directory);
	return file_make_directories(workspace->beside, 0700, err);
}

static void forget_beside(struct workspace *workspace)
{
	free(workspace->beside);
	workspace->beside = NULL;
}

#define LOCK_TRIES 100

int workspace_lock(struct workspace *workspace, const char *job, struct cancel *cancel,
		   struct err *err)
{
	struct err why;
	int fd = -1;

	if (workspace->lock_fd > 0)
		return 0;
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (make_beside(workspace, NULL) < 0)
			return 0;
		fd = directory_lock(workspace->beside, job, cancel, &why);
		if (fd != -1 || why.kind != ERR_RETRY)
			break;
		forget_beside(workspace);
	}
	if (fd == -1)
		return err_set(err, why.kind, "checkpoint directory %s: %s", workspace->directory,
			       why.text);
	workspace->lock_fd = fd < 0 ? 0 : fd;
	return 0;
}

/* Is there nothing in our folder but what every run puts there at its start? */
static bool holds_only_start_files(const char *beside)
{
	auto_(walk_close) struct walk walk = {0};
	bool only = walk_open(&walk, beside, 0) == 0;

	while (only && walk_next(&walk))
		only = text_equal(walk.name, "lock") || text_equal(walk.name, "completion.json") ||
		       text_equal(walk.name, "tmp");
	return only;
}

void workspace_remove_unused(struct workspace *workspace)
{
	auto_free char *lock = NULL;
	auto_free char *record = NULL;
	auto_free char *temporary = NULL;

	if (workspace->lock_fd <= 0 || !workspace->beside || file_exists(workspace->directory) ||
	    !holds_only_start_files(workspace->beside))
		return;
	lock = text_format("%s/lock", workspace->beside);
	record = text_format("%s/completion.json", workspace->beside);
	temporary = text_format("%s/tmp", workspace->beside);
	if (rmdir(temporary) < 0 && errno != ENOENT)
		return;
	unlink(record);
	/* Whoever waits for the lock sees that its file is gone: directory_lock(). */
	unlink(lock);
	rmdir(workspace->beside);
}

/* Path of our folder, which need not exist and is not created. The caller frees. */
static char *find_beside(const struct workspace *workspace)
{
	auto_free char *outside = place_outside(workspace);

	if (workspace->beside)
		return text_copy(workspace->beside);
	if (file_is_directory(outside) &&
	    (!file_exists(workspace->directory) || same_device(outside, workspace->directory)))
		return steal(&outside);
	return text_format("%s/.reprieve", workspace->directory);
}

/* --- the record --- */

static char *record_path(const char *beside)
{
	return text_format("%s/completion.json", beside);
}

int workspace_write_record(struct workspace *workspace, const struct completion_record *record,
			   struct err *err)
{
	auto_free char *path = NULL;
	auto_free char *text = NULL;

	if (make_beside(workspace, err) < 0)
		return -1;
	text = completion_record_format(record, err);
	if (!text)
		return -1;
	path = record_path(workspace->beside);
	return file_write(path, text, strlen(text), err);
}

int workspace_read_record(const struct workspace *workspace, struct completion_record *record,
			  struct err *err)
{
	auto_free char *beside = find_beside(workspace);
	auto_free char *path = record_path(beside);
	auto_(bytes_release) struct bytes text = {0};

	*record = (struct completion_record){0};
	if (file_read(path, &text, err) < 0)
		return -1;
	if (completion_record_parse(text.data, text.size, record, err) < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

static char *under_way_path(const char *beside)
{
	return text_format("%s/under-way", beside);
}

int workspace_write_under_way(const struct workspace *workspace, char *const *paths,
			      struct err *err)
{
	/* Other threads may make our folder at the same time, and remember it. */
	struct workspace own = {.directory = workspace->directory};
	auto_free char *beside = find_beside(&own);
	auto_free char *path = NULL;
	auto_(bytes_release) struct bytes text = {0};

	if (paths && *paths && !file_is_directory(beside)) {
		bool made = make_beside(&own, err) == 0;

		free(beside);
		beside = steal(&own.beside);
		if (!made)
			return -1;
	}
	path = under_way_path(beside);
	if (!paths || !*paths)
		return unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR
			       ? err_os(err, errno, "cannot remove %s", path)
			       : 0;
	under_way_format(paths, &text);
	return file_replace(path, text.data, text.size, err);
}

int workspace_read_under_way(const struct workspace *workspace, struct path_list *paths,
			     struct err *err)
{
	auto_free char *beside = find_beside(workspace);
	auto_free char *path = under_way_path(beside);
	auto_(bytes_release) struct bytes text = {0};
	struct err why;

	if (file_read(path, &text, &why) < 0)
		return why.kind == ERR_NOT_FOUND ? 0 : err_set(err, why.kind, "%s", why.text);
	if (under_way_parse(text.data, text.size, paths, err) < 0)
		return err_wrap(err, "%s", path);
	return 0;
}

/* --- moving things --- */

/* Removes the directories above a removed file that are empty now, except those of git and the
 * like, which need their empty directories. */
static void remove_emptied(struct workspace *workspace, const char *path)
{
	auto_free char *below = text_copy(path);

	if (path[0] == '.' || strstr(path, "/."))
		return;
	for (char *slash; (slash = strrchr(below, '/'));) {
		auto_free char *whole = NULL;

		*slash = '\0';
		whole = text_format("%s/%s", workspace->directory, below);
		if (rmdir(whole) < 0)
			return;
	}
}

static int move_aside(struct workspace *workspace, const char *path, const char *aside,
		      struct err *err)
{
	auto_free char *from = text_format("%s/%s", workspace->directory, path);
	auto_free char *to = text_format("%s/%s", aside, path);
	auto_free char *parent = text_copy_n(to, (size_t)(strrchr(to, '/') - to));

	if (file_make_directories(parent, 0700, err) < 0)
		return -1;
	if (rename(from, to) < 0 && errno != ENOENT)
		return err_os(err, errno, "cannot move %s aside", from);
	remove_emptied(workspace, path);
	return 0;
}

static char *new_quarantine(struct workspace *workspace, struct err *err)
{
	char nonce[33], date[32];
	time_t now = time(NULL);
	struct tm parts;

	if (make_beside(workspace, err) < 0)
		return NULL;
	gmtime_r(&now, &parts);
	strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &parts);
	random_hex(nonce);
	return text_format("%s/quarantine/%s-%.6s", workspace->beside, date, nonce);
}

int workspace_quarantine(struct workspace *workspace, char *const *paths, size_t count,
			 char **where, struct err *err)
{
	auto_free char *aside = new_quarantine(workspace, err);

	if (!aside)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (move_aside(workspace, paths[i], aside, err) < 0)
			return -1;
	*where = steal(&aside);
	return 0;
}

static bool was_complete(const struct snapshot_files *complete, const char *below)
{
	for (size_t i = 0; i < complete->count; i++)
		if (path_set_is_below(complete->items[i].path, below))
			return true;
	return false;
}

/* Repositories are left alone: git needs its empty directories. */
static bool is_repository(const struct workspace *workspace, const char *path)
{
	auto_free char *inside = text_format("%s/%s/.git", workspace->directory, path);

	return file_exists(inside);
}

void workspace_prune(struct workspace *workspace)
{
	auto_(completion_record_release) struct completion_record record = {0};
	auto_(walk_close) struct walk walk = {0};

	if (is_repository(workspace, "."))
		return;
	(void)workspace_read_record(workspace, &record, NULL);
	(void)walk_open(&walk, workspace->directory, WALK_LEAVE);
	while (walk_next(&walk)) {
		if (walk.name[0] == '.' || !walk_is_directory(&walk))
			continue;
		if (!walk.leaving && !is_repository(workspace, walk.path))
			(void)walk_enter(&walk);
		/* Fails where something is left in it. */
		if (walk.leaving &&
		    (step_of_path(walk.path) >= 0 || was_complete(&record.files, walk.path)))
			unlinkat(walk.directory, walk.name, AT_REMOVEDIR);
	}
}

char *workspace_path_beside(struct workspace *workspace, const char *name, struct err *err)
{
	return make_beside(workspace, err) < 0 ? NULL
					       : text_format("%s/%s", workspace->beside, name);
}

static void remove_old_staging(struct workspace *workspace)
{
	auto_(walk_close) struct walk walk = {0};

	(void)walk_open(&walk, workspace->beside, 0);
	while (walk_next(&walk)) {
		auto_free char *path = text_format("%s/%s", workspace->beside, walk.name);

		if (text_starts(walk.name, "staging-"))
			file_remove_tree(path, NULL);
	}
}

char *workspace_new_staging(struct workspace *workspace, struct err *err)
{
	char nonce[33];

	if (make_beside(workspace, err) < 0)
		return NULL;
	remove_old_staging(workspace);
	random_hex(nonce);
	return text_format("%s/staging-%.12s", workspace->beside, nonce);
}

/* Is it no part of a checkpoint, and not in the way of what the snapshot puts there? */
static bool stays_in_place(const struct file_patterns *patterns,
			   const struct snapshot_files *snapshot, const char *path)
{
	if (file_patterns_kind(patterns, path) == FILE_KIND_ORDINARY)
		return false;
	for (size_t i = 0; i < snapshot->count; i++)
		if (path_set_is_below(path, snapshot->items[i].path) ||
		    path_set_is_below(snapshot->items[i].path, path))
			return false;
	return true;
}

/* Removes files that the snapshot contains unchanged, and moves all others aside, because nobody
 * else may have a copy of them. */
static int clear_directory(struct workspace *workspace, const struct snapshot_files *snapshot,
			   const struct file_patterns *patterns, char **where, struct err *err)
{
	auto_(snapshot_files_release) struct snapshot_files local = {0};
	auto_(walk_close) struct walk walk = {0};

	*where = NULL;
	if (file_list_read(workspace->directory, &local, err) < 0)
		return -1;
	for (size_t i = 0; i < local.count; i++) {
		const struct snapshot_file *file = &local.items[i];

		if (!stays_in_place(patterns, snapshot, file->path) &&
		    !file_list_same_file(file, file_list_find(snapshot, file->path))) {
			if (!*where && !(*where = new_quarantine(workspace, err)))
				return -1;
			if (move_aside(workspace, file->path, *where, err) < 0)
				return -1;
		}
	}
	(void)walk_open(&walk, workspace->directory, WALK_LEAVE);
	while (walk_next(&walk)) {
		bool directory = walk_is_directory(&walk);

		if ((walk.depth == 1 && text_equal(walk.name, ".reprieve")) ||
		    (directory && !walk.leaving && walk_enter(&walk) == 0) ||
		    (!directory && stays_in_place(patterns, snapshot, walk.path)))
			continue;
		/* A directory that is not empty has files that stay. */
		if (unlinkat(walk.directory, walk.name, directory ? AT_REMOVEDIR : 0) < 0 &&
		    errno != ENOENT && !(directory && (errno == ENOTEMPTY || errno == EEXIST)))
			return err_os(err, errno, "cannot remove %s/%s", workspace->directory,
				      walk.path);
	}
	return 0;
}

/* A directory that has files which stay is not replaced: what is staged for it is moved into it. */
static int move_into_place(struct workspace *workspace, const char *staging, struct err *err)
{
	auto_(walk_close) struct walk walk = {0};

	if (walk_open(&walk, staging, WALK_LEAVE) < 0)
		return err_os(err, errno, "%s", staging);
	while (walk_next(&walk)) {
		auto_free char *to = text_format("%s/%s", workspace->directory, walk.path);

		if (walk.leaving) {
			(void)unlinkat(walk.directory, walk.name, AT_REMOVEDIR);
			if (file_sync_directory(to, err) < 0)
				return -1;
		} else if (renameat(walk.directory, walk.name, AT_FDCWD, to) < 0 &&
			   !((errno == ENOTEMPTY || errno == EEXIST) && walk_is_directory(&walk) &&
			     walk_enter(&walk) == 0)) {
			return err_os(err, errno, "cannot put %s in place", to);
		}
	}
	return walk_check(&walk, err);
}

int workspace_install(struct workspace *workspace, const char *staging,
		      const struct snapshot_files *snapshot, const struct file_patterns *patterns,
		      char **where, struct err *err)
{
	auto_free char *record = record_path(workspace->beside);

	if (unlink(record) < 0 && errno != ENOENT)
		return err_os(err, errno, "%s", record);
	if (file_make_directories(workspace->directory, 0777, err) < 0)
		return -1;
	if (clear_directory(workspace, snapshot, patterns, where, err) < 0)
		return -1;
	if (move_into_place(workspace, staging, err) < 0)
		return -1;
	rmdir(staging);
	return file_sync_directory(workspace->directory, err);
}
