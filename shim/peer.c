/* Use the kernel's structures, whatever offset size the compiler was given. */
#undef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64

#include "channel_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t parse_number(const char *text)
{
	uint64_t number = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		number = 10 * number + (uint64_t)(*text - '0');
	return number;
}

/* Checks state and start time, fields 3 and 22 of /proc/PID/stat. */
static bool stat_shows_start(const char *line, size_t length, uint64_t start)
{
	const char *at = memrchr(line, ')', length);
	int field = 3;

	if (!at || at + 2 >= line + length)
		return false;
	at += 2;
	if (*at == 'Z' || *at == 'X')
		return false;
	for (; at < line + length && field < 22; at++)
		field += *at == ' ';
	return field == 22 && parse_number(at) == start;
}

bool peer_is_alive(const struct shim_header *header)
{
	char path[40], line[512];
	long fd, got;

	if (syscall(SYS_kill, header->supervisor_pid, 0) < 0 && errno == ESRCH)
		return false;
	path_with_number(path, "/proc/", header->supervisor_pid);
	memcpy(path + strlen(path), "/stat", sizeof("/stat"));
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return true;
	got = syscall(SYS_read, fd, line, sizeof(line) - 1);
	syscall(SYS_close, fd);
	if (got <= 0)
		return false;
	line[got] = 0;
	return stat_shows_start(line, (size_t)got, header->supervisor_start);
}

enum channel_pidns peer_pidns(const struct shim_header *header)
{
	enum channel_pidns found = CHANNEL_PIDNS_UNKNOWN;
	struct stat status;
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/ns/pid", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return found;
	if (syscall(SYS_fstat, fd, &status) == 0)
		found = status.st_dev == header->namespace_device &&
					status.st_ino == header->namespace_inode
				? CHANNEL_PIDNS_SAME
				: CHANNEL_PIDNS_OTHER;
	syscall(SYS_close, fd);
	return found;
}
