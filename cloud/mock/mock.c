#include "mock_state.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/workers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name;
	const char *variable;
	bool is_host; /* the variable holds host:port, not a URL */
	int64_t notice_ms;
	void (*fill_reply)(struct mock *mock, const struct httpd_request *request,
			   struct httpd_reply *reply);
} clouds[] = {
	[MOCK_AWS] = {"aws", "AWS_EC2_METADATA_SERVICE_ENDPOINT", false, 120000, mock_aws_reply},
	[MOCK_GCP] = {"gcp", "GCE_METADATA_HOST", true, 30000, mock_gcp_reply},
	[MOCK_AZURE] = {"azure", "REPRIEVE_AZURE_METADATA_ENDPOINT", false, 30000,
			mock_azure_reply},
	[MOCK_ALIBABA] = {"alibaba", "REPRIEVE_ALIBABA_METADATA_ENDPOINT", false, 300000,
			  mock_alibaba_reply},
	[MOCK_TENCENT] = {"tencent", "REPRIEVE_TENCENT_METADATA_ENDPOINT", false, 120000,
			  mock_tencent_reply},
};

bool mock_cloud_by_name(const char *name, enum mock_cloud *cloud)
{
	for (size_t i = 0; i < sizeof(clouds) / sizeof(clouds[0]); i++) {
		if (strcmp(clouds[i].name, name) == 0) {
			*cloud = (enum mock_cloud)i;
			return true;
		}
	}
	return false;
}

const char *mock_cloud_name(enum mock_cloud cloud)
{
	return clouds[cloud].name;
}

void mock_reply(struct httpd_reply *reply, int status, const char *type, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	httpd_reply_text(reply, status, text ? text : "");
	httpd_reply_header(reply, "Content-Type", "%s", type);
	free(text);
}

void mock_set_fired(struct mock *mock, struct mock_fired *fired, int64_t at_ms)
{
	if (fired->is_on)
		return;
	*fired = (struct mock_fired){
		.is_on = true,
		.at_ms = at_ms,
		.at_wall_ms = clock_wall_ms() - (clock_monotonic_ms() - at_ms),
	};
	mock->locked.changes++;
	pthread_cond_broadcast(&mock->changed);
}

void mock_fire_due(struct mock *mock)
{
	struct mock_fired *stop = &mock->locked.stop;

	if (clock_left_ms(mock->locked.fire_at_ms) == 0) {
		mock_set_fired(mock, stop, mock->locked.fire_at_ms);
		mock->locked.fire_at_ms = CLOCK_NEVER;
	}
	if (mock->cloud == MOCK_AZURE && stop->is_on && !stop->is_started &&
	    clock_left_ms(stop->at_ms + mock->notice_ms) == 0) {
		stop->is_started = true;
		mock->locked.changes++;
	}
}

/* With the mutex held. */
static bool is_over_the_limit(struct mock *mock)
{
	int64_t now = clock_monotonic_ms();

	if (mock->limit == 0)
		return false;
	if (now - mock->locked.second_ms >= 1000) {
		mock->locked.second_ms = now;
		mock->locked.second_requests = 0;
	}
	if (mock->locked.second_requests++ < mock->limit)
		return false;
	mock->locked.throttled++;
	return true;
}

static void handle_request(void *arg, const struct httpd_request *request,
			   struct httpd_reply *reply)
{
	struct mock *mock = arg;
	enum mock_cloud cloud = mock->cloud;
	struct mock_fault fault = {0};
	bool is_faulty, is_throttled;

	if (text_starts(request->path, "/mock/")) {
		mock_control_reply(mock, request, reply);
		return;
	}
	pthread_mutex_lock(&mock->mutex);
	mock->locked.requests++;
	mock_fire_due(mock);
	is_throttled = is_over_the_limit(mock);
	is_faulty = mock_match_fault(mock, request, &fault);
	pthread_mutex_unlock(&mock->mutex);
	if (is_throttled) {
		mock_reply(reply, 429, "application/json", "{ \"error\": \"Too many requests\" }");
		return;
	}
	if (is_faulty && mock_reply_with_fault(&fault, request, reply))
		return;
	if (is_faulty && fault.is_other)
		cloud = fault.other;
	pthread_mutex_lock(&mock->mutex);
	mock_fire_due(mock);
	clouds[cloud].fill_reply(mock, request, reply);
	pthread_mutex_unlock(&mock->mutex);
	if (is_faulty)
		mock_corrupt(&fault, reply);
}

static bool action_is_known(const char *action)
{
	return strcmp(action, "terminate") == 0 || strcmp(action, "stop") == 0 ||
	       strcmp(action, "hibernate") == 0;
}

static void init_lock(struct mock *mock)
{
	pthread_mutex_init(&mock->mutex, NULL);
	condition_init(&mock->changed);
}

int mock_start(const struct mock_options *options, struct mock **result, struct err *err)
{
	const char *action = options->action ? options->action : "terminate";
	struct mock *mock;

	if (!action_is_known(action))
		return err_set(err, ERR_INVALID,
			       "action \"%s\" is not known: use terminate, stop or hibernate",
			       action);
	mock = memory_new(sizeof(*mock));
	mock->cloud = options->cloud;
	mock->notice_ms = options->notice_ms ? options->notice_ms : clouds[mock->cloud].notice_ms;
	text_set(mock->vm_name, sizeof(mock->vm_name),
		 options->vm_name ? options->vm_name : "reprieve-mock_0");
	text_set(mock->action, sizeof(mock->action), action);
	mock->limit = options->limit;
	mock->is_gke = options->is_gke;
	mock->is_hardened = options->is_hardened;
	random_hex(mock->nonce);
	init_lock(mock);
	mock->locked.changes = 1;
	mock->locked.fire_at_ms =
		options->notice_after_ms ? clock_monotonic_ms() + options->notice_after_ms
					 : CLOCK_NEVER;
	if (httpd_start(
		    &(struct httpd_options){
			    .port = options->port,
			    .handler = handle_request,
			    .arg = mock,
		    },
		    &mock->httpd, err) < 0) {
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
	mock->locked.stopping = true;
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
	*name = clouds[mock->cloud].variable;
	*value = clouds[mock->cloud].is_host ? mock->host : mock->url;
}

int mock_fire(struct mock *mock, enum mock_event event, struct err *err)
{
	if (event == MOCK_FOREIGN && mock->cloud != MOCK_AZURE)
		return err_set(err, ERR_INVALID, "only Azure reports events of other machines");
	pthread_mutex_lock(&mock->mutex);
	mock_set_fired(mock,
		       event == MOCK_STOP     ? &mock->locked.stop
		       : event == MOCK_ADVICE ? &mock->locked.advice
					      : &mock->locked.foreign,
		       clock_monotonic_ms());
	pthread_mutex_unlock(&mock->mutex);
	return 0;
}

int mock_cancel(struct mock *mock, struct err *err)
{
	if (mock->cloud != MOCK_AZURE)
		return err_set(err, ERR_INVALID, "%s never withdraws a notice",
			       clouds[mock->cloud].name);
	pthread_mutex_lock(&mock->mutex);
	mock->locked.stop = mock->locked.advice = (struct mock_fired){0};
	mock->locked.fire_at_ms = CLOCK_NEVER;
	mock->locked.changes++;
	pthread_mutex_unlock(&mock->mutex);
	return 0;
}

void mock_expire_tokens(struct mock *mock)
{
	pthread_mutex_lock(&mock->mutex);
	memset(mock->locked.tokens, 0, sizeof(mock->locked.tokens));
	pthread_mutex_unlock(&mock->mutex);
}

int64_t mock_fired_ms(struct mock *mock)
{
	int64_t fired;

	pthread_mutex_lock(&mock->mutex);
	mock_fire_due(mock);
	fired = mock->locked.stop.is_on ? mock->locked.stop.at_ms : CLOCK_NEVER;
	pthread_mutex_unlock(&mock->mutex);
	return fired;
}

int64_t mock_deadline_ms(struct mock *mock)
{
	int64_t fired = mock_fired_ms(mock);

	return fired == CLOCK_NEVER ? CLOCK_NEVER : fired + mock->notice_ms;
}

uint64_t mock_requests(struct mock *mock)
{
	uint64_t requests;

	pthread_mutex_lock(&mock->mutex);
	requests = mock->locked.requests;
	pthread_mutex_unlock(&mock->mutex);
	return requests;
}

const char *mock_override_at(const struct mock *mock, const char *path)
{
	for (size_t i = 0; i < MOCK_VALUES_MOST; i++)
		if (mock->locked.values[i].path[0] &&
		    strcmp(mock->locked.values[i].path, path) == 0)
			return mock->locked.values[i].body;
	return NULL;
}

static int put_override(struct mock *mock, const char *path, const char *body)
{
	struct mock_value *place = NULL;

	for (size_t i = MOCK_VALUES_MOST; i-- > 0;)
		if (!mock->locked.values[i].path[0])
			place = &mock->locked.values[i];
	for (size_t i = 0; i < MOCK_VALUES_MOST; i++)
		if (strcmp(mock->locked.values[i].path, path) == 0)
			place = &mock->locked.values[i];
	if (!place)
		return -1;
	text_set(place->path, sizeof(place->path), body ? path : "");
	text_set(place->body, sizeof(place->body), body ? body : "");
	mock->locked.changes++;
	pthread_cond_broadcast(&mock->changed);
	return 0;
}

int mock_set_value(struct mock *mock, const char *path, const char *body, struct err *err)
{
	int result;

	if (!path || path[0] != '/' || strlen(path) >= sizeof(mock->locked.values[0].path) ||
	    (body && strlen(body) >= MOCK_BODY_MOST))
		return err_set(err, ERR_INVALID,
			       "a path that begins with / and a body of up to %d bytes are needed",
			       MOCK_BODY_MOST - 1);
	pthread_mutex_lock(&mock->mutex);
	result = put_override(mock, path, body);
	pthread_mutex_unlock(&mock->mutex);
	return result < 0 ? err_set(err, ERR_INVALID, "more than %d values", MOCK_VALUES_MOST) : 0;
}

uint64_t mock_throttled(struct mock *mock)
{
	uint64_t throttled;

	pthread_mutex_lock(&mock->mutex);
	throttled = mock->locked.throttled;
	pthread_mutex_unlock(&mock->mutex);
	return throttled;
}
