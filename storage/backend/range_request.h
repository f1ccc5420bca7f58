/* PURE. Requests a part of an object over HTTP, and checks the reply. */
#ifndef RANGE_REQUEST_H
#define RANGE_REQUEST_H

#include "base/err.h"
#include "base/http.h"
#include "base/text.h"

#include <stdint.h>

/* The value of the Range header, "bytes=0-99"; NULL for the whole object. `size` may be
 * STORE_TO_END, but not 0. The caller frees. */
char *range_request_header(uint64_t offset, size_t size);

/* Whether a reply, of which the status and the fields are there, brings just that part. `size` is
 * not STORE_TO_END. */
bool range_request_fits(const struct http_response *response, uint64_t offset, size_t size);

/* Appends the body of the reply to `out`; if `out` is empty, it takes over the body's memory.
 * ERR_CORRUPT: shorter than requested. ERR_FAILED: another range. */
int range_request_read(struct http_response *response, uint64_t offset, size_t size,
		       struct bytes *out, struct err *err);

#endif
