/* One POST of JSON to a webhook, best effort. */
#ifndef WEBHOOK_H
#define WEBHOOK_H

#include "base/cancel.h"
#include "base/err.h"

/* Blocks, for some seconds at most. Anything but an answer of 2xx is ERR_FAILED; the sentence names
 * host and answer, never the path, which is a secret with most webhooks. */
int notification_post(const char *url, const char *body, struct cancel *cancel, struct err *err);

#endif
