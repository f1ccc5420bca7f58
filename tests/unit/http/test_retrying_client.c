/* The loop of a call against a scripted server: what is tried again, and what is
 * told at the end. */
#include "storage/http/retrying_client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/httpd.h"

#include "unit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One letter an answer; the last one goes on for ever. */
struct server {
	struct httpd *httpd;
	const char *script;
	atomic_int asked;
	bool old_date; /* the Date header is of 2001 */
};

static void answer(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	struct server *server = arg;
	size_t at = (size_t)atomic_fetch_add(&server->asked, 1), last = strlen(server->script) - 1;
	char letter[2] = {server->script[at < last ? at : last], '\0'};

	(void)request;
	httpd_reply_text(reply, 200, letter);
	if (server->old_date)
		httpd_reply_header(reply, "Date", "%s", "Sat, 08 Sep 2001 00:00:00 GMT");
	if (letter[0] == 'X')
		reply->delivery = HTTPD_RESET;
	if (letter[0] == 'w')
		httpd_reply_header(reply, "Retry-After", "%d", 1);
}

struct client {
	struct server *server;
	int prepared;
	int prepare_failures; /* so many prepare() calls fail first */
	int64_t now_ms;       /* of the last try */
};

static int prepare(void *arg, int64_t now_ms, struct call_request *request, struct cancel *cancel,
		   struct err *err)
{
	struct client *client = arg;
	auto_free char *url = NULL;

	(void)cancel;
	client->prepared++;
	client->now_ms = now_ms;
	if (client->prepared <= client->prepare_failures)
		return err_set(err, ERR_RETRY, "no credentials now");
	url = text_format("http://127.0.0.1:%u/", httpd_port(client->server->httpd));
	call_request_set_url(request, url);
	return 0;
}

static enum call_verdict judge(void *arg, const struct http_response *response, struct err *err)
{
	char letter = (char)response->body.data[0];

	(void)arg;
	err_set(err, letter == 'F' ? ERR_DENIED : ERR_RETRY, "letter %c", letter);
	switch (letter) {
	case 'D':
		return CALL_DONE;
	case 's':
	case 'w':
		return CALL_SLOW_DOWN;
	case 'e':
		return CALL_REFRESH;
	case 't':
		return CALL_SKEWED;
	case 'm':
		return CALL_MOVED;
	case 'F':
		return CALL_FAILED;
	default:
		return CALL_RETRY;
	}
}

struct outcome {
	int result;
	struct err err;
	struct client client;
	bool clock_seen;
	int64_t clock_ms;
};

/* Long: how slow this machine is shall decide nothing. */
static int64_t patience_ms = 60000;
static bool once;

static struct outcome perform(const char *script, bool old_date, int prepare_failures,
			      struct cancel *cancel)
{
	struct server server = {.script = script, .old_date = old_date};
	struct outcome outcome = {
		.client = {.server = &server, .prepare_failures = prepare_failures},
	};
	const struct retried_call call = {
		.method = "PUT",
		.body = "body",
		.body_size = 4,
		.arg = &outcome.client,
		.prepare = prepare,
		.judge = judge,
		.once = once,
	};
	struct retrying_client *remote = retrying_client_new(patience_ms, NULL, NULL);
	struct http_response response = {0};
	struct err err = {0};

	if (httpd_start(&(struct httpd_options){.handler = answer, .arg = &server}, &server.httpd,
			&err) < 0)
		fail_msg("%s", err.text);
	outcome.result = retrying_client_perform(remote, &call, &response, cancel, &outcome.err);
	outcome.clock_seen = retrying_client_clock(remote, &outcome.clock_ms);
	http_response_release(&response);
	retrying_client_free(remote);
	httpd_stop(server.httpd);
	return outcome;
}

static void test_outcomes(void **state)
{
	static const struct {
		const char *script;
		int prepare_failures;
		bool done;
		int tries;
		enum err_kind kind;
	} rows[] = {
		{"D", 0, true, 1, ERR_NONE},     {"rrD", 0, true, 3, ERR_NONE},
		{"XD", 0, true, 2, ERR_NONE},    {"F", 0, false, 1, ERR_DENIED},
		{"rF", 0, false, 2, ERR_DENIED}, {"eD", 0, true, 2, ERR_NONE},
		{"e", 0, false, 2, ERR_RETRY},   {"erD", 0, true, 3, ERR_NONE},
		{"mmmD", 0, true, 4, ERR_NONE},  {"m", 0, false, 4, ERR_RETRY},
		{"D", 2, true, 3, ERR_NONE},     {"wD", 0, true, 2, ERR_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outcome outcome =
			perform(rows[i].script, false, rows[i].prepare_failures, NULL);

		if ((outcome.result == 0) != rows[i].done ||
		    outcome.client.prepared != rows[i].tries || outcome.err.kind != rows[i].kind)
			fail_msg("%s: %d tries, %s", rows[i].script, outcome.client.prepared,
				 outcome.err.text);
	}
}

/* What may have been carried out is not sent again; what was refused is. */
static void test_once(void **state)
{
	static const struct {
		const char *script;
		int prepare_failures;
		bool done;
		int tries;
		enum err_kind kind;
	} rows[] = {
		{"D", 0, true, 1, ERR_NONE},     {"rD", 0, false, 1, ERR_RETRY},
		{"XD", 0, false, 1, ERR_RETRY},  {"sD", 0, false, 1, ERR_RETRY},
		{"F", 0, false, 1, ERR_DENIED},  {"eD", 0, true, 2, ERR_NONE},
		{"mD", 0, true, 2, ERR_NONE},    {"D", 1, true, 2, ERR_NONE},
		{"erD", 0, false, 2, ERR_RETRY},
	};

	(void)state;
	once = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outcome outcome =
			perform(rows[i].script, false, rows[i].prepare_failures, NULL);

		if ((outcome.result == 0) != rows[i].done ||
		    outcome.client.prepared != rows[i].tries || outcome.err.kind != rows[i].kind)
			fail_msg("%s: %d tries, %s", rows[i].script, outcome.client.prepared,
				 outcome.err.text);
	}
	once = false;
}

static void test_patience_ends(void **state)
{
	struct outcome outcome;

	(void)state;
	patience_ms = 5000;
	outcome = perform("r", false, 0, NULL);
	patience_ms = 60000;
	assert_int_equal(outcome.result, -1);
	assert_int_equal(outcome.err.kind, ERR_RETRY);
	assert_non_null(strstr(outcome.err.text, "letter r"));
	assert_non_null(strstr(outcome.err.text, "tries"));
	assert_true(outcome.client.prepared >= 2);
}

static void test_deadline(void **state)
{
	struct cancel cancel;
	struct outcome outcome;
	struct err err;

	(void)state;
	assert_int_equal(cancel_init(&cancel, &err), 0);
	cancel_set_deadline(&cancel, clock_monotonic_ms() + 400);
	outcome = perform("r", false, 0, &cancel);
	assert_int_equal(outcome.result, -1);
	assert_true(outcome.err.kind == ERR_CANCELLED || outcome.err.kind == ERR_RETRY);
	cancel_raise(&cancel);
	outcome = perform("D", false, 0, &cancel);
	assert_int_equal(outcome.err.kind, ERR_CANCELLED);
	cancel_release(&cancel);
}

static void test_clock(void **state)
{
	struct outcome outcome = perform("tD", true, 0, NULL);

	(void)state;
	assert_int_equal(outcome.result, 0);
	/* Within a minute of 2001-09-08. */
	assert_true(llabs(outcome.client.now_ms - 999907200000LL) < 60000);
	assert_true(outcome.clock_seen && outcome.clock_ms < 0);
	/* And only once. */
	outcome = perform("t", true, 0, NULL);
	assert_int_equal(outcome.result, -1);
	assert_int_equal(outcome.client.prepared, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_outcomes), cmocka_unit_test(test_patience_ends),
		cmocka_unit_test(test_deadline), cmocka_unit_test(test_clock),
		cmocka_unit_test(test_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
