/* PRIVATE. A way in to EC2's metadata service, as aws_access_decide() says. For one thread. */
#ifndef CLOUD_AWS_SESSION_H
#define CLOUD_AWS_SESSION_H

#include "aws_reply.h"
#include "metadata_request.h"

struct watcher;

struct aws_session {
	struct watcher *watcher;
	struct instance_metadata client;
};

#define AWS_INSTANCE_PATH "/latest/meta-data/instance-id"

/* To be released, also after a failure. */
int aws_session_init(struct aws_session *session, struct watcher *watcher, struct err *err);
void aws_session_release(struct aws_session *session);

/* Finds the way in. Blocks for two time-outs at most. */
enum aws_access aws_session_open(struct aws_session *session);

/* metadata_request_get(), until the watcher is stopped. */
int aws_session_get(struct aws_session *session, const char *path, struct reply *reply,
		    struct err *err);

#endif
