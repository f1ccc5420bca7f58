/* Reads chunks from their packs and checks their digests. One struct per thread: the buffers are
 * reused. */
#ifndef CHUNK_FETCH_H
#define CHUNK_FETCH_H

#include "job_transfer.h"

struct chunk_fetch {
	struct transfer *transfer;
	const struct manifest *manifest;
	struct bytes payload;
	uint8_t *space; /* CHUNK_SIZE */
	struct checksum_stream *checksum;
	uint64_t bytes_fetched;
	/* the pack in which a chunk did not match its digest, as the manifest names it; NULL: none
	 */
	const char *damaged;
};

/* `manifest` is borrowed. -1: no memory. chunk_fetch_release() may be called after a failure
 * too. */
int chunk_fetch_init(struct chunk_fetch *fetch, struct transfer *transfer,
		     const struct manifest *manifest, struct err *err);
void chunk_fetch_release(struct chunk_fetch *fetch);

/*
 * Fetches and unpacks one chunk, which may be a zero chunk, and checks its digest; blocks. *raw is
 * valid until the next call. A chunk that does not match is fetched once more, because a bit can
 * flip on the way. After that, ERR_CORRUPT names the pack and the offset in it; so it does for a
 * pack that is missing or too short.
 */
int chunk_fetch_one(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		    const uint8_t **raw, struct cancel *cancel, struct err *err);

/* Returns -1; a manifest names the pack of that key, so that a missing one is ERR_CORRUPT. */
int chunk_fetch_failed(const char *key, struct err *err);

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

struct streamed_chunk {
	const struct chunk *chunk;
	size_t raw_size;
	/* Set: all of it was handed on, and is what the manifest says. */
	bool good;
};

struct chunk_writer {
	/* Raw bytes of chunk `number` from `at` on, in order; they may begin again from 0. Until
	 * the chunk is good, what was handed on may be wrong. */
	int (*write)(void *arg, size_t number, size_t at, const void *data, size_t size,
		     struct err *err);
	void *arg;
};

/*
 * `chunks` are those wanted of the range, by offset; none is a zero chunk. What the range brings
 * and does not match is left to the caller, not good: chunk_fetch_one() looks again. ERR_CORRUPT:
 * the pack is missing or too short. Blocks.
 */
int chunk_stream_range(struct chunk_fetch *fetch, const struct pack_range *span,
		       struct streamed_chunk *chunks, size_t count,
		       const struct chunk_writer *writer, struct cancel *cancel, struct err *err);

#endif
