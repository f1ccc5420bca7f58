/*
 * Writable shared mappings of tracked files: stores go on after the descriptor is closed, until the
 * last part of a mapping is taken away. At most MAPPING_TABLE_MOST parts; what does not fit is not
 * tracked. Does not allocate.
 */
#ifndef MAPPING_TABLE_H
#define MAPPING_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define MAPPING_TABLE_MOST 256
#define MAPPING_NONE (-1)

extern _Atomic int mapping_table_count; /* parts: 0 keeps munmap() cheap */

/* The number of a new mapping, lower than MAPPING_TABLE_MOST and unique among those that there are;
 * MAPPING_NONE when the table is full. */
int mapping_table_add(const void *start, size_t length);

/* Nothing is mapped there any more. Returns a mapping that is gone by that, MAPPING_NONE when there
 * is none; call it until then. */
int mapping_table_remove(const void *start, size_t length);

/* It has moved as a whole, or changed its length. False when none begins there. */
bool mapping_table_move(const void *from, const void *to, size_t length);

void mapping_table_clear(void);

#endif
