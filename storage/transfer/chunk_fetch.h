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

#endif
