/* PURE. Decides which neighbouring chunks of a pack are fetched by one request. */
#ifndef RANGE_COALESCE_H
#define RANGE_COALESCE_H

#include <stddef.h>
#include <stdint.h>

/* A range of bytes in a pack. */
struct pack_range {
	uint32_t pack, offset, size;
};

/* A gap of up to this many bytes is fetched and thrown away: that is cheaper than a second
 * request. */
#define RANGE_GAP_MOST ((uint32_t)128 << 10)

/*
 * How many of the `count` ranges, from the first on, one request covers; at least 1. They are in
 * one pack, with no gap above RANGE_GAP_MOST, and span at most `most` bytes. The ranges are sorted
 * by pack and offset; equal ones may repeat.
 */
size_t range_coalesce_count(const struct pack_range *extents, size_t count, size_t most);

/* Bytes from the start of the first range to the end of the last. */
size_t range_coalesce_size(const struct pack_range *extents, size_t count);

#endif
