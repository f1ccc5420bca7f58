/*
 * Writers that the shim does not report on: static programs, raw system calls, processes without
 * LD_PRELOAD, forked ones that write through what they inherited. The kernel tells what is written,
 * not by whom. So while something is being written of which nobody has spoken, our descendants are
 * looked through for who holds it; and how a writer ends, seen this way or by the shim, is watched
 * for.
 *
 * One that writes and is gone before it can be looked for, some milliseconds, stays unknown.
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
	/* A process holds a file of the directory. */
	void (*on_writer_seen)(void *arg, pid_t pid);
	void (*ended)(void *arg, pid_t pid, enum writer_end end);
	void *arg;
};

struct untracked *untracked_writers_new(const struct untracked_writers_options *options);
void untracked_writers_free(struct untracked *untracked);

/* It writes and says so: its end will be told where that can be had. */
void untracked_writers_add(struct untracked *untracked, pid_t pid);

/* Something is being written, and nobody has said by whom: looks, but not all the time. */
void untracked_writers_scan(struct untracked *untracked, int64_t now_ms);
/* A save has begun, or somebody unknown holds a file: the next look is not put off, however long
 * the last one took. */
void untracked_writers_scan_soon(struct untracked *untracked);

/* A file that was written unseen has no writer any more, says the kernel. */
void untracked_writers_file_closed(struct untracked *untracked);

/* False when all of `paths` (relative; NULL-terminated) are held by nobody; where the file system
 * does not say, by none of ours. */
bool untracked_writers_may_hold(struct untracked *untracked, char *const *paths);

#endif
