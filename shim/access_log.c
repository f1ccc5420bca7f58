#include "access_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_bool access_log_wanted;

static char log_path[1024];
static _Atomic unsigned lines;

void access_log_start(void)
{
	const char *path = getenv(SHIM_ENV_ACCESS_LOG);

	if (!path || path[0] != '/' || strlen(path) >= sizeof(log_path))
		return;
	memcpy(log_path, path, strlen(path) + 1);
	atomic_store(&access_log_wanted, true);
}

/* Not snprintf(): we may be in a signal handler. */
static size_t put_number(char *line, size_t at, uint64_t number)
{
	char digits[24];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (count > 0)
		line[at++] = digits[--count];
	line[at++] = ' ';
	return at;
}

static void add_line(char kind, const struct resolved_path *resolved_path)
{
	char line[SHIM_PATH_MOST + 64] = {kind, ' '};
	size_t length = put_number(line, 2, resolved_path->device);
	int fd;

	if (atomic_fetch_add(&lines, 1) >= ACCESS_LOG_MOST)
		return;
	length = put_number(line, length, resolved_path->inode);
	memcpy(line + length, resolved_path->path, resolved_path->length);
	length += resolved_path->length;
	line[length++] = '\n';
	fd = (int)syscall(SYS_openat, AT_FDCWD, log_path,
			  O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return;
	(void)!syscall(SYS_write, fd, line, length);
	syscall(SYS_close, fd);
}

void access_log_note(const struct resolved_path *resolved_path, int flags)
{
	int access = flags & O_ACCMODE;

	if (!resolved_path->inside || !resolved_path->regular || (flags & O_PATH) ||
	    memchr(resolved_path->path, '\n', resolved_path->length))
		return;
	/* First what it may have read: its content from before. */
	if (access != O_WRONLY && !(flags & O_TRUNC) && !(resolved_path->flags & SHIM_FLAG_EMPTY))
		add_line('r', resolved_path);
	if (access != O_RDONLY)
		add_line('w', resolved_path);
}
