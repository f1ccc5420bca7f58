/*
 * Writable shared mappings of tracked files: stores go on after the descriptor is closed, until the last part of a mapping is taken
 * away. At most MAPPED_MOST parts; what does not fit is not tracked. Does not allocate.
 */
#ifndef MAPPING_TABLE_H
#define MAPPING_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define MAPPED_MOST 256
#define MAPPED_NONE (-1)

extern _Atomic int mapped_count; /* parts: 0 keeps munmap() cheap */

/* The number of a new mapping, lower than MAPPED_MOST and unique among those that there are; MAPPED_NONE when the table is full. */
int mapped_add(const void *start, size_t length);

/* Nothing is mapped there any more. Returns a mapping that is gone by that, MAPPED_NONE when there is none; call it until then. */
int mapped_remove(const void *start, size_t length);

/* It has moved as a whole, or changed its length. False when none begins there. */
bool mapped_move(const void *from, const void *to, size_t length);

void mapped_clear(void);

#endif
