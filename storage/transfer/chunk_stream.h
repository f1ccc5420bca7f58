/* Fetches the chunks of a range of a pack and hands their bytes on while the range arrives: what is
 * stored as it is goes from the buffer of the connection to the file, and is checked on the way. */
#ifndef CHUNK_STREAM_H
#define CHUNK_STREAM_H

#include "chunk_fetch.h"

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
