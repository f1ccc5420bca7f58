#include "own_folder.h"

#include "base/beneath.h"
#include "base/held_directory.h"
#include "base/text.h"
#include "workspace_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a server gives to another number than this process's (root_squash) is ours all the same. A
 * file that we make in another user's folder is not his. */
static bool is_ours(int folder, const struct stat *status, const struct stat *like)
{
	return held_directory_is_private(status, like, geteuid()) ||
	       (status->st_uid != geteuid() &&
		held_directory_is_private(status, like, held_directory_own_number(folder)));
}

/* `like`: the checkpoint directory, or that in which it will be. */
static void open_folder(struct own_folder *folder, int parent, const char *name, bool make,
			const struct stat *like)
{
	struct stat status;

	folder->made = make && beneath_make_directory(parent, name, 0700) == 0;
	folder->fd = beneath_open_directory(parent, name);
	if (folder->fd < 0) {
		if (errno == ELOOP || errno == ENOTDIR)
			folder->foreign = "a link or a file";
		return;
	}
	if (fstat(folder->fd, &status) == 0 && is_ours(folder->fd, &status, like))
		return;
	folder->foreign = status.st_uid == geteuid() ? "open to others, who may write to it"
						     : "another user's";
	close(steal_fd(&folder->fd));
}

/* DIR.reprieve. `directory`: the checkpoint directory; NULL: it is not there yet. */
static struct own_folder open_outside(const struct workspace *workspace,
				      const struct stat *directory, bool make)
{
	struct own_folder folder = {.fd = -1,
				    .path = text_format("%s.reprieve", workspace->directory)};
	const char *name;
	auto_close int parent = held_directory_open_above(folder.path, &name, NULL);
	struct stat status, of_parent;

	if (parent < 0 || fstat(parent, &of_parent) < 0)
		return folder;
	open_folder(&folder, parent, name, make, directory ? directory : &of_parent);
	if (folder.fd < 0)
		return folder;
	/* If the directory does not exist yet, it will be created on the file system of our
	 * folder. */
	if ((make && faccessat(folder.fd, ".", W_OK, 0) < 0) || fstat(folder.fd, &status) < 0 ||
	    (directory && status.st_dev != directory->st_dev)) {
		close(steal_fd(&folder.fd));
		if (folder.made)
			beneath_remove(parent, name, AT_REMOVEDIR);
	}
	return folder;
}

/* DIR/.reprieve */
static int open_inside(const struct workspace *workspace, bool make, struct own_folder *folder,
		       struct err *err)
{
	auto_close int directory =
		make && workspace->held <= 0 ? held_directory_make(workspace->directory, 0777, err)
					     : workspace_open_directory(workspace, err);
	struct stat status;

	if (directory < 0)
		return -1;
	if (fstat(directory, &status) < 0)
		return err_os(err, errno, "%s", workspace->directory);
	folder->path = text_format("%s/.reprieve", workspace->directory);
	open_folder(folder, directory, ".reprieve", make, &status);
	if (folder->foreign)
		return err_set(err, ERR_DENIED,
			       "%s is %s, and is not used: remove it, or name another checkpoint "
			       "directory",
			       folder->path, folder->foreign);
	return folder->fd < 0 ? err_os(err, errno, "%s", folder->path) : 0;
}

int own_folder_find(const struct workspace *workspace, bool make, struct own_folder *folder,
		    struct err *err)
{
	auto_close int directory = workspace_open_directory(workspace, NULL);
	struct stat status;
	bool exists = directory >= 0 && fstat(directory, &status) == 0;

	*folder = open_outside(workspace, exists ? &status : NULL, make);
	if (folder->fd >= 0)
		return 0;
	if (folder->foreign) {
		folder->passed_over = steal(&folder->path);
		folder->passed_over_is = folder->foreign;
	}
	free(steal(&folder->path));
	folder->foreign = NULL;
	return open_inside(workspace, make, folder, err);
}

static void copy_record(const struct own_folder *from, const struct own_folder *to)
{
	static const char *const names[] = {RECORD, UNDER_WAY};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		auto_(bytes_release) struct bytes text = {0};

		if (beneath_read(from->fd, names[i], &text, NULL) == 0 &&
		    beneath_replace(to->fd, names[i], text.data, text.size, true, NULL) == 0)
			beneath_remove(from->fd, names[i], 0);
	}
}

/* Where that is another file system, what says which files are complete is copied. */
void workspace_follow_link(const struct workspace *workspace)
{
	const struct workspace link = {.directory = workspace->alias};
	auto_(own_folder_release) struct own_folder old = {.fd = -1}, own = {.fd = -1};
	auto_free char *beside = text_format("%s.reprieve", workspace->directory);
	auto_close int parent = -1, old_parent = -1;
	const char *name, *old_name;

	if (!*workspace->alias || own_folder_find(workspace, false, &own, NULL) == 0)
		return;
	old = open_outside(&link, NULL, false);
	if (old.fd < 0)
		return;
	old_parent = held_directory_open_above(old.path, &old_name, NULL);
	parent = held_directory_open_above(beside, &name, NULL);
	if (old_parent < 0 ||
	    (parent >= 0 && beneath_rename(old_parent, old_name, parent, name) == 0))
		return;
	own_folder_release(&own);
	if (own_folder_find(workspace, true, &own, NULL) == 0)
		copy_record(&old, &own);
}

void own_folder_release(struct own_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder->path);
	free(folder->passed_over);
}
