/* PURE. Bytes that JSON cannot carry, as text (RFC 4648). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* The caller frees. */
char *base64_encode(const void *data, size_t size);

/* False for anything that is not well-formed base64 with padding. `out` is replaced; one NUL (not
 * counted) follows the bytes. */
bool base64_decode(const char *text, struct bytes *out);

#endif
