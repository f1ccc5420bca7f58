/* PURE. The fast checksum of a chunk (XXH3): finds what goes wrong by accident, at the speed of
 * memory. Not an identity: that is the digest. Beside xxh3_code.h, the only user of libxxhash. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stands for "not known" wherever a checksum is kept; no content has it. */
#define CHECKSUM_NONE 0

/* XXH3 of 128 bits. The low half is what a manifest keeps. By both a process knows again what it
 * has read. */
struct fingerprint {
	uint64_t low, high;
};

/* The low half. */
uint64_t checksum_bytes(const void *data, size_t size);

/* Of bytes that come in pieces. */
struct checksum_stream;
struct checksum_stream *checksum_stream_new(void);
void checksum_stream_free(struct checksum_stream *stream); /* NULL is fine */
void checksum_stream_begin(struct checksum_stream *stream);
void checksum_stream_add(struct checksum_stream *stream, const void *data, size_t size);
struct fingerprint checksum_stream_end(const struct checksum_stream *stream);

#endif
