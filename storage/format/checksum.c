#include "checksum.h"

#include "xxh3_code.h"

#include <stdio.h>
#include <stdlib.h>

const struct xxh3_code xxh3_library = XXH3_FUNCTIONS;

/* One content in 2^64 shares the checksum of another, so that none is CHECKSUM_NONE. */
static uint64_t known(uint64_t checksum)
{
	return checksum == CHECKSUM_NONE ? 1 : checksum;
}

uint64_t checksum_bytes(const void *data, size_t size)
{
	return known(xxh3_code()->bytes64(data, size));
}

static XXH3_state_t *state_of(const struct checksum_stream *stream)
{
	return (XXH3_state_t *)stream;
}

struct checksum_stream *checksum_stream_new(void)
{
	XXH3_state_t *state = xxh3_code()->new_state();

	if (!state) {
		fputs("reprieve: out of memory\n", stderr);
		abort();
	}
	return (struct checksum_stream *)state;
}

void checksum_stream_free(struct checksum_stream *stream)
{
	xxh3_code()->free_state(state_of(stream));
}

void checksum_stream_begin(struct checksum_stream *stream)
{
	xxh3_code()->begin64(state_of(stream));
}

void checksum_stream_add(struct checksum_stream *stream, const void *data, size_t size)
{
	xxh3_code()->add64(state_of(stream), data, size);
}

uint64_t checksum_stream_end(const struct checksum_stream *stream)
{
	return known(xxh3_code()->end64(state_of(stream)));
}

void fingerprint_stream_begin(struct checksum_stream *stream, uint64_t seed)
{
	xxh3_code()->begin128(state_of(stream), seed);
}

void fingerprint_stream_add(struct checksum_stream *stream, const void *data, size_t size)
{
	xxh3_code()->add128(state_of(stream), data, size);
}

struct fingerprint fingerprint_stream_end(const struct checksum_stream *stream)
{
	XXH128_hash_t hash = xxh3_code()->end128(state_of(stream));

	/* None is all zero. */
	return (struct fingerprint){.low = known(hash.low64), .high = hash.high64};
}

bool fingerprint_is_known(const struct fingerprint *fingerprint)
{
	return fingerprint->low != 0;
}

bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b)
{
	return a->low == b->low && a->high == b->high;
}
