/* PURE. The fast checksum of a chunk (XXH3, 64 bits): finds what goes wrong by accident, at the
 * speed of memory. Not an identity: that is the digest. The only user of libxxhash. */
#ifndef CHECKSUM_H
#define CHECKSUM_H

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

#endif
