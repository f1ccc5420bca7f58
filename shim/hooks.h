/*
 * Shared by the interposed functions. Each one calls libc first and reports afterwards; results and
 * errno are libc's.
 *
 * Include this header before any other: with 64-bit offsets, libc's headers would rename `open` to
 * `open64`, and with fortification they would define it.
 */
#ifndef HOOKS_H
#define HOOKS_H

#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include "channel_writer.h"

#include <stdbool.h>

/* Marks what the shim exports: only functions with libc's names. */
#define EXPORT __attribute__((visibility("default")))
/* The name with 64: on a 64-bit machine, all that the shim is for, it is the same function. */
#define EXPORT_ALIAS(name, same) EXPORT __typeof__(same) name __attribute__((alias(#same)));
_Static_assert(sizeof(off_t) == 8, "only on 64-bit machines");

/* A descriptor that is about to be closed. */
struct hooks_closing {
	bool tracked, lost_content;
	struct resolved_path resolved_path;
};

/* Reports fd, opened with `flags` (O_*), if it is a tracked file; returns fd. `path` may be
 * NULL. */
int hooks_opened(int fd, int flags, int directory_fd, const char *path);

/* Call these before and after closing fd, with nothing in between: after the real close, the number
 * may belong to another file. `failed`: the application learns that content was lost. */
void hooks_close_begin(int fd, struct hooks_closing *closing);
void hooks_close_end(int fd, const struct hooks_closing *closing, bool failed);

#endif
