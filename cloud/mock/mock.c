#include "mock_state.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/workers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	const char *variable; /* holds the URL, but Google's host:port */
	int64_t notice_ms;
} clouds[] = {
	[MOCK_AWS] = {"aws", "AWS_EC2_METADATA_SERVICE_ENDPOINT", 120000},
	[MOCK_GCP] = {"gcp", "GCE_METADATA_HOST", 30000},
	[MOCK_AZURE] = {"azure", "REPRIEVE_AZURE_METADATA_ENDPOINT", 30000},
	[MOCK_ALIBABA] = {"alibaba", "REPRIEVE_ALIBABA_METADATA_ENDPOINT", 300000},
	[MOCK_TENCENT] = {"tencent", "REPRIEVE_TENCENT_METADATA_ENDPOINT", 120000},
};

bool mock_cloud_by_name(const char *name, enum mock_cloud *cloud)
{
	for (size_t i = 0; i < sizeof(clouds) / sizeof(clouds[0]); i++)
		if (text_equal(clouds[i].name, name)) {
			*cloud = (enum mock_cloud)i;
			return true;
		}
	return false;
}

const char *mock_cloud_name(enum mock_cloud cloud)
{
	return clouds[cloud].name;
}

int64_t mock_cloud_notice_ms(enum mock_cloud cloud)
{
	return clouds[cloud].notice_ms;
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

int mock_fire(struct mock *mock, enum mock_event event, struct err *err)
{
	if (event == MOCK_FOREIGN && mock->options.cloud != MOCK_AZURE)
		return err_set(err, ERR_INVALID, "only Azure reports events of other machines");
	pthread_mutex_lock(&mock->mutex);
	set_fired(mock, event, clock_monotonic_ms());
	pthread_mutex_unlock(&mock->mutex);
	return 0;
}

int mock_cancel(struct mock *mock, struct err *err)
{
	if (mock->options.cloud != MOCK_AZURE)
		return err_set(err, ERR_INVALID, "%s never withdraws a notice",
			       clouds[mock->options.cloud].name);
	pthread_mutex_lock(&mock->mutex);
	mock->fired[MOCK_STOP] = mock->fired[MOCK_ADVICE] = (struct mock_fired){0};
	mock->fire_at_ms = CLOCK_NEVER;
	note_change(mock);
	pthread_mutex_unlock(&mock->mutex);
	return 0;
}

void mock_expire_tokens(struct mock *mock)
{
	pthread_mutex_lock(&mock->mutex);
	memset(mock->tokens, 0, sizeof(mock->tokens));
	pthread_mutex_unlock(&mock->mutex);
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

const char *mock_value_at(const struct mock *mock, const char *path)
{
	for (size_t i = 0; i < MOCK_VALUES_MOST; i++)
		if (text_equal(mock->values[i].path, path))
			return mock->values[i].body;
	return NULL;
}

int mock_set_value(struct mock *mock, const char *path, const char *body, struct err *err)
{
	size_t place = MOCK_VALUES_MOST;

	if (!path || path[0] != '/' || (body && strlen(body) >= MOCK_BODY_MOST))
		return err_set(err, ERR_INVALID,
			       "a path that begins with / and a body of up to %d bytes are needed",
			       MOCK_BODY_MOST - 1);
	pthread_mutex_lock(&mock->mutex);
	for (size_t i = MOCK_VALUES_MOST; i-- > 0;)
		if (!mock->values[i].path[0])
			place = i;
	for (size_t i = 0; i < MOCK_VALUES_MOST; i++)
		if (text_equal(mock->values[i].path, path))
			place = i;
	if (place < MOCK_VALUES_MOST) {
		text_set(mock->values[place].path, sizeof(mock->values[0].path), body ? path : "");
		text_set(mock->values[place].body, MOCK_BODY_MOST, body ? body : "");
		note_change(mock);
	}
	pthread_mutex_unlock(&mock->mutex);
	return place < MOCK_VALUES_MOST
		       ? 0
		       : err_set(err, ERR_INVALID, "more than %d values", MOCK_VALUES_MOST);
}

/* --- faults --- */

static const struct {
	const char *name; /* in --fault; ending with ':', a value follows */
	const char *key;  /* in JSON, where a number is the fault's own */
	enum mock_fault_kind kind;
	int64_t number;
} faults[] = {
	{"hang", "hang", MOCK_HANG, 0},        {"reset", "reset", MOCK_RESET, 0},
	{"html", "html", MOCK_HTML, 0},        {"truncate", "truncate", MOCK_TRUNCATE, 0},
	{"slow", "slow_ms", MOCK_SLOW, 100},   {"hop-limit", "", MOCK_HANG, 0},
	{"delay:", "delay_ms", MOCK_DELAY, 0}, {"as:", "as", MOCK_AS, 0},
	{"", "status", MOCK_STATUS, 0},
};
#define FAULT_KINDS (sizeof(faults) / sizeof(faults[0]))

static bool take_cloud(const char *name, struct mock_fault *fault)
{
	enum mock_cloud cloud;

	if (!mock_cloud_by_name(name, &cloud))
		return false;
	fault->number = cloud;
	return true;
}

static bool parse_kind(const char *name, struct mock_fault *fault)
{
	uint64_t status;

	fault->kind = MOCK_STATUS;
	if (text_to_u64(name, 599, &status) && status >= 200) {
		fault->number = (int64_t)status;
		return true;
	}
	for (size_t i = 0; i < FAULT_KINDS - 1; i++) {
		size_t length = strlen(faults[i].name);

		if (!text_starts(name, faults[i].name))
			continue;
		fault->kind = faults[i].kind;
		fault->number = faults[i].number;
		if (text_equal(name, "hop-limit"))
			text_set(fault->method, sizeof(fault->method), "PUT");
		if (fault->kind == MOCK_DELAY)
			return text_to_duration_ms(name + length, &fault->number);
		return fault->kind == MOCK_AS ? take_cloud(name + length, fault) : !name[length];
	}
	return false;
}

int mock_fault_parse(const char *text, struct mock_fault *fault, struct err *err)
{
	char name[64], *when, *times;
	uint64_t count;

	*fault = (struct mock_fault){.count = -1};
	text_set(name, sizeof(name), text);
	when = strchr(name, '@');
	if (when)
		*when++ = '\0';
	fault->at_fire = text_equal(when, "fire");
	if (when && !fault->at_fire && !text_to_duration_ms(when, &fault->after_ms))
		return err_set(err, ERR_INVALID,
			       "fault \"%s\" is not known: after @ comes fire, or a time such as "
			       "10s",
			       text);
	times = strrchr(name, 'x');
	if (times && text_to_u64(times + 1, 1000000, &count) && count > 0) {
		*times = '\0';
		fault->count = (int)count;
	}
	if (parse_kind(name, fault))
		return 0;
	return err_set(err, ERR_INVALID,
		       "fault \"%s\" is not known: use a status (503), hang, reset, slow, html, "
		       "truncate, hop-limit, as:CLOUD or delay:TIME, with x3 for a count and @fire "
		       "or @10s for when",
		       text);
}

int mock_add_fault(struct mock *mock, const struct mock_fault *fault, struct err *err)
{
	bool room;

	pthread_mutex_lock(&mock->mutex);
	room = mock->fault_count < MOCK_FAULTS_MOST;
	if (room) {
		mock->faults[mock->fault_count] = *fault;
		mock->fault_set_ms[mock->fault_count++] = clock_monotonic_ms();
	}
	pthread_mutex_unlock(&mock->mutex);
	return room ? 0 : err_set(err, ERR_INVALID, "more than %d faults", MOCK_FAULTS_MOST);
}

void mock_set_fault(struct mock *mock, const struct mock_fault *fault)
{
	pthread_mutex_lock(&mock->mutex);
	mock->fault_count = 0;
	pthread_mutex_unlock(&mock->mutex);
	if (fault->count != 0)
		mock_add_fault(mock, fault, NULL);
}

/* The one that this request meets, counted; MOCK_NO_FAULT: none. */
static struct mock_fault meet_fault(struct mock *mock, const struct httpd_request *request)
{
	const struct mock_fired *stop = &mock->fired[MOCK_STOP];

	for (size_t i = 0; i < mock->fault_count; i++) {
		struct mock_fault *fault = &mock->faults[i];
		int64_t since = fault->at_fire ? stop->at_ms : mock->fault_set_ms[i];

		if (fault->count == 0 || (fault->at_fire && !stop->is_on) ||
		    clock_left_ms(since + fault->after_ms) > 0 ||
		    (fault->method[0] && !text_equal(fault->method, request->method)) ||
		    !text_starts(request->path, fault->path))
			continue;
		fault->count -= fault->count > 0;
		return *fault;
	}
	return (struct mock_fault){0};
}

/* Without the mutex, because it may block. True: the fault is the whole reply. */
static bool reply_with_fault(const struct mock_fault *fault, const struct httpd_request *request,
			     struct httpd_reply *reply)
{
	if (fault->kind == MOCK_DELAY || fault->kind == MOCK_HANG)
		cancel_sleep(request->cancel,
			     fault->kind == MOCK_HANG ? CLOCK_NEVER / 2 : fault->number, NULL);
	if (fault->kind == MOCK_HANG || fault->kind == MOCK_RESET)
		reply->delivery = HTTPD_RESET;
	else if (fault->kind == MOCK_HTML)
		mock_reply(reply, 200, "text/html", "%s",
			   "<!DOCTYPE html><html><body>Sign in to the network</body></html>\n");
	else if (fault->kind == MOCK_STATUS)
		mock_reply(reply, (int)fault->number, "text/plain", "fault %d\n",
			   (int)fault->number);
	else
		return false;
	return true;
}

/* --- control from outside, under /mock/, a path that no cloud has --- */

/* {"method": M, "path": PREFIX, "count": N, and one of `faults` by its key} */
static int parse_fault(json_t *object, struct mock_fault *fault, struct err *err)
{
	*fault = (struct mock_fault){
		.count = (int)json_number_or(object, "count", json_object_size(object) ? -1 : 0)};
	text_set(fault->method, sizeof(fault->method), json_text_or(object, "method", ""));
	text_set(fault->path, sizeof(fault->path), json_text_or(object, "path", ""));
	for (size_t i = 0; i < FAULT_KINDS; i++) {
		if (!json_object_get(object, faults[i].key))
			continue;
		fault->kind = faults[i].kind;
		fault->number = json_number_or(object, faults[i].key, 0);
		if (fault->kind == MOCK_AS && !take_cloud(json_text_or(object, "as", ""), fault))
			return err_set(err, ERR_INVALID, "\"as\" is no cloud");
		if (fault->kind == MOCK_STATUS && (fault->number < 200 || fault->number > 599))
			return err_set(err, ERR_INVALID, "status is not between 200 and 599");
	}
	return 0;
}

static int control(struct mock *mock, const char *name, json_t *body, struct err *err)
{
	struct mock_fault fault;

	if (text_equal(name, "fire"))
		return mock_fire(mock, MOCK_STOP, err);
	if (text_equal(name, "advice") || text_equal(name, "rebalance"))
		return mock_fire(mock, MOCK_ADVICE, err);
	if (text_equal(name, "foreign"))
		return mock_fire(mock, MOCK_FOREIGN, err);
	if (text_equal(name, "cancel"))
		return mock_cancel(mock, err);
	if (text_equal(name, "expire")) {
		mock_expire_tokens(mock);
		return 0;
	}
	if (!json_is_object(body))
		return err_set(err, ERR_INVALID, "the body is no JSON object");
	if (text_equal(name, "set"))
		return mock_set_value(mock, json_text_or(body, "path", NULL),
				      json_text_or(body, "body", NULL), err);
	if (parse_fault(body, &fault, err) < 0)
		return -1;
	mock_set_fault(mock, &fault);
	return 0;
}

static void reply_to_control(struct mock *mock, const struct httpd_request *request,
			     struct httpd_reply *reply)
{
	static const char names[] = " fire advice rebalance foreign cancel expire fault set ";
	const char *name = request->path + strlen("/mock/");
	auto_json json_t *body =
		json_parse(request->body ? request->body : "", request->body_size, NULL);
	auto_free char *word = text_format(" %s ", name);
	bool is_state = text_equal(name, "state");
	int64_t deadline_ms;
	struct err err;

	if (!is_state && !strstr(names, word))
		mock_reply(reply, 404, "text/plain", "no such control: use state, or%s\n", names);
	else if (!is_state && !text_equal(request->method, "POST"))
		mock_reply(reply, 405, "text/plain", "use POST\n");
	else if (!is_state && control(mock, name, body, &err) < 0)
		mock_reply(reply, 409, "text/plain", "%s\n", err.text);
	else {
		deadline_ms = mock_deadline_ms(mock);
		pthread_mutex_lock(&mock->mutex);
		mock_reply(reply, 200, "application/json",
			   "{\"cloud\": \"%s\", \"fired\": %s, \"seconds_left\": %.3f, "
			   "\"requests\": %llu, \"throttled\": %llu}\n",
			   mock_cloud_name(mock->options.cloud),
			   deadline_ms == CLOCK_NEVER ? "false" : "true",
			   deadline_ms == CLOCK_NEVER ? -1.0
						      : (double)clock_left_ms(deadline_ms) / 1000,
			   (unsigned long long)mock->requests, (unsigned long long)mock->throttled);
		pthread_mutex_unlock(&mock->mutex);
	}
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
	struct mock_fault fault;
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
	if (reply_with_fault(&fault, request, reply))
		return;
	pthread_mutex_lock(&mock->mutex);
	mock_fire_due(mock);
	mock_reply_of_cloud(mock,
			    fault.kind == MOCK_AS ? (enum mock_cloud)fault.number
						  : mock->options.cloud,
			    request, reply);
	pthread_mutex_unlock(&mock->mutex);
	if (fault.kind == MOCK_TRUNCATE)
		reply->body.size /= 2;
	if (fault.kind == MOCK_SLOW) {
		reply->delivery = HTTPD_SLOW;
		reply->pause_ms = fault.number;
	}
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
		mock->options.notice_ms = clouds[options->cloud].notice_ms;
	text_set(mock->vm_name, sizeof(mock->vm_name),
		 options->vm_name ? options->vm_name : "reprieve-mock_0");
	text_set(mock->action, sizeof(mock->action),
		 options->action ? options->action : "terminate");
	pthread_mutex_init(&mock->mutex, NULL);
	condition_init(&mock->changed);
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
	free(mock);
}

const char *mock_url(const struct mock *mock)
{
	return mock->url;
}

void mock_environment(const struct mock *mock, const char **name, const char **value)
{
	*name = clouds[mock->options.cloud].variable;
	*value = mock->options.cloud == MOCK_GCP ? mock->host : mock->url;
}
