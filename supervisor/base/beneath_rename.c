/* Renaming below held directories, also of what is read-only. */
#include "base/beneath.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int beneath_rename(int from_directory, const char *from, int to_directory, const char *to)
{
	auto_(beneath_parent_close) struct beneath_parent source = BENEATH_PARENT(from_directory);
	auto_(beneath_parent_close) struct beneath_parent target = BENEATH_PARENT(to_directory);
	const char *old_name, *new_name;
	int old_in = beneath_parent_of(&source, from, &old_name);
	int new_in = old_in < 0 ? -1 : beneath_parent_of(&target, to, &new_name);

	return new_in < 0 ? -1 : renameat(old_in, old_name, new_in, new_name);
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
