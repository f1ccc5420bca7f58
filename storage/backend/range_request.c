#include "range_request.h"

#include "object_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *range_request_header(uint64_t offset, size_t size)
{
	if (size != STORE_TO_END)
		return text_format("bytes=%llu-%llu", (unsigned long long)offset,
				   (unsigned long long)(offset + size - 1));
	return offset ? text_format("bytes=%llu-", (unsigned long long)offset) : NULL;
}

/* "bytes 100-199/4096": whether that is what was asked for, and what came. */
static bool content_range_fits(const char *content_range, uint64_t offset, size_t size)
{
	unsigned long long first, last;

	return content_range && sscanf(content_range, "bytes %llu-%llu", &first, &last) == 2 &&
	       first == offset && last >= first && last - first + 1 == size;
}

bool range_request_fits(const struct http_response *response, uint64_t offset, size_t size)
{
	return response->status == 206 &&
	       content_range_fits(http_header(response, "Content-Range"), offset, size);
}

static int check_range(const struct http_response *response, uint64_t offset, size_t size,
		       struct err *err)
{
	const char *range = http_header(response, "Content-Range");

	if (offset == 0 && size == STORE_TO_END)
		return 0;
	if (response->status != 206)
		return err_set(err, ERR_FAILED,
			       "the store answers a part with %d: it knows no ranges",
			       response->status);
	if (!content_range_fits(range, offset, response->body.size))
		return err_set(err, ERR_FAILED, "another part than was asked for: %.100s",
			       range ? range : "no Content-Range");
	if (size != STORE_TO_END && response->body.size < size)
		return err_set(err, ERR_CORRUPT, "too short: %zu bytes from %llu on, not %zu",
			       response->body.size, (unsigned long long)offset, size);
	if (size != STORE_TO_END && response->body.size > size)
		return err_set(err, ERR_FAILED, "the answer is longer than asked for");
	return 0;
}

int range_request_read(struct http_response *response, uint64_t offset, size_t size,
		       struct bytes *out, struct err *err)
{
	struct bytes *body = &response->body;
	size_t limit = out->limit;

	if (check_range(response, offset, size, err) < 0)
		return -1;
	if (out->size || out->data)
		return bytes_append(out, body->data, body->size, err);
	*out = *body;
	out->limit = limit;
	*body = (struct bytes){0};
	return 0;
}
