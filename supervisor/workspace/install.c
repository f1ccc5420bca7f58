/* What moves files of the checkpoint directory: into the quarantine, and a restored tree into
 * place. */
#include "workspace.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/text.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* --- the quarantine --- */

/* Removes the directories above a removed file that are empty now, except those of git and the
 * like, which need their empty directories. */
static void remove_emptied(int directory, const char *path)
{
	auto_free char *below = text_copy(path);

	if (path[0] == '.' || strstr(path, "/."))
		return;
	for (char *slash; (slash = strrchr(below, '/'));) {
		*slash = '\0';
		if (beneath_remove(directory, below, AT_REMOVEDIR) < 0)
			return;
	}
}

/* `aside`: in our folder. */
static int move_aside(const struct workspace *workspace, int directory, const char *path,
		      const char *aside, struct err *err)
{
	auto_free char *to = text_format("%s/%s", aside, path);
	auto_free char *parent = text_copy_n(to, (size_t)(strrchr(to, '/') - to));

	if (beneath_make_directories(workspace->folder, parent, 0700, err) < 0)
		return err_wrap(err, "%s", workspace->beside);
	if (beneath_rename_anyway(directory, path, workspace->folder, to) < 0 && errno != ENOENT)
		return err_os(err, errno, "cannot move %s/%s aside", workspace->directory, path);
	return 0;
}

/* Of what a save has left undone. Nobody is to go on from it: it goes with the next durable
 * checkpoint. */
#define TORN_FRONT "half-"

static char *new_quarantine(struct workspace *workspace, bool torn, struct err *err)
{
	char nonce[33], date[32];
	time_t now = time(NULL);
	struct tm parts;

	if (workspace_folder(workspace, err) < 0)
		return NULL;
	gmtime_r(&now, &parts);
	strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", &parts);
	random_hex(nonce);
	return text_format("quarantine/%s%s-%.6s", torn ? TORN_FRONT : "", date, nonce);
}

bool workspace_drop_torn(struct workspace *workspace)
{
	auto_(walk_close) struct walk walk = {0};
	bool any = false;

	if (!workspace->beside || workspace->folder <= 0)
		return false;
	(void)walk_open_at(&walk, workspace->folder, "quarantine", 0);
	while (walk_next(&walk)) {
		auto_free char *below = text_format("quarantine/%s", walk.name);

		if (!text_starts(walk.name, TORN_FRONT))
			continue;
		any = true;
		(void)beneath_remove_tree(workspace->folder, below, NULL);
	}
	(void)beneath_remove(workspace->folder, "quarantine", AT_REMOVEDIR);
	return any;
}

int workspace_quarantine(struct workspace *workspace, char *const *paths, size_t count, bool torn,
			 char **where, struct err *err)
{
	auto_close int directory = workspace_open_directory(workspace, err);
	auto_free char *aside = directory < 0 ? NULL : new_quarantine(workspace, torn, err);

	if (!aside)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (move_aside(workspace, directory, paths[i], aside, err) < 0)
			return -1;
		remove_emptied(directory, paths[i]);
	}
	*where = workspace_path_beside(workspace, aside, err);
	return 0;
}

/* Repositories are left alone: git needs its empty directories. */
static bool is_repository(int directory, const char *path)
{
	auto_free char *inside = text_format("%s%s.git", path, *path ? "/" : "");

	return beneath_exists(directory, inside);
}

/* Does a file lie in the checkpoint's directory that this one is, or lies in? */
static bool is_of_checkpoint(const struct snapshot_files *files, const char *path)
{
	auto_free char *inside = text_format("%s/-", path);
	size_t unit = checkpoint_directory_length(inside);

	for (size_t i = 0; unit > 0 && i < files->count; i++)
		if (strncmp(files->items[i].path, inside, unit + 1) == 0)
			return true;
	return false;
}

void workspace_prune(const struct workspace *workspace)
{
	auto_(walk_close) struct walk walk = {0};
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	auto_close int directory = workspace_open_directory(workspace, NULL);

	if (directory < 0 || is_repository(directory, "") ||
	    file_list_read_at(directory, &files, NULL) < 0)
		return;
	(void)walk_open_at(&walk, directory, "", WALK_LEAVE);
	while (walk_next(&walk)) {
		if (walk.name[0] == '.' || !walk_is_directory(&walk))
			continue;
		if (!walk.leaving && !is_repository(directory, walk.path))
			(void)walk_enter(&walk);
		/* Fails where something is left in it. */
		if (walk.leaving && step_of_path(walk.path) >= 0 &&
		    !is_of_checkpoint(&files, walk.path))
			beneath_remove(walk.directory, walk.name, AT_REMOVEDIR);
	}
}

/* --- the staging area --- */

#define STAGING "staging-"
#define STAGING_DIGITS 12

/* Whoever exchanges our folder for another one of this user's has nothing of it removed. */
static bool is_staging_name(const char *name)
{
	size_t length = strlen(STAGING);

	return text_starts(name, STAGING) && strlen(name) == length + STAGING_DIGITS &&
	       strspn(name + length, "0123456789abcdef") == STAGING_DIGITS;
}

static void remove_old_staging(int folder)
{
	auto_(walk_close) struct walk walk = {0};

	(void)walk_open_at(&walk, folder, "", 0);
	while (walk_next(&walk))
		if (is_staging_name(walk.name))
			(void)beneath_remove_tree(folder, walk.name, NULL);
}

char *workspace_new_staging(struct workspace *workspace, struct err *err)
{
	char nonce[33];

	if (workspace_folder(workspace, err) < 0)
		return NULL;
	remove_old_staging(workspace->folder);
	random_hex(nonce);
	return text_format(STAGING "%.*s", STAGING_DIGITS, nonce);
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
	/* Held open. */
	int directory, staging;
	const struct snapshot_files *snapshot;
	const struct file_patterns *patterns;
};

/* Is it no part of a checkpoint, and not in the way of what the snapshot puts there? */
static bool stays_in_place(const struct installation *installation, const char *path)
{
	const struct snapshot_files *snapshot = installation->snapshot;

	if (file_patterns_kind(installation->patterns, path) == FILE_KIND_ORDINARY)
		return false;
	for (size_t i = 0; i < snapshot->count; i++)
		if (path_set_is_below(path, snapshot->items[i].path) ||
		    path_set_is_below(snapshot->items[i].path, path))
			return false;
	return true;
}

static bool have_same_target(const struct installation *installation, const char *path)
{
	char first[PATH_MAX], second[PATH_MAX];
	ssize_t size = beneath_read_link(installation->directory, path, first, sizeof(first));

	return size >= 0 &&
	       beneath_read_link(installation->staging, path, second, sizeof(second)) == size &&
	       memcmp(first, second, (size_t)size) == 0;
}

/* Snapshots leave out links that lead outside, so these stay; another one that the snapshot does
 * not have names what is no longer there. Nothing is opened by what the link says. */
static enum fate fate_of_link(const struct installation *installation, const char *path)
{
	const char *directory = installation->workspace->directory;
	auto_free char *whole = text_format("%s/%s", directory, path);
	auto_free char *target = NULL;

	if (beneath_exists(installation->staging, path))
		return have_same_target(installation, path) ? FATE_REMOVED : FATE_ASIDE;
	target = realpath(whole, NULL);
	return target && !path_set_is_below(target, directory) ? FATE_STAYS : FATE_ASIDE;
}

static enum fate fate_of(const struct installation *installation, const char *path,
			 const struct stat *status)
{
	const struct snapshot_file *saved = file_list_find(installation->snapshot, path);

	if (S_ISREG(status->st_mode) && stays_in_place(installation, path))
		return FATE_STAYS;
	if (S_ISREG(status->st_mode))
		return saved && saved->size == (uint64_t)status->st_size &&
				       saved->mtime_ns == file_list_time_ns(&status->st_mtim)
			       ? FATE_REMOVED
			       : FATE_ASIDE;
	if (S_ISLNK(status->st_mode))
		return fate_of_link(installation, path);
	/* A FIFO, a socket, a device: snapshots leave it out. */
	return beneath_exists(installation->staging, path) ? FATE_ASIDE : FATE_STAYS;
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

	(void)walk_open_at(&walk, installation->directory, "", 0);
	while (walk_next(&walk)) {
		if (fstatat(walk.directory, walk.name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(status.st_mode))
			continue;
		if (status.st_dev == device) {
			(void)walk_enter(&walk);
			continue;
		}
		if (!beneath_is_empty_directory(installation->staging, walk.path))
			return err_set(err, ERR_INVALID,
				       "%s/%s is a mount point, and the snapshot has files there: "
				       "unmount it, or choose another --checkpoint-dir",
				       installation->workspace->directory, walk.path);
	}
	return 0;
}

/* Removes what the snapshot contains unchanged, and moves aside what is not in it. */
static int clear_directory(const struct installation *installation, char **where, struct err *err)
{
	struct workspace *workspace = installation->workspace;
	auto_free char *aside = new_quarantine(workspace, false, err);
	auto_(walk_close) struct walk walk = {0};
	struct stat status, root;
	bool moved = false;

	*where = NULL;
	if (!aside)
		return -1;
	if (fstat(installation->directory, &root) < 0)
		return err_os(err, errno, "%s", workspace->directory);
	if (check_mount_points(installation, root.st_dev, err) < 0)
		return -1;
	(void)walk_open_at(&walk, installation->directory, "", WALK_LEAVE);
	while (next_thing(&walk, root.st_dev, &status)) {
		bool below = S_ISDIR(status.st_mode);
		enum fate fate = below ? FATE_REMOVED : fate_of(installation, walk.path, &status);

		if (fate == FATE_STAYS)
			continue;
		moved |= fate == FATE_ASIDE;
		if (fate == FATE_ASIDE &&
		    move_aside(workspace, installation->directory, walk.path, aside, err) < 0)
			return -1;
		/* A directory that is not empty has files that stay. */
		if (fate == FATE_REMOVED &&
		    file_unlink_anyway(walk.directory, walk.name, below ? AT_REMOVEDIR : 0) < 0 &&
		    errno != ENOENT &&
		    !(below && (errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY)))
			return err_os(err, errno, "cannot remove %s/%s", workspace->directory,
				      walk.path);
	}
	if (moved)
		*where = workspace_path_beside(workspace, aside, err);
	return walk_check(&walk, err);
}

/* A directory that has files which stay is not replaced: what is staged for it is moved into it. */
static int move_into_place(const struct installation *installation, struct err *err)
{
	auto_(walk_close) struct walk walk = {0};

	if (walk_open_at(&walk, installation->staging, "", WALK_LEAVE) < 0)
		return err_os(err, errno, "the staging area");
	while (walk_next(&walk)) {
		if (walk.leaving)
			(void)file_unlink_anyway(walk.directory, walk.name, AT_REMOVEDIR);
		else if (beneath_rename_anyway(walk.directory, walk.name, installation->directory,
					       walk.path) < 0 &&
			 !((errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY) &&
			   walk_is_directory(&walk) && walk_enter(&walk) == 0))
			return err_os(err, errno, "cannot put %s/%s in place",
				      installation->workspace->directory, walk.path);
	}
	return walk_check(&walk, err);
}

/* --- the order of times --- */

/* A clock tick apart are the change times of so many of the newest things; of all others only the
 * order is kept, with ties. */
#define APART_MOST 64
#define TICK_TRIES 20
#define TICK_US 1000

static int compare_times(const void *a, const void *b)
{
	int64_t first = ((const struct snapshot_file *)a)->mtime_ns;
	int64_t second = ((const struct snapshot_file *)b)->mtime_ns;

	return (first > second) - (first < second);
}

/* Directories too. */
static void collect_times(const struct installation *installation, struct snapshot_files *all)
{
	auto_(walk_close) struct walk walk = {0};
	struct stat status, root;

	if (fstat(installation->directory, &root) < 0)
		return;
	(void)walk_open_at(&walk, installation->directory, "", WALK_LEAVE);
	while (next_thing(&walk, root.st_dev, &status))
		if (S_ISDIR(status.st_mode) || file_list_find(installation->snapshot, walk.path))
			file_list_add(all, (struct snapshot_file){
						   .path = text_copy(walk.path),
						   .mtime_ns = file_list_time_ns(&status.st_mtim),
					   });
}

/* Sets the time that it has, which makes now its change time: later than `before`, which becomes
 * that one, if it is to be `apart`. */
static void touch_change_time(struct beneath_parent *parent, const struct snapshot_file *file,
			      bool apart, struct timespec *before)
{
	const struct timespec times[] = {
		{.tv_nsec = UTIME_OMIT},
		{file->mtime_ns / 1000000000, file->mtime_ns % 1000000000},
	};
	const char *name;
	struct stat status = {0};
	int in = beneath_parent_of(parent, file->path, &name);

	if (in < 0)
		return;
	for (int i = 0; i < TICK_TRIES; i++) {
		if (utimensat(in, name, times, AT_SYMLINK_NOFOLLOW) < 0 || !apart ||
		    fstatat(in, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			return;
		if (status.st_ctim.tv_sec != before->tv_sec ||
		    status.st_ctim.tv_nsec != before->tv_nsec)
			break;
		usleep(TICK_US);
	}
	*before = status.st_ctim;
}

/* Scripts take the newest by its change time, too, which nobody can set: only the order can be had.
 */
static void order_change_times(const struct installation *installation)
{
	auto_(beneath_parent_close) struct beneath_parent parent =
		BENEATH_PARENT(installation->directory);
	auto_(snapshot_files_release) struct snapshot_files all = {0};
	struct timespec before = {0};

	collect_times(installation, &all);
	if (all.count > 0)
		qsort(all.items, all.count, sizeof(all.items[0]), compare_times);
	for (size_t i = 0; i < all.count; i++)
		touch_change_time(&parent, &all.items[i], i + APART_MOST >= all.count, &before);
}

int workspace_install(struct workspace *workspace, const char *staging,
		      const struct snapshot_files *snapshot, const struct file_patterns *patterns,
		      char **where, struct err *err)
{
	auto_close int staged = beneath_open_directory(workspace->folder, staging);
	struct installation installation = {
		.workspace = workspace,
		.staging = staged,
		.snapshot = snapshot,
		.patterns = patterns,
	};

	if (staged < 0)
		return err_os(err, errno, "%s/%s", workspace->beside, staging);
	if (beneath_remove(workspace->folder, COMPLETION_RECORD_NAME, 0) < 0 && errno != ENOENT)
		return err_os(err, errno, "%s/" COMPLETION_RECORD_NAME, workspace->beside);
	if (workspace_hold(workspace, true, err) < 0)
		return -1;
	installation.directory = workspace->held;
	if (clear_directory(&installation, where, err) < 0 ||
	    move_into_place(&installation, err) < 0)
		return -1;
	order_change_times(&installation);
	(void)beneath_remove_tree(workspace->folder, staging, NULL);
	if (!held_directory_is_at(workspace->held, workspace->directory))
		return err_set(err, ERR_DENIED,
			       "another directory has been put in the place of %s while it was "
			       "restored: see who may write to the directory above it",
			       workspace->directory);
	return file_sync_held_directory(workspace->held, err);
}
