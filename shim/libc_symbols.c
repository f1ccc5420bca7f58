#include "libc_symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

/*
 * glibc 2.34 moved dlsym from libdl to libc under a new version, and that alone would keep the shim from loading on anything
 * older. The old version is still there under the same name; on older systems it is found in libdl.so.2, which we link.
 */
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__LP64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#elif defined(__GLIBC__) && defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
__asm__(".symver dlsym,dlsym@GLIBC_2.17");
#endif

_Atomic uintptr_t real_table[REAL_COUNT];

#define REAL_NAME(name) #name,
static const char *const names[REAL_COUNT] = {REAL_LIST(REAL_NAME)};

/* initial-exec: the default model may allocate at the first use in a thread. volatile: dlsym is declared as a function that never
 * calls back into this file, so that the compiler would drop both stores. */
static __thread volatile bool finding __attribute__((tls_model("initial-exec")));

void *real_find(enum real_index index)
{
	int saved = errno;
	uintptr_t found = atomic_load(&real_table[index]);

	if (found == REAL_MISSING || finding)
		return NULL;
	finding = true;
	found = (uintptr_t)dlsym(RTLD_NEXT, names[index]);
	finding = false;
	atomic_store(&real_table[index], found ? found : REAL_MISSING);
	errno = saved;
	return (void *)found;
}

/* Early, because dlsym may not be called in a signal handler, and a hook may be. */
static void __attribute__((constructor(101))) find_all(void)
{
	for (int index = 0; index < REAL_COUNT; index++)
		real_find((enum real_index)index);
}
