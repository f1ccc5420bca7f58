/* What a webhook is told of a preemption and of how it ended. All but webhook_post() is PURE. */
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
	const char *outcome; /* outcome.h; NULL while it runs */
	int exit_code;
	const char *source, *reason; /* of the notice; NULL: there is none */
	double seconds_left;         /* to its deadline; negative: unknown */
	const char *durable;         /* "3-12, step 1200"; "" nothing */
	json_t *labels;              /* borrowed; may be NULL */
};

/* "digits: preemption notice from aws (spot interruption), 118 s left; durable: 3-12, step 1200".
 * The caller frees. */
char *notification_text(const struct notification *notification);

/*
 * The body of the POST; the caller frees. {"text": ...} alone for Slack's incoming webhooks
 * (https://hooks.slack.com/, or anything behind "slack:"; api.slack.com/messaging/webhooks), which
 * refuse what they do not know; else "text" and the facts beside it.
 */
char *notification_body(const char *url, const struct notification *notification);

/* The URL itself, without "slack:". */
const char *notification_url(const char *url);

/* Blocks, for some seconds at most. Anything but an answer of 2xx is ERR_FAILED; the sentence names
 * host and answer, never the path, which is a secret with most webhooks. */
int notification_post(const char *url, const char *body, struct cancel *cancel, struct err *err);

#endif
