/* PRIVATE. PURE. What Alibaba's and Tencent's metadata services answer under
 * spot/termination-time. */
#ifndef CLOUD_TERMINATION_REPLY_H
#define CLOUD_TERMINATION_REPLY_H

#include "reply.h"

enum {
	/* Alibaba announces 5 minutes ahead, Tencent 2. */
	TERMINATION_MOST_MS = 10 * 60 * 1000,
	TERMINATION_STALE_MS = 60 * 1000,
};

struct termination_form {
	const char *source;    /* "alibaba" */
	const char *id_prefix; /* of instance ids: "i-" */
	int64_t zone_ms;       /* what a time without a zone is ahead of UTC */
};
extern const struct termination_form termination_alibaba, termination_tencent;

/* instance-id: is it this cloud's? */
bool termination_instance_reply(const struct termination_form *form, const struct reply *reply);
/* A time is STOP at it; 404, and 200 without a body, are NEGATIVE. */
void termination_reply(const struct termination_form *form, const struct reply *reply,
		       struct verdict *verdict);

#endif
