#include "aws_session.h"

#include "metadata_request.h"
#include "provider.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>

enum {
	/* After a token that was not given: not at each poll. */
	TOKEN_RETRY_MS = 30000,
};

#define INSTANCE_PATH "/latest/meta-data/instance-id"

static int send_request(struct aws_session *session, const char *method, const char *path,
			const char *header, struct reply *reply, struct err *err)
{
	const char *const headers[] = {header, NULL};
	const struct metadata_request fetch = {
		.method = method,
		.endpoint = session->endpoint,
		.path = path,
		.headers = headers,
		.timeout_ms = session->timeout_ms,
	};

	return metadata_request_send(session->http, &fetch, &session->response, reply,
				     watcher_cancel(session->watcher), err);
}

static struct aws_attempt attempt_from_reply(int result, const struct reply *reply,
					     const struct err *err)
{
	if (result < 0)
		return (struct aws_attempt){.timed_out = err->os == ETIMEDOUT};
	return (struct aws_attempt){.status = reply->status, .foreign = reply->flavor != NULL};
}

/* Fills `attempt`; keeps the new token where there is one. An old one stays
 * otherwise: it may still be good. */
static bool renew_token(struct aws_session *session, struct aws_attempt *attempt)
{
	struct reply reply;
	struct err err = {0};
	char token[AWS_TOKEN_MOST];
	int64_t ttl = 0;
	int asked = send_request(session, "PUT", AWS_TOKEN_PATH,
				 "X-aws-ec2-metadata-token-ttl-seconds: 21600", &reply, &err);

	*attempt = attempt_from_reply(asked, &reply, &err);
	/* On a failure: again in a while, not at each poll. */
	session->refresh_ms = clock_monotonic_ms() + TOKEN_RETRY_MS;
	if (asked < 0 || !aws_token_reply(&reply, token, &ttl))
		return false;
	attempt->shaped = true;
	session->has_token = true;
	snprintf(session->token_header, sizeof(session->token_header),
		 "X-aws-ec2-metadata-token: %s", token);
	/* At half-life: long before its end, and there is time for failures. */
	session->refresh_ms = reply.arrived_ms + ttl * 500;
	return true;
}

int aws_session_get(struct aws_session *session, const char *path, struct reply *reply,
		    struct err *err)
{
	struct aws_attempt attempt;
	const char *header;

	if (session->has_token && clock_left_ms(session->refresh_ms) == 0)
		renew_token(session, &attempt);
	header = session->has_token ? session->token_header : NULL;
	if (send_request(session, "GET", path, header, reply, err) < 0)
		return -1;
	if (reply->status != 401)
		return 0;
	if (!renew_token(session, &attempt))
		return err_set(err, ERR_RETRY,
			       "the token was refused (401), and no new one is given");
	return send_request(session, "GET", path, session->token_header, reply, err);
}

enum aws_access aws_session_open(struct aws_session *session)
{
	bool allowed = watcher_environment(session->watcher)->aws_tokenless_allowed;
	struct aws_attempt put, tokenless = {0};
	struct reply reply;
	struct err err = {0};

	session->has_token = false;
	if (!renew_token(session, &put) && put.status != 200) {
		int asked = send_request(session, "GET", INSTANCE_PATH, NULL, &reply, &err);

		tokenless = attempt_from_reply(asked, &reply, &err);
		tokenless.shaped = asked == 0 && aws_instance_reply(&reply);
	}
	return aws_access_decide(&put, &tokenless, allowed);
}

int aws_session_init(struct aws_session *session, struct watcher *watcher, struct err *err)
{
	const struct environment *environment = watcher_environment(watcher);

	*session =
		(struct aws_session){.watcher = watcher, .timeout_ms = environment->aws_timeout_ms};
	detect_aws_endpoint(environment, session->endpoint, sizeof(session->endpoint));
	return http_new(&session->http, err);
}

void aws_session_release(struct aws_session *session)
{
	http_response_release(&session->response);
	http_free(session->http);
}
