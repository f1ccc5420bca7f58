/*
 * The writable shared mappings of tracked files: writes through memory continue after the
 * descriptor is closed, until the last part of a mapping is removed. At most MAPPING_TABLE_MOST
 * parts; further ones are not tracked. Does not allocate.
 */
#ifndef MAPPING_TABLE_H
#define MAPPING_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define MAPPING_TABLE_MOST 256
#define MAPPING_NONE (-1)

extern _Atomic int mapping_table_count; /* number of parts; while it is 0, munmap() stays cheap */

/* Adds a mapping; returns its number, below MAPPING_TABLE_MOST and unique among the present ones.
 * MAPPING_NONE: the table is full. */
int mapping_table_add(const void *start, size_t length);

/* Removes the parts in this range. Returns a mapping that has no part left; call it again until it
 * returns MAPPING_NONE. */
int mapping_table_remove(const void *start, size_t length);

/* Records that a mapping has moved or changed its length. False: none begins at `from`. */
bool mapping_table_move(const void *from, const void *to, size_t length);

void mapping_table_clear(void);

#endif
