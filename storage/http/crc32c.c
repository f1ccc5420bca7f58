#include "crc32c.h"

#include "base/base64.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#define POLYNOMIAL 0x82f63b78u /* reflected */

/* "Slicing by 8": table[n][b] is what byte b contributes when n more bytes follow. */
static uint32_t crc_table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		crc_table[0][byte] = crc;
	}
	for (int slice = 1; slice < 8; slice++)
		for (int byte = 0; byte < 256; byte++)
			crc_table[slice][byte] = crc_table[slice - 1][byte] >> 8 ^
						 crc_table[0][crc_table[slice - 1][byte] & 0xff];
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *data, size_t size)
{
	pthread_once(&table_once, make_table);
	for (; size >= 8; data += 8, size -= 8) {
		uint32_t low = crc ^ ((uint32_t)data[0] | (uint32_t)data[1] << 8 |
				      (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24);

		crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^
		      crc_table[5][low >> 16 & 0xff] ^ crc_table[4][low >> 24] ^
		      crc_table[3][data[4]] ^ crc_table[2][data[5]] ^ crc_table[1][data[6]] ^
		      crc_table[0][data[7]];
	}
	while (size--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *data++) & 0xff];
	return crc;
}

#if defined(__x86_64__)
/* The instruction takes three cycles, and a new one can begin in each: three lanes of so many bytes
 * are worked on side by side. */
#define LANE ((size_t)4096)

/* lane_table[n][b] is what byte n of a checksum, b, becomes when a lane of zero bytes follows: so
 * the checksum of a lane is moved before that of the next. */
static uint32_t lane_table[4][256];
static pthread_once_t lane_once = PTHREAD_ONCE_INIT;

__attribute__((target("sse4.2"))) static uint32_t crc_of_lane_of_zeros(uint32_t crc)
{
	uint64_t wide = crc;

	for (size_t i = 0; i < LANE / 8; i++)
		wide = _mm_crc32_u64(wide, 0);
	return (uint32_t)wide;
}

/* It is linear: the bits of a checksum count each for itself. */
static void make_lane_table(void)
{
	uint32_t bits[32];

	for (int bit = 0; bit < 32; bit++)
		bits[bit] = crc_of_lane_of_zeros((uint32_t)1 << bit);
	for (int place = 0; place < 4; place++)
		for (int byte = 0; byte < 256; byte++)
			for (int bit = 0; bit < 8; bit++)
				if (byte >> bit & 1)
					lane_table[place][byte] ^= bits[8 * place + bit];
}

static uint32_t behind_lane(uint32_t crc)
{
	return lane_table[0][crc & 0xff] ^ lane_table[1][crc >> 8 & 0xff] ^
	       lane_table[2][crc >> 16 & 0xff] ^ lane_table[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t crc_of_three_lanes(uint32_t crc,
								     const uint8_t *data)
{
	uint64_t first = crc, second = 0, third = 0;

	for (const uint8_t *end = data + LANE; data < end; data += 8) {
		uint64_t words[3];

		memcpy(&words[0], data, 8);
		memcpy(&words[1], data + LANE, 8);
		memcpy(&words[2], data + 2 * LANE, 8);
		first = _mm_crc32_u64(first, words[0]);
		second = _mm_crc32_u64(second, words[1]);
		third = _mm_crc32_u64(third, words[2]);
	}
	return behind_lane(behind_lane((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
}

__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(
	uint32_t crc, const uint8_t *data, size_t size)
{
	uint64_t wide;

	if (size >= 3 * LANE)
		pthread_once(&lane_once, make_lane_table);
	for (; size >= 3 * LANE; data += 3 * LANE, size -= 3 * LANE)
		crc = crc_of_three_lanes(crc, data);
	wide = crc;
	for (; size >= 8; data += 8, size -= 8) {
		uint64_t word;

		memcpy(&word, data, 8);
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t)wide;
	while (size--)
		crc = _mm_crc32_u8(crc, *data++);
	return crc;
}
#endif

uint32_t crc32c_by_table(const void *data, size_t size)
{
	return ~crc_by_table(~0u, data, size);
}

uint32_t crc32c(const void *data, size_t size)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_by_instruction(~0u, data, size);
#endif
	return crc32c_by_table(data, size);
}

const char *crc32c_text(uint32_t crc, char text[CRC32C_TEXT])
{
	const uint8_t bytes[] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
				 (uint8_t)crc};
	char *encoded = base64_encode(bytes, sizeof(bytes));

	memcpy(text, encoded, CRC32C_TEXT);
	free(encoded);
	return text;
}
