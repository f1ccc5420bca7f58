#include "base/file.h"

#include "base/cleanup.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

static bool is_usable_type(mode_t mode, bool writing)
{
	return S_ISREG(mode) || S_ISCHR(mode) || S_ISDIR(mode) || (writing && S_ISFIFO(mode));
}

int file_check_opened(int opened, int reason, const char *path, int flags, struct err *err)
{
	bool writing = (flags & O_ACCMODE) != O_RDONLY;
	auto_close int fd = opened;
	struct stat status;

	/* open(2) gives the same error for a missing device and for a socket. */
	if (fd < 0 && reason == ENXIO && stat(path, &status) == 0 && S_ISFIFO(status.st_mode))
		return err_set(err, ERR_FAILED,
			       "%s is a pipe that nobody reads: start the reader first, or name a "
			       "file",
			       path);
	if (fd < 0)
		return err_os(err, reason, "%s", path);
	if (fstat(fd, &status) < 0)
		return err_os(err, errno, "%s", path);
	if (!is_usable_type(status.st_mode, writing))
		return err_set(err, ERR_FAILED, "%s is %s, not a file: name a file", path,
			       S_ISFIFO(status.st_mode) ? "a pipe" : "a device for blocks");
	/* Regular files and devices may block, as usual: they do not block for ever. */
	if (S_ISREG(status.st_mode) && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
		return err_os(err, errno, "%s", path);
	return steal_fd(&fd);
}

int file_open(const char *path, int flags, mode_t mode, struct err *err)
{
	int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);

	return file_check_opened(fd, errno, path, flags, err);
}

int file_read_all(int fd, struct bytes *out, struct err *err)
{
	for (;;) {
		size_t limit = out->limit ? out->limit : (size_t)1 << 30;
		size_t room = limit > out->size ? limit - out->size : 0;
		ssize_t got;

		/* Once the limit is reached, one more byte shows whether the file is longer. */
		if (room > 0 && bytes_reserve(out, room < 4096 ? room : 4096, err) < 0)
			return -1;
		got = room > 0 ? read(fd, out->data + out->size, room < 4096 ? room : 4096)
			       : read(fd, &(char){0}, 1);
		if (got > 0 && room == 0)
			return err_set(err, ERR_FAILED, "more than %zu bytes", limit);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_os(err, errno, "read");
		if (got == 0)
			return 0;
		out->size += (size_t)got;
	}
}

int file_read(const char *path, struct bytes *out, struct err *err)
{
	auto_close int fd = file_open(path, O_RDONLY, 0, err);

	if (fd < 0)
		return -1;
	return file_read_all(fd, out, err) < 0 ? err_wrap(err, "%s", path) : 0;
}

size_t file_read_at(int fd, void *target, size_t size, uint64_t offset)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, (char *)target + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

int file_write_all(int fd, const void *data, size_t size, struct err *err)
{
	const char *next = data;

	while (size > 0) {
		ssize_t wrote = write(fd, next, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0 && errno == EAGAIN)
			return err_set(err, ERR_RETRY, "its reader does not keep up");
		if (wrote < 0)
			return err_os(err, errno, "write");
		next += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}

static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return text_copy(".");
	return slash == path ? text_copy("/") : text_copy_n(path, (size_t)(slash - path));
}

int file_sync_held_directory(int directory, struct err *err)
{
	/* Some file systems (FUSE, 9p) have no fsync for directories and return EINVAL: there is no
	 * other way. */
	if (fsync(directory) < 0 && errno != EINVAL && errno != ENOTSUP)
		return err_os(err, errno, "fsync of a directory");
	return 0;
}

int file_sync_directory(const char *path, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_os(err, errno, "%s", path);
	return file_sync_held_directory(fd, err) < 0 ? err_wrap(err, "%s", path) : 0;
}

int file_replace_at(int directory, const char *path, const void *data, size_t size, bool durable,
		    struct err *err)
{
	char nonce[33];
	auto_free char *temporary = NULL;
	auto_close int fd = -1;

	random_hex(nonce);
	temporary = text_format("%s.%.8s.tmp", path, nonce);
	fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0666);
	if (fd < 0)
		return err_os(err, errno, "%s", temporary);
	if (file_write_all(fd, data, size, err) < 0) {
		unlinkat(directory, temporary, 0);
		return err_wrap(err, "%s", path);
	}
	if ((durable && fsync(fd) < 0) || renameat(directory, temporary, directory, path) < 0) {
		err_os(err, errno, "%s", path);
		unlinkat(directory, temporary, 0);
		return -1;
	}
	return 0;
}

int file_write(const char *path, const void *data, size_t size, struct err *err)
{
	auto_free char *directory = parent_of(path);

	if (file_replace_at(AT_FDCWD, path, data, size, true, err) < 0)
		return -1;
	return file_sync_directory(directory, err);
}

int file_replace(const char *path, const void *data, size_t size, struct err *err)
{
	return file_replace_at(AT_FDCWD, path, data, size, false, err);
}

int file_make_directories(const char *path, mode_t mode, struct err *err)
{
	auto_free char *partial = text_copy(path);
	char *slash = partial;

	for (;;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(partial, mode) < 0 && errno != EEXIST) {
			/* On a read-only file system, an existing directory gives EROFS. */
			int reason = errno;
			if (!file_is_directory(partial))
				return err_os(err, reason, "cannot make directory %s", partial);
		}
		if (!slash)
			break;
		*slash = '/';
	}
	if (!file_is_directory(path))
		return err_os(err, ENOTDIR, "%s", path);
	return 0;
}

int file_unlink_anyway(int directory, const char *name, int flags)
{
	struct stat status;
	int error;

	if (unlinkat(directory, name, flags) == 0)
		return 0;
	error = errno;
	if ((error != EACCES && error != EPERM) || fstat(directory, &status) < 0 ||
	    (status.st_mode & 0700) == 0700 ||
	    fchmod(directory, (status.st_mode & 07777) | 0700) < 0) {
		errno = error;
		return -1;
	}
	return unlinkat(directory, name, flags);
}

/* Also one that its owner may not read. */
static int enter_anyway(struct walk *walk)
{
	if (walk_enter(walk) == 0)
		return 0;
	return errno == EACCES &&
			       fchmodat(walk->directory, walk->name, 0700, AT_SYMLINK_NOFOLLOW) == 0
		       ? walk_enter(walk)
		       : -1;
}

int file_remove_walk(struct walk *walk)
{
	while (walk_next(walk)) {
		bool directory = walk_is_directory(walk);

		if (directory && !walk->leaving && enter_anyway(walk) == 0)
			continue;
		if (file_unlink_anyway(walk->directory, walk->name, directory ? AT_REMOVEDIR : 0) <
			    0 &&
		    errno != ENOENT)
			return -1;
	}
	return 0;
}

int file_remove_tree(const char *path, struct err *err)
{
	auto_(walk_close) struct walk walk = {0};

	/* What is no directory, or cannot be read, is removed as it is or gives the reason why not.
	 */
	(void)walk_open(&walk, path, WALK_NO_LINK | WALK_LEAVE);
	if (file_remove_walk(&walk) < 0)
		return err_os(err, errno, "cannot remove %s", path);
	if (remove(path) < 0 && errno != ENOENT)
		return err_os(err, errno, "cannot remove %s", path);
	return 0;
}

bool file_exists(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

bool file_is_directory(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool file_directory_is_empty(const char *path)
{
	auto_(walk_close) struct walk walk = {0};

	if (walk_open(&walk, path, 0) < 0)
		return errno == ENOENT;
	return !walk_next(&walk);
}

const char *file_directory_state(const char *path)
{
	struct stat status;

	if (!file_exists(path))
		return "is not there";
	if (stat(path, &status) < 0)
		return errno == ENOENT || errno == ELOOP ? "is a link to nothing"
							 : "cannot be looked at";
	if (!S_ISDIR(status.st_mode))
		return "is no directory";
	return file_directory_is_empty(path) ? "is empty" : NULL;
}

char *file_absolute(const char *path)
{
	char resolved[PATH_MAX];
	auto_free char *parent = NULL;
	auto_free char *base = NULL;
	const char *name;

	if (realpath(path, resolved))
		return text_copy(resolved);
	if (path[0] == '\0' || text_equal(path, "/") || text_equal(path, "."))
		return text_copy(path);
	base = text_copy(path);
	while (strlen(base) > 1 && text_ends(base, "/"))
		base[strlen(base) - 1] = '\0';
	name = strrchr(base, '/');
	name = name ? name + 1 : base;
	parent = parent_of(base);
	auto_free char *above = file_absolute(parent);
	return text_format("%s/%s", text_equal(above, "/") ? "" : above, name);
}

void random_hex(char target[33])
{
	uint8_t random[16];

	while (getrandom(random, sizeof(random), 0) != sizeof(random))
		continue;
	text_hex(random, sizeof(random), target);
}

/* --- network file systems --- */

const char *network_fs_name(uint32_t type)
{
	/* From linux/magic.h and the file systems' own sources. */
	static const struct {
		const char *name;
		uint32_t type;
	} known[] = {
		{"NFS", 0x6969},        {"Lustre", 0x0bd00bd0},
		{"FUSE", 0x65735546}, /* and virtiofs */
		{"9p", 0x01021997},     {"CIFS", 0xff534d42},
		{"SMB2", 0xfe534d42},   {"SMB", 0x517b},
		{"Ceph", 0x00c36400},   {"GPFS", 0x47504653},
		{"BeeGFS", 0x19830326}, {"AFS", 0x5346414f},
		{"OCFS2", 0x7461636f},  {"GFS2", 0x01161970},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].type == type)
			return known[i].name;
	return NULL;
}

const char *network_fs_of(const char *directory)
{
	auto_free char *path = text_copy(directory);
	struct statfs status;

	while (!file_exists(path) && strrchr(path, '/') > path)
		*strrchr(path, '/') = '\0';
	return statfs(path, &status) < 0 ? NULL : network_fs_name((uint32_t)status.f_type);
}

bool network_fs_is_own_disk(const char *url)
{
	return text_starts(url, "file:///") && !network_fs_of(url + strlen("file://"));
}

/* The fields of the line behind " - " are the type and the source. */
static bool read_mount_line(char *line, dev_t device, struct network_fs_mount *mount)
{
	char *end = strstr(line, " - ");
	unsigned major, minor;

	if (!end || sscanf(line, "%*d %*d %u:%u", &major, &minor) != 2 ||
	    makedev(major, minor) != device)
		return false;
	return sscanf(end, " - %63s %511s", mount->type, mount->source) == 2;
}

bool network_fs_mount_of(const char *directory, struct network_fs_mount *mount)
{
	auto_(bytes_release) struct bytes table = {0};
	struct stat status;
	char *rest = NULL;

	if (stat(directory, &status) < 0 || file_read("/proc/self/mountinfo", &table, NULL) < 0 ||
	    bytes_append(&table, "", 1, NULL) < 0)
		return false;
	for (char *line = strtok_r((char *)table.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (read_mount_line(line, status.st_dev, mount))
			return true;
	return false;
}
