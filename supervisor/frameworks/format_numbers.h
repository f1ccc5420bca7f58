/* PURE. Numbers in a file, which may be anything: nothing here wraps. */
#ifndef FORMAT_NUMBERS_H
#define FORMAT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t little_endian(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = count; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

static inline uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
