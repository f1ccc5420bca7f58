/* What moves files of the checkpoint directory: into the quarantine, and a restored tree into
 * place. */
#include "workspace.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "workspace_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- read-only directories --- */

/* A directory whose mode was changed for a moment; path NULL: it was not. */
struct opened_up {
	char *path;
	mode_t mode;
};

/* People protect their checkpoints with chmod -R a-w. Of a directory that is ours, that is no
 * reason to fail. */
static void open_up(struct opened_up *opened, const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0 || !S_ISDIR(status.st_mode) ||
	    (status.st_mode & 0700) == 0700 || chmod(path, (status.st_mode & 07777) | 0700) < 0)
		return;
	*opened = (struct opened_up){text_copy(path), status.st_mode & 07777};
}

static void close_again(struct opened_up *opened, const char *path)
{
	int error = errno;

	if (opened->path)
		(void)chmod(path ? path : opened->path, opened->mode);
	free(opened->path);
	errno = error;
}

static char *parent_of(const char *path)
{
	return text_copy_n(path, (size_t)(strrchr(path, '/') - path));
}

/* rename(2) into another directory writes to both, and to a directory that is moved. */
static int move_anyway(const char *from, const char *to)
{
	auto_free char *source = parent_of(from), *target = parent_of(to);
	struct opened_up opened[3] = {0};
	int result = rename(from, to);

	if (result == 0 || (errno != EACCES && errno != EPERM))
		return result;
	open_up(&opened[0], source);
	open_up(&opened[1], target);
	open_up(&opened[2], from);
	result = rename(from, to);
	close_again(&opened[2], result == 0 ? to : NULL);
	close_again(&opened[1], NULL);
	close_again(&opened[0], NULL);
	return result;
}

/* --- the quarantine --- */

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
	if (move_anyway(from, to) < 0 && errno != ENOENT)
		return err_os(err, errno, "cannot move %s aside", from);
	remove_emptied(workspace, path);
	return 0;
}

static char *new_quarantine(struct workspace *workspace, struct err *err)
{
	char nonce[33], date[32];
	time_t now = time(NULL);
	struct tm parts;

	if (workspace_make_beside(workspace, err) < 0)
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

	if (workspace_make_beside(workspace, err) < 0)
		return NULL;
	remove_old_staging(workspace);
	random_hex(nonce);
	return text_format("%s/staging-%.12s", workspace->beside, nonce);
}

/* --- a restored tree --- */

/* What becomes of a thing that lies in the directory. */
enum fate {
	FATE_STAYS,
	FATE_ASIDE,  /* nobody else may have a copy of it */
	FATE_REMOVED /* the staged tree has the same */
};

struct installation {
	struct workspace *workspace;
	const char *staging;
	const struct snapshot_files *snapshot;
	const struct file_patterns *patterns;
};

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

static bool is_staged(const struct installation *installation, const char *path)
{
	auto_free char *staged = text_format("%s/%s", installation->staging, path);

	return file_exists(staged);
}

static enum fate fate_of_file(const struct installation *installation, const char *path,
			      const struct stat *status)
{
	const struct snapshot_file *saved = file_list_find(installation->snapshot, path);

	if (stays_in_place(installation->patterns, installation->snapshot, path))
		return FATE_STAYS;
	return saved && saved->size == (uint64_t)status->st_size &&
			       saved->mtime_ns == file_list_time_ns(&status->st_mtim)
		       ? FATE_REMOVED
		       : FATE_ASIDE;
}

static bool have_same_target(const char *a, const char *b)
{
	char first[PATH_MAX], second[PATH_MAX];
	ssize_t size = readlink(a, first, sizeof(first));

	return size >= 0 && readlink(b, second, sizeof(second)) == size &&
	       memcmp(first, second, (size_t)size) == 0;
}

/* Snapshots leave out links that lead outside, so these stay; another one that the snapshot does
 * not have names what is no longer there. */
static enum fate fate_of_link(const struct installation *installation, const char *path)
{
	const char *directory = installation->workspace->directory;
	auto_free char *whole = text_format("%s/%s", directory, path);
	auto_free char *staged = text_format("%s/%s", installation->staging, path);
	auto_free char *target = NULL;

	if (file_exists(staged))
		return have_same_target(whole, staged) ? FATE_REMOVED : FATE_ASIDE;
	target = realpath(whole, NULL);
	return target && !path_set_is_below(target, directory) ? FATE_STAYS : FATE_ASIDE;
}

static enum fate fate_of(const struct installation *installation, const char *path,
			 const struct stat *status)
{
	if (S_ISREG(status->st_mode))
		return fate_of_file(installation, path, status);
	if (S_ISLNK(status->st_mode))
		return fate_of_link(installation, path);
	/* A FIFO, a socket, a device: snapshots leave it out. */
	return is_staged(installation, path) ? FATE_ASIDE : FATE_STAYS;
}

/* The next thing that is ours to decide upon: our own folder and mount points are passed over.
 * Directories are entered, and returned when they are left. */
static bool next_thing(struct walk *walk, dev_t device, struct stat *status)
{
	while (walk_next(walk)) {
		if ((walk->depth == 1 && text_equal(walk->name, ".reprieve")) ||
		    fstatat(walk->directory, walk->name, status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    status->st_dev != device)
			continue;
		if (!S_ISDIR(status->st_mode) || walk->leaving || walk_enter(walk) < 0)
			return true;
	}
	return false;
}

/* Before anything is touched: nothing can be put where another file system is mounted. */
static int check_mount_points(const struct installation *installation, dev_t device,
			      struct err *err)
{
	auto_(walk_close) struct walk walk = {0};
	struct stat status;

	(void)walk_open(&walk, installation->workspace->directory, 0);
	while (walk_next(&walk)) {
		if (fstatat(walk.directory, walk.name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(status.st_mode))
			continue;
		if (status.st_dev == device) {
			(void)walk_enter(&walk);
			continue;
		}
		auto_free char *staged = text_format("%s/%s", installation->staging, walk.path);

		if (!file_directory_is_empty(staged))
			return err_set(err, ERR_INVALID,
				       "%s/%s is a mount point, and the snapshot has files there: "
				       "unmount it, or choose another --checkpoint-dir",
				       installation->workspace->directory, walk.path);
	}
	return 0;
}

static int move_strangers_aside(const struct installation *installation, dev_t device, char **where,
				struct err *err)
{
	struct workspace *workspace = installation->workspace;
	struct path_list aside = {0};
	auto_(walk_close) struct walk walk = {0};
	struct stat status;
	int result;

	(void)walk_open(&walk, workspace->directory, WALK_LEAVE);
	while (next_thing(&walk, device, &status))
		if (!S_ISDIR(status.st_mode) &&
		    fate_of(installation, walk.path, &status) == FATE_ASIDE)
			path_list_add(&aside, walk.path);
	/* A list that ends too early would let the rest be removed without a copy. */
	result = walk_check(&walk, err);
	if (result == 0 && aside.count > 0 && !(*where = new_quarantine(workspace, err)))
		result = -1;
	for (size_t i = 0; result == 0 && i < aside.count; i++)
		result = move_aside(workspace, aside.paths[i], *where, err);
	path_list_free(aside.paths);
	return result;
}

/* Removes what the snapshot contains unchanged, and moves aside what is not in it. */
static int clear_directory(const struct installation *installation, char **where, struct err *err)
{
	const char *directory = installation->workspace->directory;
	auto_(walk_close) struct walk walk = {0};
	struct stat status, root;

	*where = NULL;
	if (stat(directory, &root) < 0)
		return err_os(err, errno, "%s", directory);
	if (check_mount_points(installation, root.st_dev, err) < 0 ||
	    move_strangers_aside(installation, root.st_dev, where, err) < 0)
		return -1;
	(void)walk_open(&walk, directory, WALK_LEAVE);
	while (next_thing(&walk, root.st_dev, &status)) {
		bool below = S_ISDIR(status.st_mode);

		if (!below && fate_of(installation, walk.path, &status) == FATE_STAYS)
			continue;
		/* A directory that is not empty has files that stay. */
		if (file_unlink_anyway(walk.directory, walk.name, below ? AT_REMOVEDIR : 0) < 0 &&
		    errno != ENOENT &&
		    !(below && (errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY)))
			return err_os(err, errno, "cannot remove %s/%s", directory, walk.path);
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
		auto_free char *from = text_format("%s/%s", staging, walk.path);
		auto_free char *to = text_format("%s/%s", workspace->directory, walk.path);

		if (walk.leaving)
			(void)file_unlink_anyway(walk.directory, walk.name, AT_REMOVEDIR);
		else if (move_anyway(from, to) < 0 &&
			 !((errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY) &&
			   walk_is_directory(&walk) && walk_enter(&walk) == 0))
			return err_os(err, errno, "cannot put %s in place", to);
	}
	return walk_check(&walk, err);
}

int workspace_install(struct workspace *workspace, const char *staging,
		      const struct snapshot_files *snapshot, const struct file_patterns *patterns,
		      char **where, struct err *err)
{
	const struct installation installation = {workspace, staging, snapshot, patterns};
	auto_free char *record = workspace_record_path(workspace->beside);

	if (unlink(record) < 0 && errno != ENOENT)
		return err_os(err, errno, "%s", record);
	if (file_make_directories(workspace->directory, 0777, err) < 0)
		return -1;
	if (clear_directory(&installation, where, err) < 0)
		return -1;
	if (move_into_place(workspace, staging, err) < 0)
		return -1;
	(void)file_remove_tree(staging, NULL);
	return file_sync_directory(workspace->directory, err);
}
