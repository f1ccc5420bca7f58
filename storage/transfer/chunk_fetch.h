/* Reads chunks from their packs and checks their digests. One struct per thread: the buffers are
 * reused. */
#ifndef CHUNK_FETCH_H
#define CHUNK_FETCH_H

#include "job_transfer.h"
#include "range_coalesce.h"

struct chunk_fetch {
	struct transfer *transfer;
	const struct manifest *manifest;
	struct bytes payload;
	uint8_t *space;        /* CHUNK_SIZE */
	struct pack_range at;  /* the range in `payload`; size 0: none */
	struct cancel *cancel; /* that of the last chunk_fetch_range() */
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

/* Reads a range of a pack in one request; blocks. chunk_fetch_unpack() then unpacks the chunks in
 * it. ERR_CORRUPT names a pack that is missing or too short. */
int chunk_fetch_range(struct chunk_fetch *fetch, const struct pack_range *span,
		      struct cancel *cancel, struct err *err);
/*
 * Unpacks one chunk of the range; *raw is valid until the next call. A chunk that does not match
 * its digest is fetched once more, under the cancel object of chunk_fetch_range(), because a bit
 * can flip on the way. After that, ERR_CORRUPT names the pack and the offset in it.
 */
int chunk_fetch_unpack(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		       const uint8_t **raw, struct err *err);

/* Fetches and unpacks one chunk, which may be a zero chunk. *raw is valid until the next call.
 * Errors as above. */
int chunk_fetch_one(struct chunk_fetch *fetch, const struct chunk *chunk, size_t raw_size,
		    const uint8_t **raw, struct cancel *cancel, struct err *err);

#endif
