/* PRIVATE. One request to a metadata service, in the way that all of them want it: no proxy,
 * short, small. Blocks. */
#ifndef CLOUD_METADATA_REQUEST_H
#define CLOUD_METADATA_REQUEST_H

#include "reply.h"

#include "base/cancel.h"
#include "base/http.h"

#include <stdint.h>

struct metadata_request {
	const char *method; /* NULL: GET */
	const char *endpoint, *path;
	const char *const *headers; /* as in http.h */
	const char *body;           /* text; NULL: none */
	int64_t timeout_ms;
};

/* `answer` borrows from `response`. The error kinds are http_perform()'s. */
int metadata_request_send(struct http *http, const struct metadata_request *fetch,
			  struct http_response *response, struct reply *reply,
			  struct cancel *cancel, struct err *err);

/* The same with a handle of its own, for one request: a probe. False where there was no answer. */
bool metadata_request_once(const struct metadata_request *fetch, struct http_response *response,
			   struct reply *reply, struct cancel *cancel);

#endif
