/*
 * Finds writers that the shim does not report: static programs, raw system calls, processes without
 * LD_PRELOAD, and children that write through inherited descriptors. The kernel reports that a file
 * was written, but not by whom. So while a file is being written that no shim has reported, the
 * descriptors of our descendants are searched in /proc. The exit of every known writer is watched,
 * because only its exit status shows whether its files are whole.
 *
 * A writer that ends within milliseconds, before the search reaches it, stays unknown.
 */
#ifndef UNTRACKED_WRITERS_H
#define UNTRACKED_WRITERS_H

#include "base/loop.h"
#include "detector.h"

#include <stdint.h>
#include <sys/types.h>

struct untracked;

struct untracked_writers_options {
	struct loop *loop;
	const char *directory; /* canonical; borrowed */
	/* A process has a file of the directory open for writing. */
	void (*on_writer_seen)(void *arg, pid_t pid);
	/* A writer, found here or added, has ended. */
	void (*ended)(void *arg, pid_t pid, enum writer_end end);
	void *arg;
};

struct untracked *untracked_writers_new(const struct untracked_writers_options *options);
void untracked_writers_free(struct untracked *untracked);

/* Adds a writer that the shim reports. `ended` is called for it if the kernel lets us watch it. */
void untracked_writers_add(struct untracked *untracked, pid_t pid);

/* Call it while an unreported file is being written: searches /proc, at most every 100 ms and for
 * at most a twentieth of the time. */
void untracked_writers_scan(struct untracked *untracked, int64_t now_ms);
/* A save has begun, or an unknown process has a file open: the next untracked_writers_scan()
 * searches at once. */
void untracked_writers_scan_soon(struct untracked *untracked);

/* The kernel reported a close after a write. Notes which of the writers without the shim have
 * closed all their files themselves and are still running. */
void untracked_writers_file_closed(struct untracked *untracked);

/* False: nobody on this machine has one of `paths` (relative; NULL-terminated) open for writing.
 * If the file system does not tell that, only our descendants are searched. */
bool untracked_writers_may_hold(struct untracked *untracked, char *const *paths);

#endif
