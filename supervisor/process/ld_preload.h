/* How the shim gets into the job: where it is, and what LD_PRELOAD becomes. */
#ifndef LD_PRELOAD_H
#define LD_PRELOAD_H

#include "base/err.h"

/* Where the shim is: REPRIEVE_SHIM_PATH, beside this program or in ../shim (build tree),
 * ../lib/reprieve, the configured directory. ERR_NOT_FOUND names the places. The caller frees. */
int ld_preload_find(char **path, struct err *err);

/*
 * PURE. The new value of LD_PRELOAD: `existing` (NULL or "" where unset) with the shim behind it,
 * because allocators and sanitizers want to be first. ERR_INVALID for a path that the loader would
 * split or expand. The caller frees.
 */
int ld_preload_compose(const char *existing, const char *shim, char **value, struct err *err);

/*
 * PURE. The new value of ASAN_OPTIONS. A program built with AddressSanitizer ends at once when a
 * preloaded library comes before its runtime; the shim is harmless there, and this says so. A
 * user's own choice stays. The caller frees.
 */
char *ld_preload_sanitizer_options(const char *existing);

#endif
