#include "range_request.h"

#include "object_store.h"

#include <stdlib.h>
#include <string.h>

char *range_request_header(uint64_t offset, size_t size)
{
	if (size != STORE_TO_END)
		return text_format("bytes=%llu-%llu", (unsigned long long)offset,
				   (unsigned long long)(offset + size - 1));
	return offset ? text_format("bytes=%llu-", (unsigned long long)offset) : NULL;
}

/* "bytes 100-199/4096" */
static bool content_range_begins_at(const char *content_range, uint64_t offset)
{
	char digits[24];
	size_t length;
	uint64_t first;

	if (!content_range || !text_starts(content_range, "bytes "))
		return false;
	length = strcspn(content_range + 6, "-");
	if (length >= sizeof(digits))
		return false;
	memcpy(digits, content_range + 6, length);
	digits[length] = '\0';
	return text_to_u64(digits, UINT64_MAX, &first) && first == offset;
}

static int check_range(const struct http_response *response, uint64_t offset, size_t size,
		       struct err *err)
{
	if (offset == 0 && size == STORE_TO_END)
		return 0;
	if (response->status != 206)
		return err_set(err, ERR_FAILED,
			       "the answer is %d instead of 206: ranges are not "
			       "understood",
			       response->status);
	if (!content_range_begins_at(http_header(response, "Content-Range"), offset))
		return err_set(err, ERR_FAILED, "the answer is another range than asked for");
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
