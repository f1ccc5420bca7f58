/* PRIVATE. One request to a metadata service, in the way that all of them want it: no proxy, short, small. Blocks. */
#ifndef CLOUD_FETCH_H
#define CLOUD_FETCH_H

#include "reply.h"

#include "base/cancel.h"
#include "base/http.h"

#include <stdint.h>

struct fetch {
	const char *method; /* NULL: GET */
	const char *endpoint, *path;
	const char *const *headers; /* as in http.h */
	const char *body;           /* text; NULL: none */
	int64_t timeout_ms;
};

/* `answer` borrows from `response`. The error kinds are http_perform()'s. */
int fetch_answer(struct http *http, const struct fetch *fetch, struct http_response *response,
	struct answer *answer, struct cancel *cancel, struct err *err);

/* The same with a handle of its own, for one request: a probe. False where there was no answer. */
bool fetch_once(const struct fetch *fetch, struct http_response *response, struct answer *answer,
	struct cancel *cancel);

#endif
