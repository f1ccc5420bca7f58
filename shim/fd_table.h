/*
 * Which descriptors of this process are files below the checkpoint directory, open for writing. One bit each, so that the
 * question that every close() asks costs one load. Descriptors from TRACKED_MOST on are never tracked.
 *
 * Bits may be stale: a descriptor closed by a raw system call keeps its bit. Records carry the descriptor's number, so that
 * the next OPENED or CLOSED of that number puts it right.
 */
#ifndef FD_TABLE_H
#define FD_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>

#define TRACKED_MOST 65536
#define TRACKED_BITS 32

extern _Atomic unsigned tracked_words[TRACKED_MOST / TRACKED_BITS];

static inline bool tracked_has(int fd)
{
	if ((unsigned)fd >= TRACKED_MOST)
		return false;
	return atomic_load_explicit(&tracked_words[fd / TRACKED_BITS], memory_order_relaxed) >>
		       (fd % TRACKED_BITS) &
	       1;
}

/* False where the number is too high. */
bool tracked_add(int fd);

/* True for the one caller that took it out. */
bool tracked_remove(int fd);

/* The lowest tracked descriptor in [from, last], or -1. */
int tracked_next(unsigned from, unsigned last);

void tracked_clear(void);

#endif
