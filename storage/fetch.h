/* PRIVATE: reads a chunk back from its pack and proves that it is the right one. One per thread: the buffers are reused. */
#ifndef FETCH_H
#define FETCH_H

#include "record_store.h"

struct fetch {
	struct storage *storage;
	const struct manifest *manifest;
	struct bytes payload;
	uint8_t *space; /* CHUNK_SIZE */
	uint64_t bytes_fetched;
};

int fetch_init(struct fetch *fetch, struct storage *storage, const struct manifest *manifest,
	struct err *err);
void fetch_release(struct fetch *fetch);

/* *raw is valid until the next call; zero chunks work too. ERR_CORRUPT names the pack and where in it. */
int fetch_chunk(struct fetch *fetch, const struct chunk *chunk, size_t raw_size,
	const uint8_t **raw, struct cancel *cancel, struct err *err);

#endif
