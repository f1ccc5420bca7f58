/* EC2: a token (IMDSv2), then spot/instance-action each second and the rebalance recommendation each fifth. */
#include "aws_reply.h"
#include "fetch.h"
#include "provider.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>

enum {
	POLL_MS = 1000,
	ADVICE_EVERY = 5,
	RETRY_MS = 1000,
	UNAVAILABLE_RETRY_MS = 30000,
	/* After so many unusable answers in a row the way in is found anew: the VM may have been restored elsewhere. */
	UNKNOWN_MOST = 30,
	PROBE_TIMEOUT_MS = 300,
};

#define TOKEN_PATH "/latest/api/token"
#define INSTANCE_PATH "/latest/meta-data/instance-id"
#define ACTION_PATH "/latest/meta-data/spot/instance-action"
#define REBALANCE_PATH "/latest/meta-data/events/recommendations/rebalance"

struct session {
	struct watcher *watcher;
	struct http *http;
	struct http_response response;
	char endpoint[160];
	int64_t timeout_ms;
	bool is_open, has_token;
	char token_header[AWS_TOKEN_MOST + 32];
	int64_t refresh_ms; /* monotonic: when to ask for the next token */
};

static int ask(struct session *session, const char *method, const char *path, const char *header,
	struct answer *answer, struct err *err)
{
	const char *const headers[] = {header, NULL};
	const struct fetch fetch = {
		.method = method,
		.endpoint = session->endpoint,
		.path = path,
		.headers = headers,
		.timeout_ms = session->timeout_ms,
	};

	return fetch_answer(session->http, &fetch, &session->response, answer,
		watcher_cancel(session->watcher), err);
}

static struct aws_attempt attempt_of(int result, const struct answer *answer, const struct err *err)
{
	if (result < 0)
		return (struct aws_attempt){.timed_out = err->os == ETIMEDOUT};
	return (struct aws_attempt){.status = answer->status, .foreign = answer->flavor != NULL};
}

/* Fills `attempt`; keeps the new token where there is one. An old one stays otherwise: it may still be good. */
static bool renew_token(struct session *session, struct aws_attempt *attempt)
{
	struct answer answer;
	struct err err = {0};
	char token[AWS_TOKEN_MOST];
	int64_t ttl = 0;
	int asked = ask(session, "PUT", TOKEN_PATH, "X-aws-ec2-metadata-token-ttl-seconds: 21600",
		&answer, &err);

	*attempt = attempt_of(asked, &answer, &err);
	/* On a failure: again in a while, not at each poll. */
	session->refresh_ms = clock_monotonic_ms() + UNAVAILABLE_RETRY_MS;
	if (asked < 0 || !aws_token_reply(&answer, token, &ttl))
		return false;
	attempt->shaped = true;
	session->has_token = true;
	snprintf(session->token_header, sizeof(session->token_header),
		"X-aws-ec2-metadata-token: %s", token);
	/* At half-life: long before its end, and there is time for failures. */
	session->refresh_ms = answer.arrived_ms + ttl * 500;
	return true;
}

/* A GET with the token: renewed ahead of time, and once more with one retry when it is refused. */
static int get(struct session *session, const char *path, struct answer *answer, struct err *err)
{
	struct aws_attempt attempt;
	const char *header;

	if (session->has_token && clock_left_ms(session->refresh_ms) == 0)
		renew_token(session, &attempt);
	header = session->has_token ? session->token_header : NULL;
	if (ask(session, "GET", path, header, answer, err) < 0)
		return -1;
	if (answer->status != 401)
		return 0;
	if (!renew_token(session, &attempt))
		return err_set(
			err, ERR_RETRY, "the token was refused (401), and no new one is given");
	return ask(session, "GET", path, session->token_header, answer, err);
}

/* Finds the way in, by the table of aws_decide(). */
static void open_session(struct session *session)
{
	bool allowed = watcher_surroundings(session->watcher)->aws_tokenless_allowed;
	struct aws_attempt put, tokenless = {0};
	struct answer answer;
	struct err err = {0};
	enum aws_access access;

	session->has_token = false;
	if (!renew_token(session, &put) && put.status != 200) {
		int asked = ask(session, "GET", INSTANCE_PATH, NULL, &answer, &err);

		tokenless = attempt_of(asked, &answer, &err);
		tokenless.shaped = asked == 0 && aws_instance_reply(&answer);
	}
	if (watcher_stopping(session->watcher))
		return;
	access = aws_decide(&put, &tokenless, allowed);
	if (access == AWS_WITH_TOKEN || access == AWS_TOKENLESS) {
		session->is_open = true;
		return;
	}
	if (access == AWS_UNDECIDED || access == AWS_FOREIGN) {
		watcher_unknown(session->watcher, aws_access_why(access));
		watcher_pause(session->watcher, RETRY_MS);
		return;
	}
	watcher_unavailable(session->watcher, aws_access_why(access));
	watcher_pause(session->watcher, UNAVAILABLE_RETRY_MS);
}

static bool poll_action(struct session *session)
{
	struct verdict verdict;
	struct answer answer;
	struct err err = {0};

	if (get(session, ACTION_PATH, &answer, &err) < 0) {
		watcher_unknown(session->watcher, err.text);
		return false;
	}
	aws_action_reply(&answer, &verdict);
	if (verdict.kind == VERDICT_UNKNOWN) {
		watcher_unknown(session->watcher, verdict.why);
		return false;
	}
	watcher_known(session->watcher);
	if (verdict.kind == VERDICT_POSITIVE)
		watcher_notice(session->watcher, &verdict.notice);
	return true;
}

static void poll_advice(struct session *session)
{
	struct verdict verdict;
	struct answer answer;

	/* Advice alone says nothing about the health of the source. */
	if (get(session, REBALANCE_PATH, &answer, NULL) < 0)
		return;
	aws_rebalance_reply(&answer, &verdict);
	if (verdict.kind == VERDICT_POSITIVE)
		watcher_notice(session->watcher, &verdict.notice);
}

static void watch_session(struct session *session)
{
	unsigned unknowns = 0;

	for (unsigned polls = 0; unknowns < UNKNOWN_MOST; polls++) {
		int64_t next = clock_monotonic_ms() + POLL_MS;

		unknowns = poll_action(session) ? 0 : unknowns + 1;
		if (polls % ADVICE_EVERY == 0 && unknowns == 0)
			poll_advice(session);
		if (!watcher_pause(session->watcher, clock_left_ms(next)))
			return;
	}
	session->is_open = false;
}

static void run(struct watcher *watcher)
{
	const struct surroundings *around = watcher_surroundings(watcher);
	struct session session = {.watcher = watcher, .timeout_ms = around->aws_timeout_ms};
	struct err err;

	if (around->aws_disabled) {
		watcher_unavailable(watcher, "AWS_EC2_METADATA_DISABLED=true is set: unset it");
		return;
	}
	if (http_new(&session.http, &err) < 0) {
		watcher_unavailable(watcher, err.text);
		return;
	}
	detect_aws_endpoint(around, session.endpoint, sizeof(session.endpoint));
	watcher_set_endpoint(watcher, session.endpoint);
	while (!watcher_stopping(watcher)) {
		if (session.is_open)
			watch_session(&session);
		else
			open_session(&session);
	}
	http_response_release(&session.response);
	http_free(session.http);
}

static bool probe(const char *endpoint, struct cancel *cancel)
{
	static const char *const headers[] = {"X-aws-ec2-metadata-token-ttl-seconds: 60", NULL};
	const struct fetch fetch = {
		.method = "PUT",
		.endpoint = endpoint,
		.path = TOKEN_PATH,
		.headers = headers,
		.timeout_ms = PROBE_TIMEOUT_MS,
	};
	auto_(http_response_release) struct http_response response = {0};
	struct answer answer;
	char token[AWS_TOKEN_MOST];
	int64_t ttl;

	return fetch_once(&fetch, &response, &answer, cancel) && answer.ttl &&
	       aws_token_reply(&answer, token, &ttl);
}

const struct provider provider_aws = {.name = "aws", .run = run, .probe = probe};
