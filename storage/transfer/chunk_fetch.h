/* PRIVATE: reads chunks back from their packs and proves that they are the right ones. One per thread: the buffers are reused. */
#ifndef CHUNK_FETCH_H
#define CHUNK_FETCH_H

#include "job_transfer.h"
#include "range_coalesce.h"

struct fetch {
	struct transfer *transfer;
	const struct manifest *manifest;
	struct bytes payload;
	uint8_t *space;        /* CHUNK_SIZE */
	struct extent at;      /* what the payload is; size 0: nothing */
	struct cancel *cancel; /* of the last fetch_span() */
	uint64_t bytes_fetched;
};

int fetch_init(struct fetch *fetch, struct transfer *transfer, const struct manifest *manifest,
	struct err *err);
void fetch_release(struct fetch *fetch);

/* Gets a part of a pack, in one request, for the chunks in it that fetch_unpack() is then called with. ERR_CORRUPT names the pack. */
int fetch_span(
	struct fetch *fetch, const struct extent *span, struct cancel *cancel, struct err *err);
/*
 * *raw is valid until the next call. A chunk that does not fit its digest is fetched once more, with fetch_span()'s cancel object,
 * before it is called damaged: a bit can flip on the way. Then ERR_CORRUPT names the pack and where in it.
 */
int fetch_unpack(struct fetch *fetch, const struct chunk *chunk, size_t raw_size,
	const uint8_t **raw, struct err *err);

/* One chunk, as both of them. *raw is valid until the next call; zero chunks work too. ERR_CORRUPT names the pack and where in it. */
int fetch_chunk(struct fetch *fetch, const struct chunk *chunk, size_t raw_size,
	const uint8_t **raw, struct cancel *cancel, struct err *err);

#endif
