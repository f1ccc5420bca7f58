#include "crc32c.h"

#include "base/digest.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What the processors' instructions have in common: CRC_STATE is the type in which they hand the
 * checksum on. Clang's header for aarch64 has them only for a whole file. */
#if defined(__x86_64__)
#include <nmmintrin.h>
#define HAS_INSTRUCTION 1
#define BY_INSTRUCTION __attribute__((target("sse4.2")))
#define CRC_STATE uint64_t
#define CRC_OF_WORD(crc, word) _mm_crc32_u64(crc, word)
#define CRC_OF_BYTE(crc, byte) _mm_crc32_u8(crc, byte)
#elif defined(__aarch64__) && !defined(__clang__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define HAS_INSTRUCTION 1
#define BY_INSTRUCTION __attribute__((target("+crc")))
#define CRC_STATE uint32_t
#define CRC_OF_WORD(crc, word) __crc32cd(crc, word)
#define CRC_OF_BYTE(crc, byte) __crc32cb(crc, byte)
#else
#define HAS_INSTRUCTION 0
#endif

#define POLYNOMIAL 0x82f63b78u /* reflected */

/* What byte b contributes when no more bytes follow. */
static uint32_t crc_table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		crc_table[byte] = crc;
	}
}

#if HAS_INSTRUCTION
static bool processor_has_it(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("sse4.2");
#else
	return getauxval(AT_HWCAP) & HWCAP_CRC32;
#endif
}

BY_INSTRUCTION static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *data, size_t size)
{
	CRC_STATE state = crc;

	for (; size >= 8; data += 8, size -= 8) {
		uint64_t word;

		memcpy(&word, data, 8);
		state = CRC_OF_WORD(state, word);
	}
	crc = (uint32_t)state;
	while (size--)
		crc = CRC_OF_BYTE(crc, *data++);
	return crc;
}
#endif

uint32_t crc32c_by_table(const void *data, size_t size)
{
	uint32_t crc = ~0u;

	pthread_once(&table_once, make_table);
	for (const uint8_t *at = data; size > 0; at++, size--)
		crc = crc >> 8 ^ crc_table[(crc ^ *at) & 0xff];
	return ~crc;
}

uint32_t crc32c(const void *data, size_t size)
{
#if HAS_INSTRUCTION
	if (processor_has_it())
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
