/* PURE. A piece of a file: hashed, compressed where it gains, and back. */
#ifndef CHUNK_H
#define CHUNK_H

#include "base/digest.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Chunks are cut at multiples of this from the start of each file; only the last
 * one of a file is shorter. */
#define CHUNK_SIZE ((size_t)4 << 20)

enum chunk_codec {
	CHUNK_RAW,
	CHUNK_LZ4,
	CHUNK_ZERO, /* nothing but zero bytes: not in any pack; becomes a hole */
};

/* What a chunk is and where it lies. A zero chunk uses `codec` alone. */
struct chunk {
	uint8_t digest[DIGEST_SIZE]; /* of the raw bytes */
	uint32_t pack;               /* which one: an index into the table of packs at hand */
	uint32_t offset, stored; /* where its payload lies in the pack, and how long it is there */
	enum chunk_codec codec;
};

const char *chunk_codec_name(enum chunk_codec codec);
bool chunk_codec_parse(const char *name, enum chunk_codec *codec);

size_t chunk_count(uint64_t file_size);
/* Raw bytes of the chunk with this number in a file of that size. */
size_t chunk_length(uint64_t file_size, size_t number);

bool chunk_is_zero(const void *data, size_t size);

/*
 * Bytes put into `target` (of at least `size` bytes), or 0 where compression does not gain a
 * sixteenth. A sample from the middle is tried first: weights do not compress, and finding that out
 * must cost next to nothing.
 */
size_t chunk_compress(const void *data, size_t size, void *target);

/*
 * Payload -> raw bytes, digest checked. *raw is `payload` itself for CHUNK_RAW (no copy), else
 * `space` (of raw_size bytes). ERR_CORRUPT if it cannot be decompressed, has another length or
 * another digest.
 */
int chunk_unpack(enum chunk_codec codec, const uint8_t digest[DIGEST_SIZE], const void *payload,
		 size_t stored, void *space, size_t raw_size, const uint8_t **raw, struct err *err);

#endif
