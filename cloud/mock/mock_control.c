/* Controls the mock from outside by requests under /mock/, a path that no cloud has. */
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

static int cancel_notice(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	(void)request;
	return mock_cancel(mock, err);
}

static int expire_tokens(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	(void)request, (void)err;
	mock_expire_tokens(mock);
	return 0;
}

/*
 * {"method": M, "path": PREFIX, "count": N, "at_fire": true, "after_ms": N, and one of "name":
 * "503x3@fire", "status": S, "hang": true, "reset": true, "html": true, "truncate": true,
 * "slow_ms": N, "delay_ms": N, "as": CLOUD}
 */
static int parse_fault(json_t *object, struct mock_fault *fault, struct err *err)
{
	const char *name = json_text_or(object, "name", NULL);
	const char *other = json_text_or(object, "as", NULL);

	*fault = (struct mock_fault){
		.count = (int)json_number_or(object, "count", json_object_size(object) ? -1 : 0),
		.status = (int)json_number_or(object, "status", 0),
		.hang = json_true_or(object, "hang", false),
		.reset = json_true_or(object, "reset", false),
		.html = json_true_or(object, "html", false),
		.truncate = json_true_or(object, "truncate", false),
		.slow_ms = json_number_or(object, "slow_ms", 0),
		.delay_ms = json_number_or(object, "delay_ms", 0),
		.at_fire = json_true_or(object, "at_fire", false),
		.after_ms = json_number_or(object, "after_ms", 0),
		.is_other = other != NULL,
	};
	if (name && mock_fault_parse(name, fault, err) < 0)
		return -1;
	if (other && !mock_cloud_by_name(other, &fault->other))
		return err_set(err, ERR_INVALID, "cloud \"%s\" is not known", other);
	if (fault->status && (fault->status < 200 || fault->status > 599))
		return err_set(err, ERR_INVALID, "status is not between 200 and 599");
	if (json_object_get(object, "method"))
		text_set(fault->method, sizeof(fault->method), json_text_or(object, "method", ""));
	text_set(fault->path, sizeof(fault->path), json_text_or(object, "path", ""));
	return 0;
}

/* Sets one fault or a list of them; {} and [] clear them. */
static int set_faults(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	auto_json json_t *document =
		json_parse(request->body ? request->body : "", request->body_size, err);
	struct mock_fault fault = {0};
	json_t *item;
	size_t i;

	if (!document)
		return -1;
	if (json_is_object(document)) {
		if (parse_fault(document, &fault, err) < 0)
			return -1;
		mock_set_fault(mock, &fault);
		return 0;
	}
	mock_set_fault(mock, &fault);
	json_array_foreach(document, i, item) if (parse_fault(item, &fault, err) < 0 ||
						  mock_add_fault(mock, &fault, err) < 0) return -1;
	return 0;
}

/* {"path": PATH, "body": TEXT}; without a body, the real value again. */
static int set_value(struct mock *mock, const struct httpd_request *request, struct err *err)
{
	auto_json json_t *object =
		json_parse(request->body ? request->body : "", request->body_size, err);

	if (!object)
		return -1;
	return mock_set_value(mock, json_text_or(object, "path", NULL),
			      json_text_or(object, "body", NULL), err);
}

static void reply_with_state(struct mock *mock, struct httpd_reply *reply)
{
	int64_t deadline = mock_deadline_ms(mock);

	mock_reply(reply, 200, "application/json",
		   "{\"cloud\": \"%s\", \"fired\": %s, \"seconds_left\": %.3f, \"requests\": %llu, "
		   "\"throttled\": %llu}\n",
		   mock_cloud_name(mock->cloud), deadline == CLOCK_NEVER ? "false" : "true",
		   deadline == CLOCK_NEVER ? -1.0 : (double)clock_left_ms(deadline) / 1000,
		   (unsigned long long)mock_requests(mock),
		   (unsigned long long)mock_throttled(mock));
}

static const struct {
	const char *path;
	int (*act)(struct mock *mock, const struct httpd_request *request, struct err *err);
} controls[] = {
	{"/mock/fire", fire_stop},        {"/mock/advice", fire_advice},
	{"/mock/rebalance", fire_advice}, {"/mock/foreign", fire_foreign},
	{"/mock/cancel", cancel_notice},  {"/mock/expire", expire_tokens},
	{"/mock/fault", set_faults},      {"/mock/set", set_value},
};

void mock_control_reply(struct mock *mock, const struct httpd_request *request,
			struct httpd_reply *reply)
{
	struct err err;

	if (strcmp(request->path, "/mock/state") == 0) {
		reply_with_state(mock, reply);
		return;
	}
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
		if (strcmp(controls[i].path, request->path) != 0)
			continue;
		if (strcmp(request->method, "POST") != 0)
			mock_reply(reply, 405, "text/plain", "use POST\n");
		else if (controls[i].act(mock, request, &err) < 0)
			mock_reply(reply, 409, "text/plain", "%s\n", err.text);
		else
			reply_with_state(mock, reply);
		return;
	}
	mock_reply(reply, 404, "text/plain",
		   "no such control: use fire, advice, rebalance, foreign, cancel, expire, fault, "
		   "set or state\n");
}
