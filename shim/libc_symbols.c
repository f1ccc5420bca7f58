#include "libc_symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

/*
 * glibc 2.34 moved dlsym from libdl to libc under a new symbol version, which alone would keep the
 * shim from loading on older systems. The old version still exists under the same name; older
 * systems have it in libdl.so.2, which we link.
 */
#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#endif

_Atomic uintptr_t libc_symbol_table[LIBC_SYMBOL_COUNT];

#define LIBC_SYMBOL_NAME(name) #name,
static const char *const symbol_names[LIBC_SYMBOL_COUNT] = {LIBC_SYMBOL_LIST(LIBC_SYMBOL_NAME)};

/*
 * initial-exec: the default TLS model may allocate at the first use in a thread. volatile: the
 * compiler assumes that dlsym never calls back into this file and would drop both stores.
 */
static __thread volatile bool lookup_running __attribute__((tls_model("initial-exec")));

void *libc_symbol_find(enum libc_symbol index)
{
	int saved = errno;
	uintptr_t found = atomic_load(&libc_symbol_table[index]);

	if (found == LIBC_SYMBOL_MISSING || lookup_running)
		return NULL;
	lookup_running = true;
	found = (uintptr_t)dlsym(RTLD_NEXT, symbol_names[index]);
	lookup_running = false;
	atomic_store(&libc_symbol_table[index], found ? found : LIBC_SYMBOL_MISSING);
	errno = saved;
	return (void *)found;
}

/* Runs early, because a hook may be called in a signal handler, where dlsym() is not allowed. */
static void __attribute__((constructor(101))) find_all_symbols(void)
{
	for (int index = 0; index < LIBC_SYMBOL_COUNT; index++)
		libc_symbol_find((enum libc_symbol)index);
}
