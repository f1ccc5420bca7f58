/* PURE. Which chunks of one pack are fetched by one request. */
#ifndef RANGE_COALESCE_H
#define RANGE_COALESCE_H

#include <stddef.h>
#include <stdint.h>

/* Where something lies. */
struct extent {
	uint32_t pack, offset, size;
};

/* So much between two chunks is rather fetched and thrown away than asked around. */
#define SPAN_GAP_MOST ((uint32_t)128 << 10)

/*
 * How many of the first extents one request may bring, at least 1 of `count`: same pack, no larger gap than that, not more than
 * `most` bytes together. They are sorted by pack and offset; the same place may come several times.
 */
size_t span_reach(const struct extent *extents, size_t count, size_t most);

/* Bytes from the start of the first to the end of the last of them. */
size_t span_size(const struct extent *extents, size_t count);

#endif
