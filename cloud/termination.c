/* Alibaba and Tencent: a time under spot/termination-time, and 404 as long as there is none. */
#include "termination_reply.h"

#include "aws_reply.h"
#include "metadata_request.h"
#include "provider.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>

enum {
	/* Announced minutes ahead; the vendors ask for no more than that. */
	POLL_MS = 5000,
	RETRY_MS = 2000,
	TIMEOUT_MS = 2000,
};

struct session {
	struct watcher *watcher;
	const struct termination_form *form;
	const char *path;
	bool has_tokens; /* this cloud may ask for one */
	struct http *http;
	struct http_response response;
	char endpoint[160];
	char token_header[AWS_TOKEN_MOST + 40];
	bool is_known; /* the instance's id was answered: it is this cloud */
};

static int send_request(struct session *session, const char *method, const char *path,
			const char *header, struct reply *reply, struct err *err)
{
	const char *const headers[] = {header, NULL};
	const struct metadata_request fetch = {
		.method = method,
		.endpoint = session->endpoint,
		.path = path,
		.headers = headers,
		.timeout_ms = TIMEOUT_MS,
	};

	return metadata_request_send(session->http, &fetch, &session->response, reply,
				     watcher_cancel(session->watcher), err);
}

/* Alibaba's hardened mode is a mirror of IMDSv2. */
static bool renew_token(struct session *session)
{
	struct reply reply;
	char token[AWS_TOKEN_MOST];
	int64_t ttl;

	session->token_header[0] = '\0';
	if (send_request(session, "PUT", "/latest/api/token",
			 "X-aliyun-ecs-metadata-token-ttl-seconds: 21600", &reply, NULL) < 0 ||
	    !aws_token_reply(&reply, token, &ttl))
		return false;
	snprintf(session->token_header, sizeof(session->token_header),
		 "X-aliyun-ecs-metadata-token: %s", token);
	return true;
}

static int get_with_token(struct session *session, const char *path, struct reply *reply,
			  struct err *err)
{
	for (int tries = 0;; tries++) {
		const char *token = session->token_header[0] ? session->token_header : NULL;

		if (send_request(session, "GET", path, token, reply, err) < 0)
			return -1;
		if ((reply->status != 401 && reply->status != 403) || tries > 0 ||
		    !session->has_tokens)
			return 0;
		/* From here on the answer is gone: it was the response's. */
		if (!renew_token(session))
			return err_set(err, ERR_RETRY, "a token is asked for, and none is given");
	}
}

static bool check_instance_id(struct session *session)
{
	struct reply reply;
	struct err err;

	if (get_with_token(session, "/latest/meta-data/instance-id", &reply, &err) < 0) {
		watcher_unknown(session->watcher, err.text);
		return false;
	}
	if (reply.status == 200 && !termination_instance_reply(session->form, &reply)) {
		watcher_unknown(session->watcher,
				"something else than this cloud's metadata service answers: name "
				"the right cloud with --notice");
		return false;
	}
	if (reply.status != 200) {
		struct verdict verdict;

		verdict_unexpected(&verdict, &reply);
		watcher_unknown(session->watcher, verdict.why);
		return false;
	}
	session->is_known = true;
	return true;
}

static void poll_termination(struct session *session)
{
	struct reply reply;
	struct verdict verdict;
	struct err err;

	if (!session->is_known && !check_instance_id(session))
		return;
	if (get_with_token(session, session->path, &reply, &err) < 0) {
		watcher_unknown(session->watcher, err.text);
		return;
	}
	termination_reply(session->form, &reply, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN) {
		watcher_unknown(session->watcher, verdict.why);
		return;
	}
	watcher_known(session->watcher);
	if (verdict.kind == VERDICT_POSITIVE)
		watcher_notice(session->watcher, &verdict.notice);
}

static void run_service(struct session *session)
{
	struct err err;

	if (http_new(&session->http, &err) < 0) {
		watcher_unavailable(session->watcher, err.text);
		return;
	}
	watcher_set_endpoint(session->watcher, session->endpoint);
	do
		poll_termination(session);
	while (watcher_sleep(session->watcher, session->is_known ? POLL_MS : RETRY_MS));
	http_response_release(&session->response);
	http_free(session->http);
}

static void run_alibaba(struct watcher *watcher)
{
	struct session session = {
		.watcher = watcher,
		.form = &termination_alibaba,
		.path = "/latest/meta-data/instance/spot/termination-time",
		.has_tokens = true,
	};

	detect_alibaba_endpoint(watcher_environment(watcher), session.endpoint,
				sizeof(session.endpoint));
	run_service(&session);
}

static void run_tencent(struct watcher *watcher)
{
	struct session session = {
		.watcher = watcher,
		.form = &termination_tencent,
		.path = "/latest/meta-data/spot/termination-time",
	};

	detect_tencent_endpoint(watcher_environment(watcher), session.endpoint,
				sizeof(session.endpoint));
	run_service(&session);
}

const struct provider provider_alibaba = {.name = "alibaba", .run = run_alibaba};
const struct provider provider_tencent = {.name = "tencent", .run = run_tencent};
