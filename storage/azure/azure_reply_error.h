/* PURE. What an answer of Azure Blob Storage means. */
#ifndef AZURE_REPLY_ERROR_H
#define AZURE_REPLY_ERROR_H

#include "base/err.h"
#include "storage/http/http.h"

#include <stdbool.h>
#include <stdint.h>

struct azure_reply {
	int status;
	const char *code;    /* x-ms-error-code, or <Code> of the body; "" where there is none */
	const char *message; /* first line of <Message>, or "" */
	bool if_absent;      /* asked with If-None-Match: * */
	bool bearer;         /* sent with a token that can be renewed */
	bool is_put;
	bool is_identified; /* has an x-ms-request-id, as all of the service's answers */
	/* the answer's Date minus the clock it was signed with; 0 where it has none */
	int64_t skew_ms;
};

/* Fills `err` for everything but CALL_DONE. A good status of somebody else's (a
 * login page's) is ERR_RETRY. */
enum call_verdict azure_reply_judge(const struct azure_reply *reply, struct err *err);

#endif
