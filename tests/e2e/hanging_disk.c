/* For LD_PRELOAD: a disk that does not answer. While the file HANG_WHILE exists, the program that
 * is named `reprieve` reads nothing from files below HANG_BELOW; a read that must not wait says so,
 * as with a real disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int hangs(int fd)
{
	const char *below = getenv("HANG_BELOW"), *while_there = getenv("HANG_WHILE");
	char link[40], path[4096];
	struct stat status;
	ssize_t length;

	if (!below || !while_there || strcmp(program_invocation_short_name, "reprieve") != 0 ||
	    stat(while_there, &status) != 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return 0;
	path[length] = '\0';
	return strncmp(path, below, strlen(below)) == 0 && path[strlen(below)] == '/';
}

static void wait_for_disk(int fd)
{
	while (hangs(fd))
		usleep(10000);
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

ssize_t read(int fd, void *buffer, size_t size)
{
	wait_for_disk(fd);
	return NEXT(read)(fd, buffer, size);
}

ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
	wait_for_disk(fd);
	return NEXT(pread)(fd, buffer, size, offset);
}

ssize_t pread64(int fd, void *buffer, size_t size, off64_t offset)
{
	wait_for_disk(fd);
	return NEXT(pread64)(fd, buffer, size, offset);
}

static int may_not_wait(int fd, int flags)
{
	if ((flags & RWF_NOWAIT) && hangs(fd)) {
		errno = EAGAIN;
		return 1;
	}
	wait_for_disk(fd);
	return 0;
}

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags)
{
	return may_not_wait(fd, flags) ? -1 : NEXT(preadv2)(fd, parts, count, offset, flags);
}

ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
	return may_not_wait(fd, flags) ? -1 : NEXT(preadv64v2)(fd, parts, count, offset, flags);
}
