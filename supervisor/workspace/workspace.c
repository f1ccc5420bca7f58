#include "workspace.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "directory_lock.h"
#include "file_list.h"
#include "under_way.h"
#include "workspace_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

int workspace_make_beside(struct workspace *workspace, struct err *err)
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
		if (workspace_make_beside(workspace, NULL) < 0)
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

char *workspace_record_path(const char *beside)
{
	return text_format("%s/completion.json", beside);
}

void workspace_read_boot(char boot[40])
{
	auto_(bytes_release) struct bytes text = {.limit = 64};

	boot[0] = '\0';
	if (file_read("/proc/sys/kernel/random/boot_id", &text, NULL) < 0)
		return;
	snprintf(boot, 40, "%.*s", (int)text.size, (const char *)text.data);
	boot[strcspn(boot, "\n")] = '\0';
}

int workspace_write_record(struct workspace *workspace, struct completion_record *record,
			   struct err *err)
{
	auto_free char *path = NULL;
	auto_free char *text = NULL;

	if (workspace_make_beside(workspace, err) < 0)
		return -1;
	workspace_read_boot(record->boot);
	text = completion_record_format(record, err);
	if (!text)
		return -1;
	path = workspace_record_path(workspace->beside);
	return file_write(path, text, strlen(text), err);
}

int workspace_read_record(const struct workspace *workspace, struct completion_record *record,
			  struct err *err)
{
	auto_free char *beside = find_beside(workspace);
	auto_free char *path = workspace_record_path(beside);
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
		bool made = workspace_make_beside(&own, err) == 0;

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

char *workspace_path_beside(struct workspace *workspace, const char *name, struct err *err)
{
	return workspace_make_beside(workspace, err) < 0
		       ? NULL
		       : text_format("%s/%s", workspace->beside, name);
}
