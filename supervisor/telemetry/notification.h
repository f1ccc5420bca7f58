/* The text and the JSON of a webhook (--notify): a preemption, and how the run ended. PURE, except
 * for notification_post(). */
#ifndef NOTIFICATION_H
#define NOTIFICATION_H

#include "base/cancel.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>

struct notification {
	const char *event; /* "notice", "cancelled", "ended" */
	const char *job, *host;
	unsigned attempt;
	const char *outcome; /* outcome.h; NULL: the job is running */
	int exit_code;
	const char *source, *reason; /* of the notice; NULL: there is none */
	double seconds_left;         /* to its deadline; negative: unknown */
	const char *durable;         /* "3-12, step 1200"; "": nothing */
	json_t *labels;              /* borrowed; may be NULL */
};

/* "digits: preemption notice from aws (spot interruption), 118 s left; durable: 3-12, step 1200".
 * The caller frees. */
char *notification_text(const struct notification *notification);

/*
 * The body of the POST; the caller frees. For Slack's incoming webhooks (https://hooks.slack.com/,
 * or any URL after "slack:") it is {"text": ...} alone, because they reject unknown fields
 * (api.slack.com/messaging/webhooks). For others the facts stand beside "text".
 */
char *notification_body(const char *url, const struct notification *notification);

/* The URL without "slack:". Borrowed from `url`. */
const char *notification_url(const char *url);

/* "https://hooks.example.com" of "https://user:SECRET@hooks.example.com/services/SECRET". The
 * caller frees. */
char *notification_origin(const char *url);

/* Sends the body. Blocks for some seconds at most. ERR_FAILED: the status is not 2xx.
 * ERR_DENIED: its certificate is not trusted. Other kinds: no reply. The error names host and
 * status, never the path, which is a secret of most webhooks. */
int notification_post(const char *url, const char *body, struct cancel *cancel, struct err *err);

#endif
