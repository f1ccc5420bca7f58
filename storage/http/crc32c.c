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
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(
	uint32_t crc, const uint8_t *data, size_t size)
{
	uint64_t wide = crc;

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
