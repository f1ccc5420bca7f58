/* PRIVATE. A request to a metadata service, and its answer as the *_reply.c want it. Blocks. */
#ifndef CLOUD_METADATA_REQUEST_H
#define CLOUD_METADATA_REQUEST_H

#include "reply.h"

#include "base/instance_metadata.h"

/* instance_metadata_get(); `reply` borrows from the client until its next request. */
int metadata_request_get(struct instance_metadata *client, const char *path, struct reply *reply,
			 struct cancel *cancel, struct err *err);

/* The same with a client that it opens, for one request: a probe. False where there was no answer.
 * The caller closes the client. */
bool metadata_request_once(struct instance_metadata *client, enum metadata_service service,
			   const char *endpoint, const char *path, int64_t timeout_ms,
			   struct reply *reply, struct cancel *cancel);

/* What was answered last. */
void metadata_request_reply(const struct instance_metadata *client, struct reply *reply);

#endif
