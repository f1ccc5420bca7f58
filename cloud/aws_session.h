/* PRIVATE. Access to EC2's metadata service, as aws_access_decide() chooses it. For one thread. */
#ifndef CLOUD_AWS_SESSION_H
#define CLOUD_AWS_SESSION_H

#include "reply.h"

struct watcher;

struct aws_session {
	struct watcher *watcher;
	struct instance_metadata client;
};

#define AWS_INSTANCE_PATH "/latest/meta-data/instance-id"

/* Release it, also after a failure. */
int aws_session_init(struct aws_session *session, struct watcher *watcher, struct err *err);
void aws_session_release(struct aws_session *session);

/* Finds out how to get access. Blocks for two time-outs at most. */
enum aws_access aws_session_open(struct aws_session *session);

/* metadata_request_get() under the watcher's cancel object. */
int aws_session_get(struct aws_session *session, const char *path, struct reply *reply,
		    struct err *err);

#endif
