/* Interposed functions for streams and temporary files. fdopen() needs no hook: its descriptor is
 * tracked already, and fclose() reports it. */
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

/* Translates the part of a mode that raw_fopen() needs: reading or writing, and how the file is
 * made. */
static int flags_of_mode(const char *mode)
{
	int flags = mode[0] == 'r' ? 0 : mode[0] == 'w' ? O_CREAT | O_TRUNC : O_CREAT | O_APPEND;

	flags |= strchr(mode, '+') ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
	flags |= strchr(mode, 'x') ? O_EXCL : 0;
	return flags | (strchr(mode, 'e') ? O_CLOEXEC : 0);
}

static FILE *raw_fopen(const char *path, const char *mode)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags_of_mode(mode) | O_LARGEFILE, 0666);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, mode);

	if (fd >= 0 && !stream)
		syscall(SYS_close, fd);
	return stream;
}

static FILE *after_fopen(FILE *stream, const char *path, const char *mode)
{
	int saved = errno;

	if (stream && (mode[0] != 'r' || strchr(mode, '+')) && channel_is_possible())
		hooks_opened(fileno(stream), flags_of_mode(mode), AT_FDCWD, path);
	errno = saved;
	return stream;
}

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode)
{
	__typeof__(&fopen) next = LIBC(fopen);

	return after_fopen(next ? next(path, mode) : raw_fopen(path, mode), path, mode);
}
EXPORT_ALIAS(fopen64, fopen)

EXPORT FILE *freopen(const char *restrict path, const char *restrict mode, FILE *restrict stream)
{
	__typeof__(&freopen) next = LIBC(freopen);
	struct hooks_closing closing;
	int fd = fileno(stream);

	if (!next) {
		errno = EAGAIN;
		return NULL;
	}
	hooks_close_begin(fd, &closing);
	stream = next(path, mode, stream);
	/* freopen() closes the old file even if it cannot open the new one. */
	hooks_close_end(fd, &closing, false);
	return after_fopen(stream, path, mode);
}
EXPORT_ALIAS(freopen64, freopen)

static int next_fclose(FILE *stream)
{
	__typeof__(&fclose) next = LIBC(fclose);

	if (next)
		return next(stream);
	/* Reached only while dlsym() looks for fclose: flushes and closes, and leaks the stream's
	 * memory. */
	if (fflush(stream) != 0)
		return EOF;
	return (int)syscall(SYS_close, fileno(stream));
}

static __attribute__((noinline)) int fclose_tracked(FILE *stream, int fd)
{
	struct hooks_closing closing;
	int result;

	hooks_close_begin(fd, &closing);
	/* The stream remembers an earlier failed write; fclose() itself does not return it. */
	bool failed = closing.tracked && ferror(stream);
	result = next_fclose(stream);
	hooks_close_end(fd, &closing, failed || result != 0);
	return result;
}

EXPORT int fclose(FILE *stream)
{
	int saved = errno;
	int fd = fileno(stream);

	/* fileno() of a stream without a descriptor (fmemopen) has set errno. */
	errno = saved;
	return __builtin_expect(fd_table_has(fd), 0) ? fclose_tracked(stream, fd)
						     : next_fclose(stream);
}

static int after_mkstemp(int fd)
{
	return hooks_opened(fd, O_RDWR, AT_FDCWD, NULL);
}

static int fail_with_enosys(void)
{
	errno = ENOSYS;
	return -1;
}

#define EXPORT_MKSTEMP(name, parameters, arguments)                               \
	EXPORT int name parameters                                                \
	{                                                                         \
		__typeof__(&name) next = LIBC(name);                              \
                                                                                  \
		return next ? after_mkstemp(next arguments) : fail_with_enosys(); \
	}                                                                         \
	EXPORT_ALIAS(name##64, name)
EXPORT_MKSTEMP(mkstemp, (char *pattern), (pattern))
EXPORT_MKSTEMP(mkostemp, (char *pattern, int flags), (pattern, flags))
EXPORT_MKSTEMP(mkstemps, (char *pattern, int suffix), (pattern, suffix))
EXPORT_MKSTEMP(mkostemps, (char *pattern, int suffix, int flags), (pattern, suffix, flags))
