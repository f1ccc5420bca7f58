/* PURE. Reading a part of an object over HTTP: what is asked for, and
 * whether the answer is that. */
#ifndef RANGE_REQUEST_H
#define RANGE_REQUEST_H

#include "base/err.h"
#include "base/http.h"
#include "base/text.h"

#include <stdint.h>

/* "bytes=0-99" for a header; NULL for the whole object, which is read without. `size` may be
 * STORE_TO_END, but not 0. The caller frees. */
char *range_request_header(uint64_t offset, size_t size);

/* Appends the answer's body to `out`, by handing over its memory where `out` is empty. ERR_CORRUPT
 * where it is shorter than asked for, ERR_FAILED where it is not that range. */
int range_request_read(struct http_response *response, uint64_t offset, size_t size,
		       struct bytes *out, struct err *err);

#endif
