#include "weights.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* Higher ones are no smaller: nothing but the frequencies can be used. */
#define LEVEL 1
#define SAMPLE_SIZE ((size_t)64 << 10)
#define NUMBERS_LEAST 64
/* Numbers at a time, so that planes and numbers stay in the fastest cache. */
#define BLOCK ((size_t)2048)

static uint32_t rotate_left(uint32_t word)
{
	return word << 1 | word >> 31;
}

static uint32_t rotate_right(uint32_t word)
{
	return word >> 1 | word << 31;
}

/* --- between numbers and planes --- */

/* Little-endian, as the files are: the order of the bytes in a word of this machine is no matter,
 * because words are put together from bytes. (Compilers make one load of that.) */
static uint32_t load_fp32(const uint8_t *from)
{
	return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static void store_fp32(uint8_t *to, uint32_t word)
{
	to[0] = (uint8_t)word;
	to[1] = (uint8_t)(word >> 8);
	to[2] = (uint8_t)(word >> 16);
	to[3] = (uint8_t)(word >> 24);
}

static void split_fp32(const uint8_t *restrict numbers, size_t count, uint8_t *restrict exponents,
		       uint8_t *restrict high, uint8_t *restrict middle, uint8_t *restrict low)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t word = rotate_left(load_fp32(numbers + 4 * i));

		exponents[i] = (uint8_t)(word >> 24);
		high[i] = (uint8_t)(word >> 16);
		middle[i] = (uint8_t)(word >> 8);
		low[i] = (uint8_t)word;
	}
}

static void join_fp32(uint8_t *restrict numbers, size_t count, const uint8_t *restrict exponents,
		      const uint8_t *restrict high, const uint8_t *restrict middle,
		      const uint8_t *restrict low)
{
	for (size_t i = 0; i < count; i++)
		store_fp32(numbers + 4 * i,
			   rotate_right((uint32_t)exponents[i] << 24 | (uint32_t)high[i] << 16 |
					(uint32_t)middle[i] << 8 | low[i]));
}

static void split_bf16(const uint8_t *restrict numbers, size_t count, uint8_t *restrict exponents,
		       uint8_t *restrict rest)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t low = numbers[2 * i], high = numbers[2 * i + 1];

		exponents[i] = (uint8_t)(high << 1 | low >> 7);
		rest[i] = (uint8_t)(low << 1 | high >> 7);
	}
}

static void join_bf16(uint8_t *restrict numbers, size_t count, const uint8_t *restrict exponents,
		      const uint8_t *restrict rest)
{
	for (size_t i = 0; i < count; i++) {
		numbers[2 * i] = (uint8_t)(exponents[i] << 7 | rest[i] >> 1);
		numbers[2 * i + 1] = (uint8_t)(rest[i] << 7 | exponents[i] >> 1);
	}
}

/* `rest` has width - 1 planes of `count` bytes; only the block from `at` on is done. */
static void split_block(enum weights_width width, const uint8_t *data, size_t count, size_t at,
			size_t block, uint8_t *exponents, uint8_t *rest)
{
	if (width == WEIGHTS_BF16)
		split_bf16(data + 2 * at, block, exponents, rest + at);
	else
		split_fp32(data + 4 * at, block, exponents, rest + at, rest + count + at,
			   rest + 2 * count + at);
}

static void join_block(enum weights_width width, uint8_t *data, size_t count, size_t at,
		       size_t block, const uint8_t *exponents, const uint8_t *rest)
{
	if (width == WEIGHTS_BF16)
		join_bf16(data + 2 * at, block, exponents, rest + at);
	else
		join_fp32(data + 4 * at, block, exponents, rest + at, rest + count + at,
			  rest + 2 * count + at);
}

static size_t block_size(size_t count, size_t at)
{
	return count - at < BLOCK ? count - at : BLOCK;
}

/* --- packing --- */

size_t weights_pack(enum weights_width width, const void *data, size_t size, void *target)
{
	size_t count = size / width, rest_size = size - count, numbers = count * width;
	auto_free uint8_t *exponents = malloc(count + 1);
	const uint8_t *bytes = data;
	uint8_t *packed = target;
	size_t coded;

	if (count < NUMBERS_LEAST || !exponents)
		return 0;
	for (size_t at = 0; at < count; at += BLOCK)
		split_block(width, bytes, count, at, block_size(count, at), exponents + at, packed);
	memcpy(packed + numbers - count, bytes + numbers, size - numbers);
	coded = ZSTD_compress(packed + rest_size, count - size / 16, exponents, count, LEVEL);
	return ZSTD_isError(coded) ? 0 : rest_size + coded;
}

/* The exponents lie at the end of `raw` first. They are read before numbers overwrite them, because
 * a number takes more bytes than its exponent. */
bool weights_unpack(enum weights_width width, const void *packed, size_t packed_size, void *raw,
		    size_t raw_size)
{
	size_t count = raw_size / width, rest_size = raw_size - count, numbers = count * width;
	const uint8_t *rest = packed;
	uint8_t *bytes = raw, *exponents = bytes + rest_size;

	if (count < NUMBERS_LEAST || packed_size <= rest_size ||
	    ZSTD_decompress(exponents, count, rest + rest_size, packed_size - rest_size) != count)
		return false;
	for (size_t at = 0; at < count; at += BLOCK) {
		size_t block = block_size(count, at);
		uint8_t some[BLOCK];

		memcpy(some, exponents + at, block);
		join_block(width, bytes, count, at, block, some, rest);
	}
	memcpy(bytes + numbers, rest + numbers - count, raw_size - numbers);
	return true;
}

enum weights_width weights_detect(const void *data, size_t size, void *space)
{
	static const enum weights_width widths[] = {WEIGHTS_BF16, WEIGHTS_FP32};
	size_t sample = size < SAMPLE_SIZE ? size : SAMPLE_SIZE, least = sample;
	/* Numbers begin at multiples of their size. */
	const uint8_t *from = (const uint8_t *)data + (size - sample) / 2 / 4 * 4;
	enum weights_width best = WEIGHTS_NONE;

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		size_t packed = weights_pack(widths[i], from, sample, space);

		if (packed && packed < least) {
			least = packed;
			best = widths[i];
		}
	}
	return best;
}
