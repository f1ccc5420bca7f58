/* PURE. Which chunks of one pack are fetched by one request. */
#ifndef RANGE_COALESCE_H
#define RANGE_COALESCE_H

#include <stddef.h>
#include <stdint.h>

/* Where something lies. */
struct pack_range {
	uint32_t pack, offset, size;
};

/* So much between two chunks is rather fetched and thrown away than asked around. */
#define RANGE_GAP_MOST ((uint32_t)128 << 10)

/*
 * How many of the first extents one request may bring, at least 1 of `count`: same pack, no larger
 * gap than that, not more than `most` bytes together. They are sorted by pack and offset; the same
 * place may come several times.
 */
size_t range_coalesce_count(const struct pack_range *extents, size_t count, size_t most);

/* Bytes from the start of the first to the end of the last of them. */
size_t range_coalesce_size(const struct pack_range *extents, size_t count);

#endif
