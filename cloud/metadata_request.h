/* PRIVATE. Sends a request to a metadata service and converts the reply. Blocks. */
#ifndef CLOUD_METADATA_REQUEST_H
#define CLOUD_METADATA_REQUEST_H

#include "reply.h"

#include "base/instance_metadata.h"

/* instance_metadata_get(); `reply` borrows from the client until its next request. */
int metadata_request_get(struct instance_metadata *client, const char *path, struct reply *reply,
			 struct cancel *cancel, struct err *err);

/* Opens `client` and sends one GET: a probe. False: no reply. The caller closes the client. */
bool metadata_request_once(struct instance_metadata *client, enum metadata_service service,
			   const char *endpoint, const char *path, int64_t timeout_ms,
			   struct reply *reply, struct cancel *cancel);

/* The last reply. */
void metadata_request_reply(const struct instance_metadata *client, struct reply *reply);

#endif
