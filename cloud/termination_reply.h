/* PRIVATE. PURE. Judges the replies of Alibaba's and Tencent's metadata services under
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
	const char *id_prefix; /* prefix of instance ids: "i-" */
	int64_t zone_ms;       /* how far a time without a zone is ahead of UTC */
};
extern const struct termination_form termination_alibaba, termination_tencent;

/* Whether instance-id is one of this cloud's. */
bool termination_instance_reply(const struct termination_form *form, const struct reply *reply);
/* 200 with a time: STOP at that time. 404 or an empty 200: NEGATIVE. */
void termination_reply(const struct termination_form *form, const struct reply *reply,
		       struct verdict *verdict);

#endif
