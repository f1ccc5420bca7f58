#include "mock_state.h"

#include "base/clock.h"
#include "base/file.h"

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
	void (*answer)(
		struct mock *mock, const struct httpd_request *request, struct httpd_reply *reply);
} clouds[] = {
	[MOCK_AWS] = {"aws", "AWS_EC2_METADATA_SERVICE_ENDPOINT", false, 120000, mock_aws_answer},
	[MOCK_GCP] = {"gcp", "GCE_METADATA_HOST", true, 30000, mock_gcp_answer},
	[MOCK_AZURE] = {"azure", "REPRIEVE_AZURE_METADATA_ENDPOINT", false, 30000,
		mock_azure_answer},
};

bool mock_cloud_named(const char *name, enum mock_cloud *cloud)
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

void mock_turn_on(struct mock *mock, struct mock_fired *fired, int64_t at_ms)
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

void mock_refresh(struct mock *mock)
{
	struct mock_fired *stop = &mock->locked.stop;

	if (clock_left_ms(mock->locked.fire_at_ms) == 0) {
		mock_turn_on(mock, stop, mock->locked.fire_at_ms);
		mock->locked.fire_at_ms = CLOCK_NEVER;
	}
	if (mock->cloud == MOCK_AZURE && stop->is_on && !stop->is_started &&
		clock_left_ms(stop->at_ms + mock->notice_ms) == 0) {
		stop->is_started = true;
		mock->locked.changes++;
	}
}

static bool fault_applies(const struct mock_fault *fault, const struct httpd_request *request)
{
	return fault->count != 0 &&
	       (!fault->method[0] || strcmp(fault->method, request->method) == 0) &&
	       text_starts(request->path, fault->path);
}

/* True where the fault is the whole answer. */
static bool answer_fault(const struct mock_fault *fault, const struct httpd_request *request,
	struct httpd_reply *reply)
{
	if (fault->hang) {
		cancel_sleep(request->cancel, CLOCK_NEVER / 2, NULL);
		reply->manner = HTTPD_RESET;
	} else if (fault->reset) {
		reply->manner = HTTPD_RESET;
	} else if (fault->html) {
		mock_reply(reply, 200, "text/html", "%s",
			"<!DOCTYPE html><html><body>Sign in to the network</body></html>\n");
	} else if (fault->status) {
		mock_reply(reply, fault->status, "text/plain", "fault %d\n", fault->status);
	} else {
		return false;
	}
	return true;
}

static void spoil(const struct mock_fault *fault, struct httpd_reply *reply)
{
	if (fault->truncate)
		reply->body.size /= 2;
	if (fault->slow_ms) {
		reply->manner = HTTPD_SLOW;
		reply->pause_ms = fault->slow_ms;
	}
}

static void handle(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	struct mock *mock = arg;
	struct mock_fault fault = {0};

	if (text_starts(request->path, "/mock/")) {
		mock_control_answer(mock, request, reply);
		return;
	}
	pthread_mutex_lock(&mock->mutex);
	mock->locked.requests++;
	if (fault_applies(&mock->locked.fault, request)) {
		fault = mock->locked.fault;
		if (fault.count > 0)
			mock->locked.fault.count--;
	}
	pthread_mutex_unlock(&mock->mutex);
	if (fault.count != 0 && answer_fault(&fault, request, reply))
		return;
	pthread_mutex_lock(&mock->mutex);
	mock_refresh(mock);
	clouds[mock->cloud].answer(mock, request, reply);
	pthread_mutex_unlock(&mock->mutex);
	if (fault.count != 0)
		spoil(&fault, reply);
}

static bool action_is_known(const char *action)
{
	return strcmp(action, "terminate") == 0 || strcmp(action, "stop") == 0 ||
	       strcmp(action, "hibernate") == 0;
}

static void init_lock(struct mock *mock)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&mock->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&mock->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

int mock_start(const struct mock_options *options, struct mock **result, struct err *err)
{
	const char *action = options->action ? options->action : "terminate";
	struct mock *mock;

	if (!action_is_known(action))
		return err_set(err, ERR_INVALID,
			"action \"%s\" is not known: use terminate, stop or hibernate", action);
	mock = memory_new(sizeof(*mock));
	mock->cloud = options->cloud;
	mock->notice_ms = options->notice_ms ? options->notice_ms : clouds[mock->cloud].notice_ms;
	text_set(mock->vm_name, sizeof(mock->vm_name),
		options->vm_name ? options->vm_name : "reprieve-mock_0");
	text_set(mock->action, sizeof(mock->action), action);
	file_nonce(mock->nonce);
	init_lock(mock);
	mock->locked.changes = 1;
	mock->locked.fire_at_ms = options->notice_after_ms
					  ? clock_monotonic_ms() + options->notice_after_ms
					  : CLOCK_NEVER;
	if (httpd_start(
		    &(struct httpd_options){.port = options->port, .handler = handle, .arg = mock},
		    &mock->httpd, err) < 0) {
		mock_stop(mock);
		return -1;
	}
	/* A handler does not read these two. */
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
		return err_set(err, ERR_INVALID, "only Azure tells of other machines' events");
	pthread_mutex_lock(&mock->mutex);
	mock_turn_on(mock,
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
		return err_set(err, ERR_INVALID, "%s never takes a notice back",
			mock->cloud == MOCK_AWS ? "AWS" : "GCP");
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
	mock_refresh(mock);
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

void mock_set_fault(struct mock *mock, const struct mock_fault *fault)
{
	pthread_mutex_lock(&mock->mutex);
	mock->locked.fault = *fault;
	pthread_mutex_unlock(&mock->mutex);
}
