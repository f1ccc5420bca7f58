#include "file_copy.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static int copy_content(int in, int out, uint64_t size, uint64_t *room, struct err *err)
{
	char buffer[65536];
	ssize_t got;

	if (ioctl(out, FICLONE, in) == 0)
		return 0;
	if (size > *room)
		return err_set(err, ERR_NO_SPACE, "there is no room for a copy");
	*room -= size;
	/* No more than its size: a read of some files of the kernel, which have none, never ends.
	 */
	for (; size > 0; size -= (uint64_t)got) {
		got = read(in, buffer, size < sizeof(buffer) ? size : sizeof(buffer));
		if (got < 0)
			return err_os(err, errno, "read");
		if (got == 0)
			break;
		if (file_write_all(out, buffer, (size_t)got, err) < 0)
			return -1;
	}
	return 0;
}

int file_copy(const char *from, const char *to, uint64_t *room, struct err *err)
{
	struct stat about;
	auto_close int in = file_open(from, O_RDONLY, 0, NULL);
	auto_close int out = -1;

	if (in < 0 || fstat(in, &about) < 0)
		return err_set(err, ERR_NOT_FOUND, "%s cannot be read", from);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return err_os(err, errno, "%s", to);
	if (copy_content(in, out, (uint64_t)about.st_size, room, err) < 0) {
		unlink(to);
		return -1;
	}
	if (fchmod(out, about.st_mode & 0777) < 0 ||
	    futimens(out, (const struct timespec[]){about.st_atim, about.st_mtim}) < 0)
		return err_os(err, errno, "%s", to);
	return 0;
}
