/* Interposed functions that map files: a file may be written through memory (numpy.memmap, LMDB,
 * Arrow). A mapping counts as one more descriptor of its file. */
#include "hooks.h"

#include "channel_writer.h"
#include "fd_table.h"
#include "libc_symbols.h"
#include "mapping_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Uses only symbols that are known already: allocators call these before the first constructor, and
 * dlsym() itself may allocate. */
#define LIBC_KNOWN(name) ((__typeof__(&name))libc_symbol_known(LIBC_##name))

static void close_mappings(const void *start, size_t length)
{
	int saved = errno, number;

	if (atomic_load_explicit(&mapping_table_count, memory_order_relaxed) > 0 && channel_ready())
		while ((number = mapping_table_remove(start, length)) != MAPPING_NONE)
			channel_send(SHIM_CLOSED, SHIM_MAPPING_FIRST + number, 0, NULL, NULL);
	errno = saved;
}

static __attribute__((noinline)) void report_mapping(void *start, size_t length, int fd)
{
	struct resolved_path resolved_path;
	int saved = errno, number;

	if (channel_ready()) {
		path_resolve_fd(channel_header(), fd, AT_FDCWD, NULL, &resolved_path);
		number = resolved_path.inside ? mapping_table_add(start, length) : MAPPING_NONE;
		if (number != MAPPING_NONE)
			channel_send(SHIM_DUPLICATED, SHIM_MAPPING_FIRST + number,
				     resolved_path.flags & SHIM_FLAG_DELETED, &resolved_path, NULL);
	}
	errno = saved;
}

static void *after_mmap(void *result, size_t length, int protection, int flags, int fd)
{
	if (__builtin_expect(result == MAP_FAILED, 0))
		return result;
	if (flags & MAP_FIXED)
		close_mappings(result, length);
	/* MAP_SHARED_VALIDATE includes this bit. */
	if ((flags & MAP_SHARED) && (protection & PROT_WRITE) && fd_table_has(fd))
		report_mapping(result, length, fd);
	return result;
}

EXPORT void *mmap(void *hint, size_t length, int protection, int flags, int fd, off_t offset)
{
	__typeof__(&mmap) next = LIBC_KNOWN(mmap);

	return after_mmap(next ? next(hint, length, protection, flags, fd, offset)
			       : (void *)syscall(SYS_mmap, hint, length, protection, flags, fd,
						 offset),
			  length, protection, flags, fd);
}
EXPORT_ALIAS(mmap64, mmap)

EXPORT int munmap(void *start, size_t length)
{
	__typeof__(&munmap) next = LIBC_KNOWN(munmap);
	int result;

	/* Before the call: afterwards another mapping may be there. */
	close_mappings(start, length);
	result = next ? next(start, length) : (int)syscall(SYS_munmap, start, length);
	return result;
}

EXPORT void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	__typeof__(&mremap) next = LIBC_KNOWN(mremap);
	void *hint = NULL, *result;

	if (flags & MREMAP_FIXED) {
		va_list arguments;

		va_start(arguments, flags);
		hint = va_arg(arguments, void *);
		va_end(arguments);
		close_mappings(hint, length);
	}
	result = next ? next(old, old_length, length, flags, hint)
		      : (void *)syscall(SYS_mremap, old, old_length, length, flags, hint);
	if (result != MAP_FAILED && old_length > 0 &&
	    atomic_load_explicit(&mapping_table_count, memory_order_relaxed) > 0 &&
	    channel_is_possible())
		mapping_table_move(old, result, length);
	return result;
}
