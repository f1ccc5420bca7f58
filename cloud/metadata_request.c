#include "metadata_request.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum {
	REPLY_LIMIT = 64 * 1024,
	CONNECT_TIMEOUT_MS = 1000
};

int metadata_request_send(struct http *http, const struct metadata_request *fetch,
			  struct http_response *response, struct reply *reply,
			  struct cancel *cancel, struct err *err)
{
	auto_free char *url = text_format("%s%s", fetch->endpoint, fetch->path);
	const struct http_request request = {
		.method = fetch->method,
		.url = url,
		.headers = fetch->headers,
		.body = fetch->body,
		.body_size = fetch->body ? strlen(fetch->body) : 0,
		.no_proxy = true,
		.connect_timeout_ms = fetch->timeout_ms < CONNECT_TIMEOUT_MS ? fetch->timeout_ms
									     : CONNECT_TIMEOUT_MS,
		.timeout_ms = fetch->timeout_ms,
	};

	response->body.limit = REPLY_LIMIT;
	if (http_perform(http, &request, response, cancel, err) < 0)
		return -1;
	*reply = (struct reply){
		.status = response->status,
		.body = (const char *)response->body.data,
		.size = response->body.size,
		.flavor = http_header(response, "Metadata-Flavor"),
		.etag = http_header(response, "ETag"),
		.server = http_header(response, "Server"),
		.ttl = http_header(response, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds"),
		.arrived_ms = response->arrived_ms,
		.arrived_wall_ms = reply_wall_clock(http_header(response, "Date"), clock_wall_ms()),
	};
	return 0;
}

bool metadata_request_once(const struct metadata_request *fetch, struct http_response *response,
			   struct reply *reply, struct cancel *cancel)
{
	auto_(http_free) struct http *http = NULL;

	return http_new(&http, NULL) == 0 &&
	       metadata_request_send(http, fetch, response, reply, cancel, NULL) == 0;
}
