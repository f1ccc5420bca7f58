/* PURE. A chunk: a piece of a file, hashed, and compressed if that saves space. */
#ifndef CHUNK_H
#define CHUNK_H

#include "base/digest.h"
#include "base/err.h"
#include "checksum.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files are cut at multiples of this many bytes; only the last chunk of a file is shorter. */
#define CHUNK_SIZE ((size_t)4 << 20)

enum chunk_codec {
	CHUNK_RAW,
	CHUNK_LZ4,
	CHUNK_ZERO, /* nothing but zero bytes: in no pack, restored as a hole */
	CHUNK_BF16, /* weights.h */
	CHUNK_FP32,
};

/* What a chunk is and where it is stored. A zero chunk uses `codec` alone. */
struct chunk {
	uint8_t digest[DIGEST_SIZE]; /* of the raw bytes: what the chunk is */
	uint64_t checksum;           /* of the same; CHECKSUM_NONE: not known */
	uint64_t seen;               /* fingerprint.high, if this process has read them; else 0 */
	uint32_t pack;               /* position in the table of packs at hand */
	uint32_t offset, stored;     /* place and length of the payload in the pack */
	enum chunk_codec codec;
};

const char *chunk_codec_name(enum chunk_codec codec);
bool chunk_codec_parse(const char *name, enum chunk_codec *codec);

/* Number of chunks of a file of that size. */
size_t chunk_count(uint64_t file_size);
/* Raw bytes of chunk `number` (from 0) of a file of that size. */
size_t chunk_length(uint64_t file_size, size_t number);

bool chunk_is_zero(const void *data, size_t size);

/*
 * Compresses into `target` (room for `size` bytes). Returns the bytes written, or 0 if compression
 * saves less than a sixteenth. Tries a sample from the middle first: weights do not compress, and
 * finding that out must cost next to nothing.
 */
size_t chunk_compress(const void *data, size_t size, void *target);

/* The same for what that leaves as it is: weights, of which the exponents compress. *codec says
 * how, if it does not return 0. Costs more than reading and hashing the chunk. */
size_t chunk_compress_weights(const void *data, size_t size, void *target, enum chunk_codec *codec);

/* *raw is `payload` itself for CHUNK_RAW (no copy), else `space` (room for raw_size bytes).
 * ERR_CORRUPT: it cannot be decompressed, or its length is wrong. */
int chunk_decompress(enum chunk_codec codec, const void *payload, size_t stored, void *space,
		     size_t raw_size, const uint8_t **raw, struct err *err);

/* Whether these bytes are the chunk's: by the checksum, and by the digest where that is not known
 * or says no. Not for a zero chunk. */
bool chunk_matches(const struct chunk *chunk, const void *raw, size_t raw_size);

/* Decompresses, and checks the digest: ERR_CORRUPT too where that does not match. */
int chunk_unpack(enum chunk_codec codec, const uint8_t digest[DIGEST_SIZE], const void *payload,
		 size_t stored, void *space, size_t raw_size, const uint8_t **raw, struct err *err);

#endif
