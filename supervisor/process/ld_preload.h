/* How the shim gets into the job: where its file is, and the new value of LD_PRELOAD. */
#ifndef LD_PRELOAD_H
#define LD_PRELOAD_H

#include "base/err.h"

/* Finds the shim: REPRIEVE_SHIM_PATH, beside this program, ../shim (build tree),
 * ../lib/reprieve, or the configured directory. ERR_NOT_FOUND lists these places. The caller
 * frees *path. */
int ld_preload_find(char **path, struct err *err);

/*
 * PURE. The new value of LD_PRELOAD: `existing` (NULL or "": unset) followed by the shim, because
 * allocators and sanitizers must be first. ERR_INVALID: the loader would split or expand the path.
 * The caller frees *value.
 */
int ld_preload_compose(const char *existing, const char *shim, char **value, struct err *err);

/*
 * PURE. The new value of ASAN_OPTIONS, with verify_asan_link_order=0. Without it, a program built
 * with AddressSanitizer ends at once if a preloaded library comes before its runtime; the shim is
 * harmless there. A value that the user has set is kept. The caller frees.
 */
char *ld_preload_sanitizer_options(const char *existing);

#endif
