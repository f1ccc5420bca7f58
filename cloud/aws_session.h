/* PRIVATE. A way in to EC2's metadata service: the token, by the table of aws_access_decide(), and
 * a GET with it. For one thread. */
#ifndef CLOUD_AWS_SESSION_H
#define CLOUD_AWS_SESSION_H

#include "aws_reply.h"

#include "base/http.h"

struct watcher;

struct aws_session {
	struct watcher *watcher;
	struct http *http;
	struct http_response response;
	char endpoint[160];
	int64_t timeout_ms;
	bool has_token;
	char token_header[AWS_TOKEN_MOST + 32];
	int64_t refresh_ms; /* monotonic: when to ask for the next token */
};

#define AWS_TOKEN_PATH "/latest/api/token"

/* To be closed. */
int aws_session_init(struct aws_session *session, struct watcher *watcher, struct err *err);
void aws_session_release(struct aws_session *session);

/* Finds the way in. Blocks for two time-outs at most. */
enum aws_access aws_session_open(struct aws_session *session);

/*
 * A GET, with the token where there is one: renewed ahead of time, and once more with one retry
 * when it is refused. `answer` is good until the next one. The error kinds are http_perform()'s,
 * and ERR_RETRY for a token that is refused and not given anew.
 */
int aws_session_get(struct aws_session *session, const char *path, struct reply *reply,
		    struct err *err);

#endif
