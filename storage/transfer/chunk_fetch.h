/* PRIVATE: reads chunks back from their packs and proves that they are the right ones. One per
 * thread: the buffers are reused. */
#ifndef CHUNK_FETCH_H
#define CHUNK_FETCH_H

#include "job_transfer.h"
#include "range_coalesce.h"

struct chunk_fetch {
	struct transfer *transfer;
	const struct manifest *manifest;
	struct bytes payload;
	uint8_t *space;        /* CHUNK_SIZE */
	struct pack_range at;  /* what the payload is; size 0: nothing */
	struct cancel *cancel; /* of the last chunk_fetch_range() */
	uint64_t bytes_fetched;
};

int chunk_fetch_init(struct chunk_fetch *fetch, struct transfer *transfer,
		     const struct manifest *manifest, struct err *err);
void chunk_fetch_release(struct chunk_fetch *fetch);

/* Gets a part of a pack, in one request, for the chunks in it that chunk_fetch_unpack() is then
 * called with. ERR_CORRUPT names the pack. */
int chunk_fetch_range(struct chunk_fetch *fetch, const struct pack_range *span,
		      struct cancel *cancel, struct err *err);
/*
 * *raw is valid until the next call. A chunk that does not fit its digest is fetched once more,
 * with chunk_fetch_range()'s cancel object, before it is called damaged: a bit can flip on the way.
 * Then ERR_CORRUPT names the pack and where in it.
 */
int chunk_fetch_unpack(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		       const uint8_t **raw, struct err *err);

/* One chunk, as both of them. *raw is valid until the next call; zero chunks work too. ERR_CORRUPT
 * names the pack and where in it. */
int chunk_fetch_one(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		    const uint8_t **raw, struct cancel *cancel, struct err *err);

#endif
