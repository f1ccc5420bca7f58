/* PURE. SHA-256 of data in memory. Thread-safe. */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include "base/text.h"

#define DIGEST_SIZE 32

void digest_sha256(const void *data, size_t size, uint8_t digest[DIGEST_SIZE]);

/* PURE. Bytes as text, for JSON (RFC 4648). */

/* The caller frees. */
char *base64_encode(const void *data, size_t size);

/* False: `text` is not well-formed base64 with padding. Replaces `out`; a NUL follows the bytes and
 * is not counted. */
bool base64_decode(const char *text, struct bytes *out);

#endif
