/*
 * Finds libc's own definition of each function that we interpose. Our constructor looks all of them
 * up; a call that comes before it looks up its own. The result is NULL if the lookup itself led to
 * the call (dlsym may allocate, and an allocator may open files) or if libc has no such function.
 * Then the hook makes the system call itself.
 */
#ifndef LIBC_SYMBOLS_H
#define LIBC_SYMBOLS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

// clang-format off
#define LIBC_SYMBOL_LIST(X) \
	X(open) X(openat) X(creat) X(__open_2) X(__openat_2) \
	X(fopen) X(freopen) X(fclose) X(mkstemp) X(mkostemp) X(mkstemps) X(mkostemps) \
	X(write) X(writev) X(pwrite) X(sendfile) \
	X(close) X(dup) X(dup2) X(dup3) X(fcntl) \
	X(rename) X(renameat) X(link) X(linkat) X(unlink) X(unlinkat) X(_exit) X(_Exit) \
	X(sigaction) X(signal) X(bsd_signal) X(ssignal) X(sysv_signal) X(__sysv_signal) X(sigset) \
	X(sigignore) X(siginterrupt) \
	X(mmap) X(munmap) X(mremap)
// clang-format on

#define LIBC_SYMBOL_INDEX(name) LIBC_##name,
enum libc_symbol {
	LIBC_SYMBOL_LIST(LIBC_SYMBOL_INDEX) LIBC_SYMBOL_COUNT
};
#undef LIBC_SYMBOL_INDEX

#define LIBC_SYMBOL_MISSING ((uintptr_t)1)

extern _Atomic uintptr_t libc_symbol_table[LIBC_SYMBOL_COUNT];

/* The function, looked up if need be; NULL: libc has none, or the lookup is under way. */
void *libc_symbol_find(enum libc_symbol index);

static inline void *libc_symbol_get(enum libc_symbol index)
{
	uintptr_t found = atomic_load_explicit(&libc_symbol_table[index], memory_order_relaxed);

	return __builtin_expect(found > LIBC_SYMBOL_MISSING, 1)
		       ? (void *)found
		       : libc_symbol_find(index);
}

/* The function if it was looked up before, else NULL. */
static inline void *libc_symbol_known(enum libc_symbol index)
{
	uintptr_t found = atomic_load_explicit(&libc_symbol_table[index], memory_order_relaxed);

	return found > LIBC_SYMBOL_MISSING ? (void *)found : NULL;
}

/* libc's function of that name, with its type. */
#define LIBC(name) ((__typeof__(&name))libc_symbol_get(LIBC_##name))

#endif
