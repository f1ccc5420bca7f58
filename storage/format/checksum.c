#include "checksum.h"

#include "xxh3_code.h"

#include <stdio.h>
#include <stdlib.h>

const struct xxh3_code xxh3_library = XXH3_FUNCTIONS;

/* One content in 2^64 shares a half with another, so that none is CHECKSUM_NONE. */
static struct fingerprint known(XXH128_hash_t hash)
{
	return (struct fingerprint){.low = hash.low64 ? hash.low64 : 1,
				    .high = hash.high64 ? hash.high64 : 1};
}

uint64_t checksum_bytes(const void *data, size_t size)
{
	return known(xxh3_code()->bytes(data, size)).low;
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
	xxh3_code()->begin(state_of(stream));
}

void checksum_stream_add(struct checksum_stream *stream, const void *data, size_t size)
{
	xxh3_code()->add(state_of(stream), data, size);
}

struct fingerprint checksum_stream_end(const struct checksum_stream *stream)
{
	return known(xxh3_code()->end(state_of(stream)));
}
