/*
 * Interposed functions that write. They report nothing by themselves: a write that fails for want
 * of space is remembered, and the close of its descriptor says that content is missing. A program
 * that catches the error goes on, and what it leaves behind looks like any other closed file.
 * Streams remember it by themselves (hooks_streams.c).
 */
#include "hooks.h"

#include "channel_writer.h"
#include "fd_table.h"
#include "libc_symbols.h"

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static bool loses_content(int error)
{
	return error == ENOSPC || error == EDQUOT || error == EIO || error == EFBIG;
}

static __attribute__((noinline)) void note_failure(int fd)
{
	int saved = errno;

	/* A child of vfork() shares this memory, and channel_ready() is false there. */
	if (loses_content(saved) && fd_table_has(fd) && channel_ready())
		fd_table_note_failure(fd);
	errno = saved;
}

static inline ssize_t after_write(int fd, ssize_t written)
{
	if (__builtin_expect(written < 0, 0))
		note_failure(fd);
	return written;
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
	__typeof__(&write) next = LIBC(write);

	return after_write(fd, next ? next(fd, data, size)
				    : (ssize_t)syscall(SYS_write, fd, data, size));
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	__typeof__(&writev) next = LIBC(writev);

	return after_write(fd, next ? next(fd, parts, count)
				    : (ssize_t)syscall(SYS_writev, fd, parts, count));
}

/* Those with an offset are not called while their own symbols are looked up, and the system calls
 * differ between machines. */
static ssize_t fail_with_enosys(void)
{
	errno = ENOSYS;
	return -1;
}

EXPORT ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	__typeof__(&pwrite) next = LIBC(pwrite);

	return after_write(fd, next ? next(fd, data, size, offset) : fail_with_enosys());
}
EXPORT_ALIAS(pwrite64, pwrite)

/* shutil.copyfile() of Python. */
EXPORT ssize_t sendfile(int fd, int from, off_t *offset, size_t size)
{
	__typeof__(&sendfile) next = LIBC(sendfile);

	return after_write(fd, next ? next(fd, from, offset, size) : fail_with_enosys());
}
EXPORT_ALIAS(sendfile64, sendfile)
