/* Interposed functions that rename, link and unlink files, and those that end a process without
 * running destructors. */
#include "hooks.h"

#include "channel_writer.h"
#include "fd_table.h"
#include "libc_symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Defined here even if this libc lacks it. */
int renameat2(int old_fd, const char *old, int new_fd, const char *new, unsigned flags);

static __attribute__((noinline)) void report_paths(enum shim_event event, int descriptor,
						   unsigned flags, int old_fd, const char *old,
						   int new_fd, const char *new)
{
	int saved = errno;

	if (channel_ready()) {
		struct resolved_path from, to;

		path_resolve_name(channel_header(), old_fd, old, &from);
		path_resolve_name(channel_header(), new_fd, new, &to);
		if (from.inside || to.inside)
			channel_send(event, descriptor, flags, &from, &to);
		else if (event == SHIM_RENAMED)
			saved_elsewhere_report(new_fd, new);
	}
	errno = saved;
}

static int after_rename(int result, int old_fd, const char *old, int new_fd, const char *new,
			unsigned flags)
{
	if (result == 0 && channel_is_possible())
		report_paths(SHIM_RENAMED, -1, flags & RENAME_EXCHANGE ? SHIM_FLAG_EXCHANGED : 0,
			     old_fd, old, new_fd, new);
	return result;
}

static int raw_renameat2(int old_fd, const char *old, int new_fd, const char *new, unsigned flags)
{
	/* Newer architectures lack SYS_renameat. */
	return (int)syscall(SYS_renameat2, old_fd, old, new_fd, new, flags);
}

EXPORT int rename(const char *old, const char *new)
{
	__typeof__(&rename) next = LIBC(rename);

	return after_rename(next ? next(old, new) : raw_renameat2(AT_FDCWD, old, AT_FDCWD, new, 0),
			    AT_FDCWD, old, AT_FDCWD, new, 0);
}

EXPORT int renameat(int old_fd, const char *old, int new_fd, const char *new)
{
	__typeof__(&renameat) next = LIBC(renameat);

	return after_rename(next ? next(old_fd, old, new_fd, new)
				 : raw_renameat2(old_fd, old, new_fd, new, 0),
			    old_fd, old, new_fd, new, 0);
}

EXPORT int renameat2(int old_fd, const char *old, int new_fd, const char *new, unsigned flags)
{
	return after_rename(raw_renameat2(old_fd, old, new_fd, new, flags), old_fd, old, new_fd,
			    new, flags);
}

/* The descriptor through which a nameless file is linked: linkat(fd, "", AT_EMPTY_PATH) or
 * linkat("/proc/self/fd/N"). -1: none. */
static int linked_descriptor(int old_fd, const char *old, int flags)
{
	const char *prefix = "/proc/self/fd/";
	int fd = 0;

	if ((flags & AT_EMPTY_PATH) && old && !*old)
		return old_fd;
	if (!(flags & AT_SYMLINK_FOLLOW) || !old || strncmp(old, prefix, strlen(prefix)) != 0)
		return -1;
	/* Not atoi(): with the headers of glibc 2.38 it needs a symbol of that version. */
	for (old += strlen(prefix); *old >= '0' && *old <= '9' && fd < FD_TABLE_MOST; old++)
		fd = 10 * fd + (*old - '0');
	return *old ? -1 : fd;
}

static int after_link(int result, int old_fd, const char *old, int new_fd, const char *new,
		      int flags)
{
	if (result == 0 && channel_is_possible()) {
		int fd = linked_descriptor(old_fd, old, flags);
		report_paths(SHIM_LINKED, fd, 0, old_fd, fd >= 0 ? NULL : old, new_fd, new);
	}
	return result;
}

EXPORT int link(const char *old, const char *new)
{
	__typeof__(&link) next = LIBC(link);
	int result =
		next ? next(old, new) : (int)syscall(SYS_linkat, AT_FDCWD, old, AT_FDCWD, new, 0);

	return after_link(result, AT_FDCWD, old, AT_FDCWD, new, 0);
}

EXPORT int linkat(int old_fd, const char *old, int new_fd, const char *new, int flags)
{
	__typeof__(&linkat) next = LIBC(linkat);
	int result = next ? next(old_fd, old, new_fd, new, flags)
			  : (int)syscall(SYS_linkat, old_fd, old, new_fd, new, flags);

	return after_link(result, old_fd, old, new_fd, new, flags);
}

static int after_unlink(int result, int directory_fd, const char *path)
{
	if (result == 0 && channel_is_possible())
		report_paths(SHIM_UNLINKED, -1, 0, directory_fd, path, AT_FDCWD, NULL);
	return result;
}

EXPORT int unlink(const char *path)
{
	__typeof__(&unlink) next = LIBC(unlink);

	return after_unlink(next ? next(path) : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0),
			    AT_FDCWD, path);
}

EXPORT int unlinkat(int directory_fd, const char *path, int flags)
{
	__typeof__(&unlinkat) next = LIBC(unlinkat);

	return after_unlink(next ? next(directory_fd, path, flags)
				 : (int)syscall(SYS_unlinkat, directory_fd, path, flags),
			    directory_fd, path);
}

/* Children of a forking pool end by _exit(). */
static void report_process_end(int code)
{
	if (atomic_load(&channel_state) == CHANNEL_ACTIVE)
		channel_send_exiting(code, fd_table_next(0, ~0u) >= 0 ? SHIM_FLAG_UNFLUSHED : 0);
}

#define EXPORT_EXIT(name)                                \
	EXPORT void name(int status)                     \
	{                                                \
		__typeof__(&name) next = LIBC(name);     \
                                                         \
		report_process_end(status);              \
		if (next)                                \
			next(status);                    \
		for (;;)                                 \
			syscall(SYS_exit_group, status); \
	}
EXPORT_EXIT(_exit)
EXPORT_EXIT(_Exit)
