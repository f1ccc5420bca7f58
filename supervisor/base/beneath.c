#include "base/beneath.h"

#include "base/file.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

/* Each directory on the way, and the file at its end, without following a link. */
static int open_by_component(int directory, const char *path, int flags, mode_t mode)
{
	auto_close int held = -1;
	int at = directory;

	for (;;) {
		size_t length = strcspn(path, "/");
		const char *rest = path + length + strspn(path + length, "/");
		char name[NAME_MAX + 1];
		int next;

		if (length == 0 || length > NAME_MAX || path[0] == '/') {
			errno = length > NAME_MAX ? ENAMETOOLONG : path[0] ? EXDEV : ENOENT;
			return -1;
		}
		memcpy(name, path, length);
		name[length] = '\0';
		if (!*rest)
			return openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
		next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -1;
		if (held >= 0)
			close(held);
		at = held = next;
		path = rest;
	}
}

int beneath_open(int directory, const char *path, int flags, mode_t mode)
{
	if (!text_path_climbs(path))
		return open_by_component(directory, path, flags, mode);
	errno = EXDEV;
	return -1;
}

int beneath_open_directory(int directory, const char *path)
{
	return beneath_open(directory, *path ? path : ".", O_RDONLY | O_DIRECTORY, 0);
}

/* --- the directory of a path --- */

void beneath_parent_close(struct beneath_parent *parent)
{
	if (parent->fd >= 0)
		close(parent->fd);
	free(parent->path);
	parent->fd = -1;
	parent->path = NULL;
}

int beneath_parent_of(struct beneath_parent *parent, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	*name = slash ? slash + 1 : path;
	if (**name == '\0' || text_equal(*name, "..") || text_equal(*name, ".") || path[0] == '/') {
		errno = path[0] ? EXDEV : ENOENT;
		return -1;
	}
	if (!slash)
		return parent->directory;
	if (parent->path && strncmp(parent->path, path, length) == 0 && !parent->path[length])
		return parent->fd;
	beneath_parent_close(parent);
	parent->path = text_copy_n(path, length);
	parent->fd = beneath_open(parent->directory, parent->path, O_PATH | O_DIRECTORY, 0);
	if (parent->fd < 0) {
		int error = errno;

		beneath_parent_close(parent);
		errno = error;
	}
	return parent->fd;
}

/* --- looking --- */

int beneath_status(int directory, const char *path, struct stat *status)
{
	auto_(beneath_parent_close) struct beneath_parent parent = BENEATH_PARENT(directory);
	const char *name;
	int in = beneath_parent_of(&parent, path, &name);

	return in < 0 ? -1 : fstatat(in, name, status, AT_SYMLINK_NOFOLLOW);
}

/* 0: nothing is there. */
static mode_t mode_of(int directory, const char *path)
{
	struct stat status;

	return beneath_status(directory, path, &status) == 0 ? status.st_mode : 0;
}

bool beneath_exists(int directory, const char *path)
{
	return mode_of(directory, path) != 0;
}

bool beneath_is_directory(int directory, const char *path)
{
	return S_ISDIR(mode_of(directory, path));
}

bool beneath_is_other(int directory, const char *path)
{
	mode_t mode = mode_of(directory, path);

	return mode && !S_ISDIR(mode) && !S_ISLNK(mode);
}

bool beneath_is_empty_directory(int directory, const char *path)
{
	auto_(walk_close) struct walk walk = {0};

	if (walk_open_at(&walk, directory, path, 0) < 0)
		return errno == ENOENT;
	return !walk_next(&walk);
}

ssize_t beneath_read_link(int directory, const char *path, char *target, size_t capacity)
{
	auto_(beneath_parent_close) struct beneath_parent parent = BENEATH_PARENT(directory);
	const char *name;
	int in = beneath_parent_of(&parent, path, &name);
	ssize_t size = in < 0 ? -1 : readlinkat(in, name, target, capacity - 1);

	target[size < 0 ? 0 : size] = '\0';
	return size;
}

/* --- making and removing --- */

int beneath_make_directory(int directory, const char *path, mode_t mode)
{
	auto_(beneath_parent_close) struct beneath_parent parent = BENEATH_PARENT(directory);
	const char *name;
	int in = beneath_parent_of(&parent, path, &name);

	return in < 0 ? -1 : mkdirat(in, name, mode);
}

int beneath_make_directories(int directory, const char *path, mode_t mode, struct err *err)
{
	auto_free char *partial = text_copy(path);
	char *slash = partial;

	for (;;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (beneath_make_directory(directory, partial, mode) < 0) {
			int error = errno;

			/* On a read-only file system, one that exists gives EROFS. */
			if (!beneath_is_directory(directory, partial))
				return err_os(err, error == EEXIST ? ENOTDIR : error,
					      "cannot make directory %s", partial);
		}
		if (!slash)
			return 0;
		*slash = '/';
	}
}

int beneath_remove(int directory, const char *path, int flags)
{
	auto_(beneath_parent_close) struct beneath_parent parent = BENEATH_PARENT(directory);
	const char *name;
	int in = beneath_parent_of(&parent, path, &name);

	return in < 0 ? -1 : unlinkat(in, name, flags);
}

int beneath_remove_tree(int directory, const char *path, struct err *err)
{
	auto_(walk_close) struct walk walk = {0};
	auto_(beneath_parent_close) struct beneath_parent parent = BENEATH_PARENT(directory);
	const char *name;
	int in = beneath_parent_of(&parent, path, &name);

	if (in < 0)
		return errno == ENOENT ? 0 : err_os(err, errno, "cannot remove %s", path);
	/* What is no directory, or cannot be read, is removed as it is or gives the reason why
	 * not. */
	(void)walk_open_at(&walk, in, name, WALK_LEAVE);
	if (file_remove_walk(&walk) < 0)
		return err_os(err, errno, "cannot remove %s", path);
	if (unlinkat(in, name, 0) < 0 && errno != ENOENT && unlinkat(in, name, AT_REMOVEDIR) < 0)
		return err_os(err, errno, "cannot remove %s", path);
	return 0;
}

/* --- whole files --- */

int beneath_read(int directory, const char *path, struct bytes *out, struct err *err)
{
	auto_close int fd = beneath_open(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return err_os(err, errno, "%s", path);
	if (!S_ISREG(status.st_mode))
		return err_set(err, ERR_FAILED, "%s is no file", path);
	return file_read_all(fd, out, err) < 0 ? err_wrap(err, "%s", path) : 0;
}

int beneath_replace(int directory, const char *path, const void *data, size_t size, bool durable,
		    struct err *err)
{
	auto_(beneath_parent_close) struct beneath_parent parent = BENEATH_PARENT(directory);
	const char *name;
	int in = beneath_parent_of(&parent, path, &name);

	if (in < 0)
		return err_os(err, errno, "%s", path);
	if (file_replace_at(in, name, data, size, durable, err) < 0)
		return -1;
	if (!durable)
		return 0;
	/* One opened with O_PATH cannot be synced. */
	auto_close int readable = openat(in, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return readable < 0 ? err_os(err, errno, "%s", path)
			    : file_sync_held_directory(readable, err);
}

/* Renaming below held directories, also of what is read-only. */

/* Renames, or makes another name. */
static int name_again(int from_directory, const char *from, int to_directory, const char *to,
		      bool link)
{
	auto_(beneath_parent_close) struct beneath_parent source = BENEATH_PARENT(from_directory);
	auto_(beneath_parent_close) struct beneath_parent target = BENEATH_PARENT(to_directory);
	const char *old_name, *new_name;
	int old_in = beneath_parent_of(&source, from, &old_name);
	int new_in = old_in < 0 ? -1 : beneath_parent_of(&target, to, &new_name);

	if (new_in < 0)
		return -1;
	return link ? linkat(old_in, old_name, new_in, new_name, 0)
		    : renameat(old_in, old_name, new_in, new_name);
}

int beneath_link(int from_directory, const char *from, int to_directory, const char *to)
{
	return name_again(from_directory, from, to_directory, to, true);
}

int beneath_rename(int from_directory, const char *from, int to_directory, const char *to)
{
	return name_again(from_directory, from, to_directory, to, false);
}

/* A directory whose mode was changed for a moment; fd -1: it was not. */
struct opened_up {
	int fd;
	mode_t mode;
};

/* `path`: a directory, or "" for the held one. Also one that its owner may not even read. */
static int open_anyway(int directory, const char *path)
{
	auto_(beneath_parent_close) struct beneath_parent parent = BENEATH_PARENT(directory);
	int fd = beneath_open_directory(directory, path);
	const char *name;
	int in;

	if (fd >= 0 || errno != EACCES || !*path)
		return fd;
	in = beneath_parent_of(&parent, path, &name);
	if (in < 0 || fchmodat(in, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return beneath_open_directory(directory, path);
}

static void open_up(struct opened_up *opened, int directory, const char *path)
{
	struct stat status = {0};
	bool known = *path && beneath_status(directory, path, &status) == 0;
	auto_close int fd = known && !S_ISDIR(status.st_mode) ? -1 : open_anyway(directory, path);

	*opened = (struct opened_up){.fd = -1};
	if (fd < 0 || (!known && fstat(fd, &status) < 0) || (status.st_mode & 0700) == 0700 ||
	    fchmod(fd, (status.st_mode & 07777) | 0700) < 0)
		return;
	*opened = (struct opened_up){steal_fd(&fd), status.st_mode & 07777};
}

static void close_again(struct opened_up *opened)
{
	if (opened->fd < 0)
		return;
	(void)fchmod(opened->fd, opened->mode);
	close(opened->fd);
}

static char *above(const char *path)
{
	const char *slash = strrchr(path, '/');

	return text_copy_n(path, slash ? (size_t)(slash - path) : 0);
}

/* rename(2) into another directory writes to both, and to a directory that is moved. */
int beneath_rename_anyway(int from_directory, const char *from, int to_directory, const char *to)
{
	auto_free char *source = above(from), *target = above(to);
	struct opened_up opened[3];
	int result = beneath_rename(from_directory, from, to_directory, to);
	int error;

	if (result == 0 || (errno != EACCES && errno != EPERM))
		return result;
	open_up(&opened[0], from_directory, source);
	open_up(&opened[1], to_directory, target);
	open_up(&opened[2], from_directory, from);
	result = beneath_rename(from_directory, from, to_directory, to);
	error = errno;
	for (int i = 2; i >= 0; i--)
		close_again(&opened[i]);
	errno = error;
	return result;
}
