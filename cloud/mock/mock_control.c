/* What drives the mock from outside: requests under /mock/. No cloud has such a path. */
#include "mock_state.h"

#include "base/clock.h"
#include "base/json.h"

#include <string.h>

static int fire_stop(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	(void)request;
	return mock_fire(mock, MOCK_STOP, err);
}

static int fire_advice(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	(void)request;
	return mock_fire(mock, MOCK_ADVICE, err);
}

static int fire_foreign(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	(void)request;
	return mock_fire(mock, MOCK_FOREIGN, err);
}

static int cancel(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	(void)request;
	return mock_cancel(mock, err);
}

static int expire(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	(void)request, (void)err;
	mock_expire_tokens(mock);
	return 0;
}

/* {"method": M, "path": PREFIX, "count": N, "status": S | "hang": true | "reset": true | "html": true | "truncate": true |
 * "slow_ms": N}; {} clears. */
static int set_fault(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	auto_json json_t *object =
		json_parse(request->body ? request->body : "", request->body_size, err);
	struct mock_fault fault;

	if (!object)
		return -1;
	fault = (struct mock_fault){
		.count = (int)json_number_or(object, "count", json_object_size(object) ? -1 : 0),
		.status = (int)json_number_or(object, "status", 0),
		.hang = json_true_or(object, "hang", false),
		.reset = json_true_or(object, "reset", false),
		.html = json_true_or(object, "html", false),
		.truncate = json_true_or(object, "truncate", false),
		.slow_ms = json_number_or(object, "slow_ms", 0),
	};
	if (fault.status && (fault.status < 200 || fault.status > 599))
		return err_set(err, ERR_INVALID, "status is not between 200 and 599");
	text_set(fault.method, sizeof(fault.method), json_text_or(object, "method", ""));
	text_set(fault.path, sizeof(fault.path), json_text_or(object, "path", ""));
	mock_set_fault(mock, &fault);
	return 0;
}

static void tell_state(struct mock *mock, struct httpd_reply *reply)
{
	int64_t deadline = mock_deadline_ms(mock);

	mock_reply(reply, 200, "application/json",
		"{\"cloud\": \"%s\", \"fired\": %s, \"seconds_left\": %.3f, \"requests\": %llu}\n",
		mock_cloud_name(mock->cloud), deadline == CLOCK_NEVER ? "false" : "true",
		deadline == CLOCK_NEVER ? -1.0 : (double)clock_left_ms(deadline) / 1000,
		(unsigned long long)mock_requests(mock));
}

static const struct {
	const char *path;
	int (*act)(struct mock *mock, const struct httpd_request *request, struct err *err);
} actions[] = {
	{"/mock/fire", fire_stop},
	{"/mock/advice", fire_advice},
	{"/mock/rebalance", fire_advice},
	{"/mock/foreign", fire_foreign},
	{"/mock/cancel", cancel},
	{"/mock/expire", expire},
	{"/mock/fault", set_fault},
};

void mock_control_answer(
	struct mock *mock, const struct httpd_request *request, struct httpd_reply *reply)
{
	struct err err;

	if (strcmp(request->path, "/mock/state") == 0) {
		tell_state(mock, reply);
		return;
	}
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (strcmp(actions[i].path, request->path) != 0)
			continue;
		if (strcmp(request->method, "POST") != 0)
			mock_reply(reply, 405, "text/plain", "use POST\n");
		else if (actions[i].act(mock, request, &err) < 0)
			mock_reply(reply, 409, "text/plain", "%s\n", err.text);
		else
			tell_state(mock, reply);
		return;
	}
	mock_reply(reply, 404, "text/plain",
		"no such control: use fire, advice, rebalance, foreign, cancel, expire, fault or "
		"state\n");
}
