/*
 * Records which descriptors of this process are files below the checkpoint directory, open for
 * writing. One bit each, so that the test in every close() costs one load. Descriptors from
 * FD_TABLE_MOST on are never tracked.
 *
 * A bit may be stale: a descriptor closed by a raw system call keeps it. Records carry the
 * descriptor's number, so the next OPENED or CLOSED of that number corrects it. No function here
 * blocks or allocates.
 */
#ifndef FD_TABLE_H
#define FD_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>

#define FD_TABLE_MOST 65536
#define FD_TABLE_WORD_BITS 32

extern _Atomic unsigned fd_table_words[FD_TABLE_MOST / FD_TABLE_WORD_BITS];

static inline bool fd_table_has(int fd)
{
	if ((unsigned)fd >= FD_TABLE_MOST)
		return false;
	return atomic_load_explicit(&fd_table_words[fd / FD_TABLE_WORD_BITS],
				    memory_order_relaxed) >>
		       (fd % FD_TABLE_WORD_BITS) &
	       1;
}

/* Sets the bit. False: the number is too high. */
bool fd_table_add(int fd);

/* A write to a tracked descriptor has failed, and content is missing. */
void fd_table_note_failure(int fd);
/* Has a write failed since the descriptor was added? */
bool fd_table_has_failed(int fd);

/* Clears the bit. True for the one caller that cleared it. */
bool fd_table_remove(int fd);

/* The lowest tracked descriptor in [from, last], or -1. */
int fd_table_next(unsigned from, unsigned last);

void fd_table_clear(void);

#endif
