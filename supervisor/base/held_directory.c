#include "base/held_directory.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* As many as the kernel follows in one path. */
#define LINKS_MOST 40

/* One resolution of a path, component by component. */
struct resolution {
	const char *path;
	bool make; /* missing directories, but none behind a link */
	mode_t mode;
	int links;
	struct err *err;
};

static int resolve_path(struct resolution *resolution, int from, const char *path);

static bool is_of_this_user(uid_t owner)
{
	return owner == 0 || owner == geteuid();
}

/* Takes over `link`, the link itself, which lies in `directory`. */
static int follow_link(struct resolution *resolution, int directory, int link)
{
	auto_close int held = link;
	auto_close int from = -1, target = -1;
	char text[PATH_MAX];
	ssize_t size = readlinkat(held, "", text, sizeof(text) - 1);
	struct stat of_link, of_target;
	bool make = resolution->make;

	if (size < 0)
		return -1;
	text[size] = '\0';
	if (++resolution->links > LINKS_MOST) {
		errno = ELOOP;
		return -1;
	}
	from = fcntl(directory, F_DUPFD_CLOEXEC, 0);
	resolution->make = false;
	target = from < 0 ? -1 : resolve_path(resolution, steal_fd(&from), text);
	resolution->make = make;
	if (target < 0 || fstat(held, &of_link) < 0 || fstat(target, &of_target) < 0)
		return -1;
	if (is_of_this_user(of_link.st_uid) || of_link.st_uid == of_target.st_uid)
		return steal_fd(&target);
	err_set(resolution->err, ERR_DENIED,
		"%s leads through a link of user %u to what belongs to user %u, and is not "
		"followed: name the directory itself",
		resolution->path, (unsigned)of_link.st_uid, (unsigned)of_target.st_uid);
	errno = 0;
	return -1;
}

/* O_DIRECTORY, so that what is mounted on demand is mounted. */
static int open_directory_itself(int directory, const char *name)
{
	return openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int resolve_component(struct resolution *resolution, int directory, const char *name)
{
	int found = open_directory_itself(directory, name);
	int link;

	if (found >= 0)
		return found;
	if (errno == ENOENT && resolution->make) {
		if (mkdirat(directory, name, resolution->mode) < 0 && errno != EEXIST)
			return -1;
		return open_directory_itself(directory, name);
	}
	if (errno != ENOTDIR && errno != ELOOP)
		return -1;
	link = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (link < 0)
		return -1;
	found = follow_link(resolution, directory, link);
	/* What is no link cannot be read as one. */
	if (found < 0 && errno == ENOENT && beneath_is_other(directory, name))
		errno = ENOTDIR;
	return found;
}

/* Takes over `from`. -1 and errno; 0: resolution->err says why. */
static int resolve_path(struct resolution *resolution, int from, const char *path)
{
	auto_close int at = from;

	if (path[0] == '/') {
		close(steal_fd(&at));
		at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	while (at >= 0 && *path) {
		size_t length = strcspn(path, "/");
		auto_free char *name = text_copy_n(path, length);
		int next;

		path += length + strspn(path + length, "/");
		if (length == 0 || text_equal(name, "."))
			continue;
		next = resolve_component(resolution, at, name);
		if (next < 0)
			return -1;
		close(at);
		at = next;
	}
	return steal_fd(&at);
}

static int open_slowly(struct resolution *resolution)
{
	auto_close int at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int found =
		at < 0 ? -1 : resolve_path(resolution, steal_fd(&at), resolution->path);
	int fd = found < 0 ? -1 : openat(found, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && errno != 0)
		err_os(resolution->err, errno, "%s%s",
		       resolution->make ? "cannot make directory " : "", resolution->path);
	return fd;
}

int held_directory_open(const char *path, struct err *err)
{
	struct resolution resolution = {.path = path, .err = err};
	/* As a rule there is no link on the way, and one call does it. */
	int fd = beneath_open_without_links(path);

	if (fd >= 0)
		return fd;
	if (errno != ELOOP && errno != ENOSYS)
		return err_os(err, errno, "%s", path);
	return open_slowly(&resolution);
}

int held_directory_make(const char *path, mode_t mode, struct err *err)
{
	struct resolution resolution = {.path = path, .make = true, .mode = mode, .err = err};
	int fd = beneath_open_without_links(path);

	if (fd >= 0)
		return fd;
	return open_slowly(&resolution);
}

bool held_directory_is_at(int directory, const char *path)
{
	struct stat held, named;

	return fstat(directory, &held) == 0 && stat(path, &named) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

bool held_directory_is_private(const struct stat *folder, const struct stat *directory, uid_t self)
{
	mode_t others = folder->st_mode & 022;

	if (!S_ISDIR(folder->st_mode))
		return false;
	if (folder->st_uid != self && folder->st_uid != directory->st_uid)
		return false;
	return others == 0 ||
	       (!(directory->st_mode & S_ISVTX) && (directory->st_mode & others) == others);
}
