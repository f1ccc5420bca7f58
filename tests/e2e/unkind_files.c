/* A file system that lacks something, for the names below UNKIND_BELOW. UNKIND is a list of:
 *
 *	no-links	link(2) is refused, as on FAT and on many FUSE mounts
 *	no-noreplace	renameat2(2) does not know RENAME_NOREPLACE, as on mounts of buckets
 *	looks-first	renameat2(2) looks whether the name is taken, and then replaces what is
 *there lost-renames	rename(2) is done and says "not found", as over NFS when an answer is lost
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_below(const char *path)
{
	const char *below = getenv("UNKIND_BELOW");

	return below && strncmp(path, below, strlen(below)) == 0;
}

static bool does(const char *what, const char *path)
{
	const char *list = getenv("UNKIND");

	return list && strstr(list, what) && is_below(path);
}

int link(const char *from, const char *to)
{
	if (!does("no-links", to))
		return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
	errno = EPERM;
	return -1;
}

/* Of two at the same time, neither renames before the other has looked. */
static int look_and_rename(const char *from, const char *to)
{
	static atomic_int lookers;

	if (access(to, F_OK) == 0) {
		errno = EEXIST;
		return -1;
	}
	atomic_fetch_add(&lookers, 1);
	for (int i = 0; atomic_load(&lookers) % 2 == 1 && i < 200; i++)
		usleep(1000);
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	if (flags && does("looks-first", to))
		return look_and_rename(from, to);
	if (!flags || !does("no-noreplace", to))
		return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
	errno = EINVAL;
	return -1;
}

int rename(const char *from, const char *to)
{
	if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) < 0)
		return -1;
	if (!does("lost-renames", to))
		return 0;
	errno = ENOENT;
	return -1;
}
