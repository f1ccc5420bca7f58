#include "file_look.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With its NUL: https://www.sqlite.org/fileformat.html, 1.3. */
#define SQLITE_MAGIC "SQLite format 3"

static bool read_status(const char *directory, const char *path, struct stat *status)
{
	auto_free char *full = text_format("%s/%s", directory, path);

	return lstat(full, status) == 0;
}

struct file_look file_look_at(const char *directory, const char *path)
{
	struct stat status;

	if (!read_status(directory, path, &status))
		return (struct file_look){0};
	return (struct file_look){
		.exists = true,
		.size = (uint64_t)status.st_size,
		.written = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
	};
}

bool file_look_is_symlink(const char *directory, const char *path)
{
	struct stat status;

	return read_status(directory, path, &status) && S_ISLNK(status.st_mode);
}

bool file_look_is_database(const char *directory, const char *path)
{
	auto_free char *full = text_format("%s/%s", directory, path);
	auto_close int fd = open(full, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	char magic[sizeof(SQLITE_MAGIC)];

	return fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, SQLITE_MAGIC, sizeof(magic)) == 0;
}
