#include "file_look.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/held_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* With its NUL: https://www.sqlite.org/fileformat.html, 1.3. */
#define SQLITE_MAGIC "SQLite format 3"

struct file_look file_look_at(void *directory, const char *path)
{
	auto_close int held = held_directory_open(directory, NULL);
	struct stat status;

	if (held < 0 || beneath_status(held, path, &status) < 0)
		return (struct file_look){0};
	return (struct file_look){
		.exists = true,
		.symlink = S_ISLNK(status.st_mode),
		.size = (uint64_t)status.st_size,
		.written = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
	};
}

/* Does not wait for the disk, where the file system can tell: the next look finds it in the page
 * cache. */
static ssize_t read_cached(int fd, void *buffer, size_t size)
{
	struct iovec part = {buffer, size};
	ssize_t length = preadv2(fd, &part, 1, 0, RWF_NOWAIT);

	if (length < 0 && errno == EAGAIN)
		posix_fadvise(fd, 0, (off_t)size, POSIX_FADV_WILLNEED);
	else if (length < 0 && errno == EOPNOTSUPP)
		length = pread(fd, buffer, size, 0);
	return length;
}

bool file_look_is_database(void *directory, const char *path)
{
	auto_close int held = held_directory_open(directory, NULL);
	auto_close int fd =
		held < 0 ? -1 : beneath_open(held, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	char magic[sizeof(SQLITE_MAGIC)];

	return fd >= 0 && read_cached(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, SQLITE_MAGIC, sizeof(magic)) == 0;
}
