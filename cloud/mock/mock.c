#include "mock.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/workers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct mock_cloud_row mock_clouds[MOCK_CLOUDS] = {
	[MOCK_AWS] = {"aws", "AWS_EC2_METADATA_SERVICE_ENDPOINT", 120000},
	[MOCK_GCP] = {"gcp", "GCE_METADATA_HOST", 30000},
	[MOCK_AZURE] = {"azure", "REPRIEVE_AZURE_METADATA_ENDPOINT", 30000},
	[MOCK_ALIBABA] = {"alibaba", "REPRIEVE_ALIBABA_METADATA_ENDPOINT", 300000},
	[MOCK_TENCENT] = {"tencent", "REPRIEVE_TENCENT_METADATA_ENDPOINT", 120000},
};

bool mock_cloud_by_name(const char *name, enum mock_cloud *cloud)
{
	for (int i = 0; i < MOCK_CLOUDS; i++)
		if (text_equal(mock_clouds[i].name, name)) {
			*cloud = (enum mock_cloud)i;
			return true;
		}
	return false;
}

void mock_reply(struct httpd_reply *reply, int status, const char *type, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list args;

	va_start(args, format);
	text = text_format_list(format, args);
	va_end(args);
	httpd_reply_text(reply, status, text);
	httpd_reply_header(reply, "Content-Type", "%s", type);
}

/* --- what is fired --- */

static void note_change(struct mock *mock)
{
	mock->changes++;
	pthread_cond_broadcast(&mock->changed);
}

static void set_fired(struct mock *mock, enum mock_event event, int64_t at_ms)
{
	if (mock->fired[event].is_on)
		return;
	mock->fired[event] = (struct mock_fired){
		.is_on = true,
		.at_ms = at_ms,
		.at_wall_ms = clock_wall_ms() - (clock_monotonic_ms() - at_ms),
	};
	note_change(mock);
}

void mock_fire_due(struct mock *mock)
{
	struct mock_fired *stop = &mock->fired[MOCK_STOP];

	if (clock_left_ms(mock->fire_at_ms) == 0) {
		set_fired(mock, MOCK_STOP, mock->fire_at_ms);
		mock->fire_at_ms = CLOCK_NEVER;
	}
	if (stop->is_on && !stop->is_started &&
	    clock_left_ms(stop->at_ms + mock->options.notice_ms) == 0) {
		stop->is_started = true;
		mock->changes++;
	}
}

int64_t mock_deadline_ms(struct mock *mock)
{
	int64_t deadline_ms;

	pthread_mutex_lock(&mock->mutex);
	mock_fire_due(mock);
	deadline_ms = mock->fired[MOCK_STOP].is_on
			      ? mock->fired[MOCK_STOP].at_ms + mock->options.notice_ms
			      : CLOCK_NEVER;
	pthread_mutex_unlock(&mock->mutex);
	return deadline_ms;
}

int mock_set_value(struct mock *mock, const char *path, const char *body, struct err *err)
{
	if (!path || path[0] != '/')
		return err_set(err, ERR_INVALID, "a path that begins with / is needed");
	pthread_mutex_lock(&mock->mutex);
	if (body)
		json_object_set_new(mock->values, path, json_string(body));
	else
		json_object_del(mock->values, path);
	note_change(mock);
	pthread_mutex_unlock(&mock->mutex);
	return 0;
}

/* --- faults --- */

static json_t *parse_kind(const char *name)
{
	static const char *const plain[][2] = {
		{"hang", "{\"hang\": true}"},
		{"hop-limit", "{\"hang\": true, \"method\": \"PUT\"}"},
		{"html", "{\"html\": true}"},
		{"reset", "{\"reset\": true}"},
		{"slow", "{\"slow_ms\": 100}"},
		{"truncate", "{\"truncate\": true}"},
	};
	enum mock_cloud cloud;
	uint64_t status;
	int64_t delay_ms;

	if (text_to_u64(name, 599, &status) && status >= 200)
		return json_pack("{s:I}", "status", (json_int_t)status);
	if (text_starts(name, "delay:") && text_to_duration_ms(strchr(name, ':') + 1, &delay_ms))
		return json_pack("{s:I}", "delay_ms", (json_int_t)delay_ms);
	if (text_starts(name, "as:") && mock_cloud_by_name(strchr(name, ':') + 1, &cloud))
		return json_pack("{s:s}", "as", strchr(name, ':') + 1);
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (text_equal(name, plain[i][0]))
			return json_parse(plain[i][1], strlen(plain[i][1]), NULL);
	return NULL;
}

/* Takes over `fault`. */
static void add_fault(struct mock *mock, json_t *fault)
{
	json_object_set_new(fault, "set_ms", json_integer(clock_monotonic_ms()));
	pthread_mutex_lock(&mock->mutex);
	json_array_append_new(mock->faults, fault);
	pthread_mutex_unlock(&mock->mutex);
}

int mock_add_fault(struct mock *mock, const char *text, struct err *err)
{
	char name[64], *when, *times;
	uint64_t count = 0;
	int64_t after_ms = 0;
	json_t *fault;

	text_set(name, sizeof(name), text);
	when = strchr(name, '@');
	if (when)
		*when++ = '\0';
	if (when && !text_equal(when, "fire") && !text_to_duration_ms(when, &after_ms))
		return err_set(err, ERR_INVALID,
			       "fault \"%s\" is not known: after @ comes fire, or a time such as "
			       "10s",
			       text);
	times = strrchr(name, 'x');
	if (times && text_to_u64(times + 1, 1000000, &count) && count > 0)
		*times = '\0';
	fault = parse_kind(name);
	if (!fault)
		return err_set(err, ERR_INVALID,
			       "fault \"%s\" is not known: use a status (503), hang, reset, slow, "
			       "html, truncate, hop-limit, as:CLOUD or delay:TIME, with x3 for a "
			       "count and @fire or @10s for when",
			       text);
	json_object_set_new(fault, "count", json_integer(count ? (json_int_t)count : -1));
	json_object_set_new(fault, "at_fire", json_boolean(text_equal(when, "fire")));
	json_object_set_new(fault, "after_ms", json_integer(after_ms));
	add_fault(mock, fault);
	return 0;
}

/* The one that this request meets, counted; the caller frees. NULL: none. */
static json_t *meet_fault(struct mock *mock, const struct httpd_request *request)
{
	const struct mock_fired *stop = &mock->fired[MOCK_STOP];
	json_t *fault;
	size_t i;

	json_array_foreach(mock->faults, i, fault)
	{
		int64_t count = json_number_or(fault, "count", -1);
		bool at_fire = json_true_or(fault, "at_fire", false);
		int64_t since = at_fire ? stop->at_ms : json_number_or(fault, "set_ms", 0);
		const char *method = json_text_or(fault, "method", "");

		if (count == 0 || (at_fire && !stop->is_on) ||
		    clock_left_ms(since + json_number_or(fault, "after_ms", 0)) > 0 ||
		    (*method && !text_equal(method, request->method)) ||
		    !text_starts(request->path, json_text_or(fault, "path", "")))
			continue;
		if (count > 0)
			json_object_set_new(fault, "count", json_integer(count - 1));
		return json_deep_copy(fault);
	}
	return NULL;
}

/* Without the mutex, because it may block. True: the fault is the whole reply. */
static bool reply_with_fault(json_t *fault, const struct httpd_request *request,
			     struct httpd_reply *reply)
{
	bool hangs = json_object_get(fault, "hang");
	int64_t delay_ms = hangs ? CLOCK_NEVER / 2 : json_number_or(fault, "delay_ms", 0);
	int status = (int)json_number_or(fault, "status", 0);

	if (delay_ms > 0)
		cancel_sleep(request->cancel, delay_ms, NULL);
	if (hangs || json_object_get(fault, "reset"))
		reply->delivery = HTTPD_RESET;
	else if (json_object_get(fault, "html"))
		mock_reply(reply, 200, "text/html", "%s",
			   "<!DOCTYPE html><html><body>Sign in to the network</body></html>\n");
	else if (status > 0)
		mock_reply(reply, status, "text/plain", "fault %d\n", status);
	else
		return false;
	return true;
}

/* --- control from outside, under /mock/, a path that no cloud has --- */

/* Replaces all; {} ends them. */
static int control_fault(struct mock *mock, json_t *fault, struct err *err)
{
	int64_t status = json_number_or(fault, "status", 200);
	const char *as = json_text_or(fault, "as", "aws");
	enum mock_cloud cloud;

	if (!mock_cloud_by_name(as, &cloud))
		return err_set(err, ERR_INVALID, "\"as\" is no cloud");
	if (status < 200 || status > 599)
		return err_set(err, ERR_INVALID, "status is not between 200 and 599");
	pthread_mutex_lock(&mock->mutex);
	json_array_clear(mock->faults);
	pthread_mutex_unlock(&mock->mutex);
	if (json_object_size(fault) > 0)
		add_fault(mock, json_deep_copy(fault));
	return 0;
}

int mock_control(struct mock *mock, const char *name, const char *text, struct err *err)
{
	static const char *const fires[] = {[MOCK_STOP] = " fire ",
					    [MOCK_ADVICE] = " advice rebalance ",
					    [MOCK_FOREIGN] = " foreign ",
					    [MOCK_EVENTS] = " cancel expire set fault "};
	bool azure = mock->options.cloud == MOCK_AZURE, cancels = text_equal(name, "cancel");
	bool sets = text_equal(name, "set"), faults = text_equal(name, "fault");
	auto_free char *word = text_format(" %s ", name);
	auto_json json_t *body = json_parse(text ? text : "", text ? strlen(text) : 0, NULL);
	int event = 0;

	while (event <= MOCK_EVENTS && !strstr(fires[event], word))
		event++;
	if (event > MOCK_EVENTS)
		return err_set(err, ERR_NOT_FOUND,
			       "no such control: use state, fire, advice, rebalance, foreign, "
			       "cancel, expire, fault or set");
	if (!azure && (cancels || event == MOCK_FOREIGN))
		return err_set(err, ERR_INVALID,
			       "only Azure withdraws a notice, and reports events of other "
			       "machines");
	if ((sets || faults) && !json_is_object(body))
		return err_set(err, ERR_INVALID, "the body is no JSON object");
	if (faults)
		return control_fault(mock, body, err);
	if (sets)
		return mock_set_value(mock, json_text_or(body, "path", NULL),
				      json_text_or(body, "body", NULL), err);
	pthread_mutex_lock(&mock->mutex);
	if (event < MOCK_EVENTS)
		set_fired(mock, (enum mock_event)event, clock_monotonic_ms());
	else if (cancels)
		mock->fired[MOCK_STOP] = mock->fired[MOCK_ADVICE] = (struct mock_fired){0};
	else
		random_hex(mock->secret);
	if (cancels)
		mock->fire_at_ms = CLOCK_NEVER;
	note_change(mock);
	pthread_mutex_unlock(&mock->mutex);
	return 0;
}

static void reply_to_control(struct mock *mock, const struct httpd_request *request,
			     struct httpd_reply *reply)
{
	const char *name = request->path + strlen("/mock/");
	auto_free char *body = text_copy_n(request->body ? request->body : "", request->body_size);
	bool is_state = text_equal(name, "state");
	int64_t deadline_ms;
	struct err err;

	if (!is_state && !text_equal(request->method, "POST")) {
		mock_reply(reply, 405, "text/plain", "use POST\n");
		return;
	}
	if (!is_state && mock_control(mock, name, body, &err) < 0) {
		mock_reply(reply, err.kind == ERR_NOT_FOUND ? 404 : 409, "text/plain", "%s\n",
			   err.text);
		return;
	}
	deadline_ms = mock_deadline_ms(mock);
	pthread_mutex_lock(&mock->mutex);
	mock_reply(reply, 200, "application/json",
		   "{\"cloud\": \"%s\", \"fired\": %s, \"seconds_left\": %.3f, \"requests\": %llu, "
		   "\"throttled\": %llu}\n",
		   mock_clouds[mock->options.cloud].name,
		   deadline_ms < CLOCK_NEVER ? "true" : "false",
		   deadline_ms < CLOCK_NEVER ? (double)clock_left_ms(deadline_ms) / 1000 : -1.0,
		   (unsigned long long)mock->requests, (unsigned long long)mock->throttled);
	pthread_mutex_unlock(&mock->mutex);
}

/* --- the server --- */

static bool is_over_the_limit(struct mock *mock)
{
	int64_t now_ms = clock_monotonic_ms();
	bool over;

	if (now_ms - mock->second_ms >= 1000) {
		mock->second_ms = now_ms;
		mock->second_requests = 0;
	}
	over = mock->options.limit > 0 && mock->second_requests++ >= mock->options.limit;
	mock->throttled += over;
	return over;
}

static void handle_request(void *arg, const struct httpd_request *request,
			   struct httpd_reply *reply)
{
	struct mock *mock = arg;
	enum mock_cloud cloud = mock->options.cloud;
	auto_json json_t *fault = NULL;
	bool over;

	if (text_starts(request->path, "/mock/")) {
		reply_to_control(mock, request, reply);
		return;
	}
	pthread_mutex_lock(&mock->mutex);
	mock->requests++;
	mock_fire_due(mock);
	over = is_over_the_limit(mock);
	fault = meet_fault(mock, request);
	pthread_mutex_unlock(&mock->mutex);
	if (over) {
		mock_reply(reply, 429, "application/json", "{ \"error\": \"Too many requests\" }");
		return;
	}
	if (reply_with_fault(fault, request, reply))
		return;
	mock_cloud_by_name(json_text_or(fault, "as", ""), &cloud);
	pthread_mutex_lock(&mock->mutex);
	mock_fire_due(mock);
	mock_reply_of_cloud(mock, cloud, request, reply);
	pthread_mutex_unlock(&mock->mutex);
	if (json_object_get(fault, "truncate"))
		reply->body.size /= 2;
	reply->pause_ms = json_number_or(fault, "slow_ms", 0);
	if (reply->pause_ms > 0)
		reply->delivery = HTTPD_SLOW;
}

int mock_start(const struct mock_options *options, struct mock **result, struct err *err)
{
	struct mock *mock = memory_new(sizeof(*mock));
	const struct httpd_options server = {
		.port = options->port,
		.handler = handle_request,
		.arg = mock,
	};

	mock->options = *options;
	if (options->notice_ms == 0)
		mock->options.notice_ms = mock_clouds[options->cloud].notice_ms;
	if (!options->vm_name)
		mock->options.vm_name = "reprieve-mock_0";
	if (!options->action)
		mock->options.action = "terminate";
	mock->faults = json_array();
	mock->values = json_object();
	random_hex(mock->secret);
	pthread_mutex_init(&mock->mutex, NULL);
	pthread_cond_init(&mock->changed, NULL);
	mock->changes = 1;
	mock->fire_at_ms = options->notice_after_ms
				   ? clock_monotonic_ms() + options->notice_after_ms
				   : CLOCK_NEVER;
	if (httpd_start(&server, &mock->httpd, err) < 0) {
		mock_stop(mock);
		return -1;
	}
	/* Safe after httpd_start(): handlers never read host or url. */
	snprintf(mock->host, sizeof(mock->host), "127.0.0.1:%u", httpd_port(mock->httpd));
	snprintf(mock->url, sizeof(mock->url), "http://%s", mock->host);
	*result = mock;
	return 0;
}

void mock_stop(struct mock *mock)
{
	if (!mock)
		return;
	pthread_mutex_lock(&mock->mutex);
	mock->stopping = true;
	pthread_cond_broadcast(&mock->changed);
	pthread_mutex_unlock(&mock->mutex);
	httpd_stop(mock->httpd);
	pthread_cond_destroy(&mock->changed);
	pthread_mutex_destroy(&mock->mutex);
	json_decref(mock->faults);
	json_decref(mock->values);
	free(mock);
}

const char *mock_url(const struct mock *mock)
{
	return mock->url;
}

void mock_environment(const struct mock *mock, const char **name, const char **value)
{
	*name = mock_clouds[mock->options.cloud].variable;
	*value = mock->options.cloud == MOCK_GCP ? mock->host : mock->url;
}
