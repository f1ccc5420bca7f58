#include "chunk.h"

#include "base/text.h"
#include "weights.h"

#include <lz4.h>
#include <string.h>

#define SAMPLE_SIZE ((size_t)64 << 10)

static const char *const codec_names[] = {
	[CHUNK_RAW] = "raw",   [CHUNK_LZ4] = "lz4",   [CHUNK_ZERO] = "zero",
	[CHUNK_BF16] = "bf16", [CHUNK_FP32] = "fp32",
};

const char *chunk_codec_name(enum chunk_codec codec)
{
	return codec_names[codec];
}

bool chunk_codec_parse(const char *name, enum chunk_codec *codec)
{
	for (size_t i = 0; i < sizeof(codec_names) / sizeof(codec_names[0]); i++) {
		if (!text_equal(name, codec_names[i]))
			continue;
		*codec = (enum chunk_codec)i;
		return true;
	}
	return false;
}

size_t chunk_count(uint64_t file_size)
{
	return (size_t)(file_size / CHUNK_SIZE + (file_size % CHUNK_SIZE != 0));
}

size_t chunk_length(uint64_t file_size, size_t number)
{
	uint64_t left = file_size - (uint64_t)number * CHUNK_SIZE;

	return left < CHUNK_SIZE ? (size_t)left : CHUNK_SIZE;
}

bool chunk_is_zero(const void *data, size_t size)
{
	const uint8_t *bytes = data;

	/* The first byte is zero and each byte equals the next: memcmp checks that at memory
	 * speed. */
	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static size_t compressed_within(const uint8_t *data, size_t size, void *target)
{
	size_t most = size - size / 16;
	int got = LZ4_compress_default((const char *)data, target, (int)size, (int)most);

	return got > 0 ? (size_t)got : 0;
}

size_t chunk_compress(const void *data, size_t size, void *target)
{
	const uint8_t *bytes = data;

	if (size < 32)
		return 0;
	if (size > 4 * SAMPLE_SIZE &&
	    compressed_within(bytes + size / 2 - SAMPLE_SIZE / 2, SAMPLE_SIZE, target) == 0)
		return 0;
	return compressed_within(bytes, size, target);
}

size_t chunk_compress_weights(const void *data, size_t size, void *target, enum chunk_codec *codec)
{
	enum weights_width width = weights_detect(data, size, target);

	if (width == WEIGHTS_NONE)
		return 0;
	*codec = width == WEIGHTS_BF16 ? CHUNK_BF16 : CHUNK_FP32;
	return weights_pack(width, data, size, target);
}

int chunk_decompress(enum chunk_codec codec, const void *payload, size_t stored, void *space,
		     size_t raw_size, const uint8_t **raw, struct err *err)
{
	int got;

	switch (codec) {
	case CHUNK_RAW:
		*raw = payload;
		if (stored != raw_size)
			return err_set(err, ERR_CORRUPT, "%zu bytes instead of %zu", stored,
				       raw_size);
		return 0;
	case CHUNK_LZ4:
		*raw = space;
		got = LZ4_decompress_safe(payload, space, (int)stored, (int)raw_size);
		if (got < 0 || (size_t)got != raw_size)
			return err_set(err, ERR_CORRUPT, "cannot be decompressed");
		return 0;
	case CHUNK_BF16:
	case CHUNK_FP32:
		*raw = space;
		if (!weights_unpack(codec == CHUNK_BF16 ? WEIGHTS_BF16 : WEIGHTS_FP32, payload,
				    stored, space, raw_size))
			return err_set(err, ERR_CORRUPT, "cannot be decompressed");
		return 0;
	case CHUNK_ZERO:
		break;
	}
	return err_set(err, ERR_CORRUPT, "a zero chunk has no payload");
}

bool chunk_matches(const struct chunk *chunk, const void *raw, size_t raw_size)
{
	uint8_t found[DIGEST_SIZE];

	if (chunk->checksum != CHECKSUM_NONE && checksum_bytes(raw, raw_size) == chunk->checksum)
		return true;
	digest_sha256(raw, raw_size, found);
	return memcmp(found, chunk->digest, DIGEST_SIZE) == 0;
}

int chunk_unpack(enum chunk_codec codec, const uint8_t digest[DIGEST_SIZE], const void *payload,
		 size_t stored, void *space, size_t raw_size, const uint8_t **raw, struct err *err)
{
	uint8_t found[DIGEST_SIZE];

	if (chunk_decompress(codec, payload, stored, space, raw_size, raw, err) < 0)
		return -1;
	digest_sha256(*raw, raw_size, found);
	if (memcmp(found, digest, DIGEST_SIZE) != 0)
		return err_set(err, ERR_CORRUPT, "the digest does not match");
	return 0;
}
