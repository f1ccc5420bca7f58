/* Headers of an answer, and whether its body is the part that was asked for. Lines of "Name:
 * value", an empty one, the body. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "storage/backend/http_store.h"
#include "storage/backend/object_store.h"

#include <strings.h>

/* As the receiver keeps them (http.c): "name\0value\0". */
static void keep_field(struct bytes *fields, const char *line)
{
	const char *colon = strchr(line, ':'), *value;

	if (!colon)
		return;
	value = colon + 1 + strspn(colon + 1, " \t");
	bytes_append(fields, line, (size_t)(colon - line), NULL);
	bytes_append(fields, "", 1, NULL);
	bytes_append(fields, value, strlen(value) + 1, NULL);
	CHECK(fields->size > 0);
}

static void take_range(const uint8_t *data, size_t size, const struct http_response *from,
		       uint64_t offset, size_t wanted)
{
	auto_(http_response_release) struct http_response response = {.status = from->status};
	auto_free char *asked = range_request_header(offset, wanted);

	bytes_append(&response.fields, from->fields.data, from->fields.size, NULL);
	bytes_append(&response.body, data, size, NULL);
	if (range_request_check(&response, offset, wanted, NULL) < 0)
		return;
	CHECK(wanted == STORE_TO_END || size == wanted);
	CHECK(!asked || http_header(from, "content-range"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"content-range", "retry-after", "etag", "date", ""};
	auto_(http_response_release) struct http_response response = {.status = 206};

	while (size) {
		auto_free char *line = fuzz_line(&data, &size);

		if (!line[0])
			break;
		keep_field(&response.fields, line);
	}
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *value = http_header(&response, names[i]);
		const char *begin = (const char *)response.fields.data;

		CHECK(!value || (value > begin && value < begin + response.fields.size));
	}
	take_range(data, size, &response, 0, STORE_TO_END);
	take_range(data, size, &response, 100, STORE_TO_END);
	take_range(data, size, &response, 100, 4);
	return 0;
}
