/* PURE. The fast checksum of a chunk (XXH3, 64 bits): finds what goes wrong by accident, at the
 * speed of memory. Not an identity: that is the digest. And the fingerprint by which a process
 * knows again what it has read. Beside
 * xxh3_code.h, the only user of libxxhash. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stands for "not known" wherever a checksum is kept; no content has it. */
#define CHECKSUM_NONE 0

uint64_t checksum_bytes(const void *data, size_t size);

/* The same, of bytes that come in pieces. */
struct checksum_stream;
struct checksum_stream *checksum_stream_new(void);
void checksum_stream_free(struct checksum_stream *stream); /* NULL is fine */
void checksum_stream_begin(struct checksum_stream *stream);
void checksum_stream_add(struct checksum_stream *stream, const void *data, size_t size);
uint64_t checksum_stream_end(const struct checksum_stream *stream);

/* XXH3 of 128 bits, with a seed that only this process knows: so nobody can make two contents that
 * share one. For memory only. All zero: not known. */
struct fingerprint {
	uint64_t low, high;
};
/* A stream is for a checksum or a fingerprint at a time. */
void fingerprint_stream_begin(struct checksum_stream *stream, uint64_t seed);
void fingerprint_stream_add(struct checksum_stream *stream, const void *data, size_t size);
struct fingerprint fingerprint_stream_end(const struct checksum_stream *stream);
bool fingerprint_is_known(const struct fingerprint *fingerprint);
bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b);

#endif
