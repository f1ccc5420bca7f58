/* PURE. What an answer of Google Cloud Storage's XML API means. */
#ifndef GCS_REPLY_H
#define GCS_REPLY_H

#include "base/err.h"
#include "storage/http/http.h"

#include <stdbool.h>
#include <stdint.h>

struct gcs_reply {
	int status;
	const char *code;    /* <Code> of the body; "" where there is none */
	const char *message; /* <Message>, or "" */
	bool if_absent;      /* asked with x-goog-if-generation-match: 0 */
	bool anonymous;      /* sent without a token: there is none to renew */
	bool is_get, is_put; /* of an object: a good answer has a generation or an ETag */
	bool is_tagged;      /* and this one has */
	bool is_empty;       /* without a body, as the answer to a put is */
	/* the answer's Date minus the clock it was sent with; 0 where it has none */
	int64_t skew_ms;
};

/* Fills `err` for everything but CALL_DONE. A good status of somebody else's (a
 * login page's) is ERR_RETRY. */
enum call_verdict gcs_reply_judge(const struct gcs_reply *reply, struct err *err);

#endif
