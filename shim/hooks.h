/*
 * What the interposed functions have in common. Each calls libc first and reports afterwards;
 * results and errno are libc's.
 *
 * This header comes before any other: with 64-bit offsets libc's headers would rename `open` to
 * `open64` under us, and with fortification they would define it.
 */
#ifndef HOOKS_H
#define HOOKS_H

#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include "path_resolve.h"

#include <stdbool.h>

/* All that the shim exports; the names are libc's. */
#define EXPORT __attribute__((visibility("default")))

/* A descriptor that is about to be closed. */
struct hooks_closing {
	bool tracked;
	struct resolved_path resolved_path;
};

/* fd as opened with `flags` (O_*); returns fd. `path` may be NULL where the caller has none. */
int hooks_opened(int fd, int flags, int directory_fd, const char *path);

/* `copy` refers to what `fd` refers to; returns copy. */
int hooks_duplicated(int fd, int copy);

/* Before and after closing fd. In between nothing else may be called: after the real close its
 * number may be another file's. `failed` when the application learns that content was lost. */
void hooks_close_begin(int fd, struct hooks_closing *closing);
void hooks_close_end(int fd, const struct hooks_closing *closing, bool failed);

#endif
