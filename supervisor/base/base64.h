/* PURE. Bytes as text, for JSON (RFC 4648). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* The caller frees. */
char *base64_encode(const void *data, size_t size);

/* False: `text` is not well-formed base64 with padding. Replaces `out`; a NUL follows the bytes and
 * is not counted. */
bool base64_decode(const char *text, struct bytes *out);

#endif
