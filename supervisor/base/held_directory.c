#include "base/held_directory.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* As many as the kernel follows in one path. */
#define LINKS_MOST 40

/* One resolution of a path, component by component. */
struct resolution {
	const char *path; /* for messages */
	bool make;        /* missing directories, but none behind a link */
	int flags;        /* of the file at its end */
	mode_t mode;
	int links;
	struct err *err;
};

static int resolve_path(struct resolution *resolution, int from, const char *path);

static bool is_of_proc(int directory)
{
	struct statfs system;

	return fstatfs(directory, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* The links of /proc and /dev are the system's, whatever number root has here: none, in a user
 * namespace that does not know it. */
static bool is_of_system(int directory)
{
	struct stat status;

	return is_of_proc(directory) ||
	       (held_directory_is_at(directory, "/dev") && fstat(directory, &status) == 0 &&
		(status.st_mode & 022) == 0);
}

/* `link` lies in `directory`. */
static bool is_trusted_link(int directory, const struct stat *link)
{
	return link->st_uid == 0 || link->st_uid == geteuid() || is_of_system(directory);
}

/* For a message: in a container, the owners that it does not know have all one number. */
static const char *about_owner(uid_t owner)
{
	auto_(bytes_release) struct bytes text = {.limit = 64};

	if (file_read("/proc/sys/kernel/overflowuid", &text, NULL) < 0 ||
	    bytes_append(&text, "", 1, NULL) < 0 ||
	    strtoul((const char *)text.data, NULL, 10) != owner)
		return "";
	return " (in a container, that may be root outside of it)";
}

/* What the link says that is held open. -1 and errno. */
static int read_link(struct resolution *resolution, int link, char text[PATH_MAX])
{
	ssize_t size = readlinkat(link, "", text, PATH_MAX - 1);

	if (size < 0)
		return -1;
	text[size] = '\0';
	if (++resolution->links <= LINKS_MOST)
		return 0;
	errno = ELOOP;
	return -1;
}

/* Takes over `link`, the link itself, which lies in `directory`. */
static int follow_link(struct resolution *resolution, int directory, int link)
{
	auto_close int held = link;
	auto_close int from = -1, target = -1;
	char text[PATH_MAX];
	struct stat of_link, of_target;
	bool make = resolution->make;

	if (read_link(resolution, held, text) < 0)
		return -1;
	from = fcntl(directory, F_DUPFD_CLOEXEC, 0);
	resolution->make = false;
	target = from < 0 ? -1 : resolve_path(resolution, steal_fd(&from), text);
	resolution->make = make;
	if (target < 0 || fstat(held, &of_link) < 0 || fstat(target, &of_target) < 0)
		return -1;
	if (of_link.st_uid == of_target.st_uid || is_trusted_link(directory, &of_link))
		return steal_fd(&target);
	err_set(resolution->err, ERR_DENIED,
		"%s leads through a link of user %u%s to what belongs to user %u, and is not "
		"followed: name the directory itself",
		resolution->path, (unsigned)of_link.st_uid, about_owner(of_link.st_uid),
		(unsigned)of_target.st_uid);
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

/* `flags`: O_RDONLY or O_PATH. `from`: as in openat(2). */
static int open_from(int from, const char *path, int flags, const mode_t *make, struct err *err)
{
	struct resolution resolution = {.path = path, .err = err, .make = make != NULL};
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_DIRECTORY | O_CLOEXEC),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	/* As a rule there is no link on the way, and one call does it. */
	auto_close int fd = (int)syscall(SYS_openat2, from, path, &how, sizeof(how));
	auto_close int at = -1, found = -1;

	if (fd >= 0)
		return steal_fd(&fd);
	/* Any errno but ENOENT: the kernel, or a filter of a container, may not know the call. */
	if (make || errno != ENOENT) {
		resolution.mode = make ? *make : 0;
		/* An absolute path asks nothing of the working directory, which may be closed to
		 * us. */
		at = openat(from, path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
		found = at < 0 ? -1 : resolve_path(&resolution, steal_fd(&at), path);
		fd = found < 0 ? -1 : openat(found, ".", flags | O_DIRECTORY | O_CLOEXEC);
	}
	if (fd < 0 && errno != 0)
		err_os(err, errno, "%s%s", make ? "cannot make directory " : "", path);
	return steal_fd(&fd);
}

int held_directory_open(const char *path, struct err *err)
{
	return open_from(AT_FDCWD, path, O_RDONLY, NULL, err);
}

int held_directory_make(const char *path, mode_t mode, struct err *err)
{
	return open_from(AT_FDCWD, path, O_RDONLY, &mode, err);
}

/* The directory that the path is in. */
static int open_above(int from, const char *path, const char **name, struct err *err)
{
	const char *slash = strrchr(path, '/');
	auto_free char *above =
		slash ? text_copy_n(path, slash == path ? 1 : (size_t)(slash - path))
		      : text_copy(".");

	*name = slash ? slash + 1 : path;
	return open_from(from, above, O_PATH, NULL, err);
}

int held_directory_open_above(const char *path, const char **name, struct err *err)
{
	return open_above(AT_FDCWD, path, name, err);
}

char *held_directory_resolve(const char *path, struct err *err)
{
	auto_free char *plain = text_copy(path);
	auto_close int fd = -1;
	struct err why = {0};
	const char *name;

	while (strlen(plain) > 1 && text_ends(plain, "/"))
		plain[strlen(plain) - 1] = '\0';
	fd = open_from(AT_FDCWD, plain, O_PATH, NULL, &why);
	if (fd < 0 && why.kind == ERR_NOT_FOUND) {
		auto_close int above = open_above(AT_FDCWD, plain, &name, &why);

		if (above >= 0)
			why.kind = ERR_NONE;
	}
	if (why.kind == ERR_DENIED && why.os == 0) {
		err_set(err, why.kind, "%s", why.text);
		return NULL;
	}
	/* Nothing that is there is opened by what this says. */
	return file_absolute(plain);
}

/* --- files that are written for others --- */

static int open_file_in(struct resolution *opening, int directory, const char *name);

/* `name` is a link there. -1 and errno; 0: opening->err says why. */
static int open_linked_file(struct resolution *opening, int directory, const char *name)
{
	auto_close int link = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	auto_close int target = -1;
	char text[PATH_MAX];
	struct err why = {0};
	const char *rest;
	struct stat status;

	if (link < 0 || fstat(link, &status) < 0)
		return -1;
	if (!is_trusted_link(directory, &status)) {
		err_set(opening->err, ERR_DENIED,
			"%s is a link of another user, and is not followed%s", opening->path,
			about_owner(status.st_uid));
		errno = 0;
		return -1;
	}
	/* What these links say is not where they lead. */
	if (is_of_proc(directory))
		return openat(directory, name, opening->flags | O_CLOEXEC, opening->mode);
	if (read_link(opening, link, text) < 0)
		return -1;
	target = open_above(directory, text, &rest, &why);
	if (target >= 0)
		return open_file_in(opening, target, rest);
	if (why.os == 0)
		err_set(opening->err, why.kind, "%s: %s", opening->path, why.text);
	errno = why.os;
	return -1;
}

static int open_file_in(struct resolution *opening, int directory, const char *name)
{
	int fd = openat(directory, name, opening->flags | O_NOFOLLOW | O_CLOEXEC, opening->mode);

	return fd >= 0 || errno != ELOOP ? fd : open_linked_file(opening, directory, name);
}

int held_directory_open_file(const char *path, int flags, mode_t mode, struct err *err)
{
	struct resolution opening =
		{.path = path, .flags = flags | O_NONBLOCK | O_NOCTTY, .mode = mode, .err = err};
	const char *name;
	struct err why = {0};
	auto_close int directory = open_above(AT_FDCWD, path, &name, &why);
	int fd;

	if (directory < 0)
		return why.os ? err_os(err, why.os, "%s", path)
			      : err_set(err, why.kind, "%s", why.text);
	fd = open_file_in(&opening, directory, name);
	if (fd < 0 && errno == 0)
		return -1;
	return file_check_opened(fd, errno, path, flags, err);
}

int held_directory_replace_file(const char *path, const void *data, size_t size, struct err *err)
{
	const char *name;
	auto_close int directory = open_above(AT_FDCWD, path, &name, err);

	if (directory < 0)
		return -1;
	return beneath_replace(directory, name, data, size, false, err) < 0
		       ? err_wrap(err, "%s", path)
		       : 0;
}

void held_directory_remove_file(const char *path)
{
	const char *name;
	auto_close int directory = open_above(AT_FDCWD, path, &name, NULL);

	if (directory >= 0)
		beneath_remove(directory, name, 0);
}

/* --- what was found --- */

bool held_directory_is_at(int directory, const char *path)
{
	struct stat held, named;

	return fstat(directory, &held) == 0 && stat(path, &named) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

uid_t held_directory_own_number(int directory)
{
	auto_free char *name = NULL;
	auto_close int fd = -1;
	char nonce[33];
	struct stat status;
	uid_t owner = geteuid();

	random_hex(nonce);
	name = text_format(".reprieve-%.8s", nonce);
	fd = beneath_open(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return owner;
	if (fstat(fd, &status) == 0)
		owner = status.st_uid;
	beneath_remove(directory, name, 0);
	return owner;
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
