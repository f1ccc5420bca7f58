/* Interposed functions that open, duplicate and close descriptors. */
#include "hooks.h"

#include "channel_writer.h"
#include "fd_table.h"
#include "libc_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc does not declare these in its headers. */
int __open_2(const char *path, int flags);
int __openat_2(int directory_fd, const char *path, int flags);
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);

static bool is_writing(int flags)
{
	int access = flags & O_ACCMODE;

	return (access == O_WRONLY || access == O_RDWR) && !(flags & O_PATH);
}

/* O_TMPFILE names a directory; the new file is not its child by name. */
static bool is_cacheable(const char *path, int flags)
{
	return path && path[0] == '/' && (flags & O_TMPFILE) != O_TMPFILE;
}

static void report_opened(int fd, int flags, int directory_fd, const char *path)
{
	struct resolved_path resolved_path;

	fd_table_remove(fd);
	path_resolve_fd(channel_header(), fd, directory_fd, path, &resolved_path);
	if (!resolved_path.inside && is_cacheable(path, flags))
		path_remember_outside(path);
	/* Before what says that it is written: then it is a file of its own. */
	if (resolved_path.inside && resolved_path.regular && fd_table_add(fd))
		channel_send_opened(fd, flags, &resolved_path);
	if (!resolved_path.inside && (flags & (O_CREAT | O_TRUNC)))
		saved_elsewhere_report(directory_fd, path);
}

static __attribute__((noinline)) void report_opened_slowly(int fd, int flags, int directory_fd,
							   const char *path)
{
	int saved = errno;

	if (channel_ready())
		report_opened(fd, flags, directory_fd, path);
	errno = saved;
}

int hooks_opened(int fd, int flags, int directory_fd, const char *path)
{
	if (fd < 0 || !is_writing(flags) || !channel_is_possible())
		return fd;
	/* Tested before channel_ready(), which costs a system call. */
	if (!is_cacheable(path, flags) || fd_table_has(fd) || !path_is_known_outside(path))
		report_opened_slowly(fd, flags, directory_fd, path);
	return fd;
}

/* Reports that `copy` is a duplicate of `fd`; returns copy. */
static int note_duplicate(int fd, int copy)
{
	struct resolved_path resolved_path;
	int saved = errno;

	if (copy < 0 || copy == fd || !fd_table_has(fd) || !channel_ready())
		return copy;
	path_resolve_fd(channel_header(), copy, AT_FDCWD, NULL, &resolved_path);
	if (fd_table_add(copy))
		channel_send(SHIM_DUPLICATED, copy, resolved_path.flags & SHIM_FLAG_DELETED,
			     &resolved_path, NULL);
	errno = saved;
	return copy;
}

void hooks_close_begin(int fd, struct hooks_closing *closing)
{
	int saved = errno;

	closing->tracked = closing->lost_content = false;
	if (fd_table_has(fd) && channel_ready()) {
		path_resolve_fd(channel_header(), fd, AT_FDCWD, NULL, &closing->resolved_path);
		closing->lost_content = fd_table_has_failed(fd);
		closing->tracked = fd_table_remove(fd);
	}
	errno = saved;
}

void hooks_close_end(int fd, const struct hooks_closing *closing, bool failed)
{
	unsigned flags = failed || closing->lost_content ? SHIM_FLAG_FAILED : 0;

	if (closing->tracked)
		channel_send(SHIM_CLOSED, fd,
			     flags | (closing->resolved_path.flags & SHIM_FLAG_DELETED),
			     &closing->resolved_path, NULL);
}

/* open() has a mode argument only if it may make a file. */
#define MODE_ARGUMENT(flags, mode)                                           \
	do {                                                                 \
		if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) { \
			va_list arguments;                                   \
			va_start(arguments, flags);                          \
			mode = va_arg(arguments, unsigned);                  \
			va_end(arguments);                                   \
		}                                                            \
	} while (0)

static int raw_open(int directory_fd, const char *path, int flags, unsigned mode)
{
	return (int)syscall(SYS_openat, directory_fd, path, flags, mode);
}

EXPORT int open(const char *path, int flags, ...)
{
	__typeof__(&open) next = LIBC(open);
	unsigned mode = 0;

	MODE_ARGUMENT(flags, mode);
	return hooks_opened(next ? next(path, flags, mode) : raw_open(AT_FDCWD, path, flags, mode),
			    flags, AT_FDCWD, path);
}
EXPORT_ALIAS(open64, open)

EXPORT int openat(int directory_fd, const char *path, int flags, ...)
{
	__typeof__(&openat) next = LIBC(openat);
	unsigned mode = 0;

	MODE_ARGUMENT(flags, mode);
	return hooks_opened(next ? next(directory_fd, path, flags, mode)
				 : raw_open(directory_fd, path, flags, mode),
			    flags, directory_fd, path);
}
EXPORT_ALIAS(openat64, openat)

EXPORT int creat(const char *path, mode_t mode)
{
	const int flags = O_CREAT | O_WRONLY | O_TRUNC;
	__typeof__(&creat) next = LIBC(creat);

	return hooks_opened(next ? next(path, mode) : raw_open(AT_FDCWD, path, flags, mode), flags,
			    AT_FDCWD, path);
}
EXPORT_ALIAS(creat64, creat)

/* A fortified program calls these for open() and openat() without a mode. */
EXPORT int __open_2(const char *path, int flags)
{
	__typeof__(&__open_2) next = LIBC(__open_2);

	return hooks_opened(next ? next(path, flags) : raw_open(AT_FDCWD, path, flags, 0), flags,
			    AT_FDCWD, path);
}
EXPORT_ALIAS(__open64_2, __open_2)

EXPORT int __openat_2(int directory_fd, const char *path, int flags)
{
	__typeof__(&__openat_2) next = LIBC(__openat_2);

	return hooks_opened(next ? next(directory_fd, path, flags)
				 : raw_open(directory_fd, path, flags, 0),
			    flags, directory_fd, path);
}
EXPORT_ALIAS(__openat64_2, __openat_2)

static int next_close(int fd)
{
	__typeof__(&close) next = LIBC(close);

	return next ? next(fd) : (int)syscall(SYS_close, fd);
}

static __attribute__((noinline)) int close_tracked(int fd)
{
	struct hooks_closing closing;
	int result;

	hooks_close_begin(fd, &closing);
	result = next_close(fd);
	/* On EINTR, Linux has closed it all the same. On EBADF, somebody had closed it by a raw
	 * system call, which loses nothing. */
	hooks_close_end(fd, &closing, result < 0 && errno != EINTR && errno != EBADF);
	return result;
}

EXPORT int close(int fd)
{
	return __builtin_expect(fd_table_has(fd), 0) ? close_tracked(fd) : next_close(fd);
}

static void close_tracked_range(unsigned first, unsigned last)
{
	for (int fd = fd_table_next(first, last); fd >= 0 && channel_ready();
	     fd = fd_table_next((unsigned)fd + 1, last))
		close_tracked(fd);
}

/* Always by the system call: on a kernel older than the function it returns ENOSYS, which callers
 * expect. */
EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	/*
	 * In a vfork() child the table is the parent's, and close_tracked_range() leaves it alone.
	 * With UNSHARE only this thread's descriptors are closed; with CLOEXEC none is.
	 */
	if (flags == 0 && first <= last)
		close_tracked_range(first, last);
	return (int)syscall(SYS_close_range, first, last, flags);
}

EXPORT void closefrom(int first)
{
	unsigned from = first < 0 ? 0 : (unsigned)first;
	long most = sysconf(_SC_OPEN_MAX);

	close_tracked_range(from, ~0u);
	if (syscall(SYS_close_range, from, ~0u, 0) == 0)
		return;
	for (long fd = from; fd < (most < 0 ? FD_TABLE_MOST : most); fd++)
		syscall(SYS_close, (int)fd);
}

EXPORT int dup(int fd)
{
	__typeof__(&dup) next = LIBC(dup);

	return note_duplicate(fd, next ? next(fd) : (int)syscall(SYS_dup, fd));
}

static int raw_dup3(int fd, int target, int flags)
{
	return (int)syscall(SYS_dup3, fd, target, flags);
}

/* Closes `target` first, if it was open. */
static int duplicate_onto(int fd, int target, int flags, bool two)
{
	__typeof__(&dup2) next2 = LIBC(dup2);
	__typeof__(&dup3) next3 = LIBC(dup3);
	struct hooks_closing closing;
	int copy;

	hooks_close_begin(target, &closing);
	if (two)
		copy = next2 ? next2(fd, target) : raw_dup3(fd, target, 0);
	else
		copy = next3 ? next3(fd, target, flags) : raw_dup3(fd, target, flags);
	if (copy >= 0)
		hooks_close_end(target, &closing, false);
	else if (closing.tracked)
		fd_table_add(target);
	return note_duplicate(fd, copy);
}

EXPORT int dup2(int fd, int target)
{
	__typeof__(&dup2) next = LIBC(dup2);

	if (fd != target)
		return duplicate_onto(fd, target, 0, true);
	if (next)
		return next(fd, target);
	/* dup3() refuses that. */
	return syscall(SYS_fcntl, fd, F_GETFD) < 0 ? -1 : fd;
}

EXPORT int dup3(int fd, int target, int flags)
{
	__typeof__(&dup3) next = LIBC(dup3);

	if (fd == target)
		return next ? next(fd, target, flags) : raw_dup3(fd, target, flags);
	return duplicate_onto(fd, target, flags, false);
}

EXPORT int fcntl(int fd, int command, ...)
{
	__typeof__(&fcntl) next = LIBC(fcntl);
	va_list arguments;
	void *argument;
	int result;

	va_start(arguments, command);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	result =
		next ? next(fd, command, argument) : (int)syscall(SYS_fcntl, fd, command, argument);
	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		note_duplicate(fd, result);
	return result;
}
/* New in glibc 2.28, for programs built with 64-bit offsets. */
EXPORT_ALIAS(fcntl64, fcntl)
