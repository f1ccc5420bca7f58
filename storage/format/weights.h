/*
 * PURE. Compresses weights without loss. Byte by byte they look like noise, but of each number one
 * byte, its exponent, has only a few values that are frequent (as ZipNN has shown): the exponents
 * are taken out and go through an entropy coder, the rest is kept as it is. The only user of zstd.
 *
 *	planes of the other bytes | odd bytes | coded exponents
 *
 * A number is rotated left by one bit first, so that its sign is not in the exponent's byte.
 */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a number; 0 is none. */
enum weights_width {
	WEIGHTS_NONE = 0,
	WEIGHTS_BF16 = 2,
	WEIGHTS_FP32 = 4,
};

/* Packs `size` bytes into `target`, which has room for as many. Returns the bytes written; 0: not
 * a sixteenth would be saved. `data` and `target` do not overlap. */
size_t weights_pack(enum weights_width width, const void *data, size_t size, void *target);

/* The width that saves more, by a sample of at most 64 KiB from the middle; 0: neither does.
 * `space` has room for the sample. */
enum weights_width weights_detect(const void *data, size_t size, void *space);

/* Unpacks exactly `raw_size` bytes. False: it was not packed so. Any bytes may be given. */
bool weights_unpack(enum weights_width width, const void *packed, size_t packed_size, void *raw,
		    size_t raw_size);

#endif
