#include "mock.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/workers.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum mock_event {
	MOCK_STOP,
	MOCK_ADVICE,
	MOCK_FOREIGN,
	MOCK_EVENTS
};

/* One thing that was fired. Monotonic and wall, so that bodies hold a constant time. */
struct mock_fired {
	bool is_on, is_started; /* Azure: started by a POST, or as its time has come */
	int64_t at_ms, at_wall_ms;
};

/* The mutex guards every member that changes after the server has started. */
struct mock {
	struct httpd *httpd;
	struct mock_options options;
	char host[32], url[64];
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* on the monotonic clock */
	bool stopping;
	int64_t fire_at_ms; /* CLOCK_NEVER: on demand only */
	struct mock_fired fired[MOCK_EVENTS];
	uint64_t changes, requests, throttled;
	char secret[33];   /* a token is that, and its end */
	json_t *faults;    /* as of POST /mock/fault, also with "at_fire", "after_ms", "set_ms" */
	json_t *values;    /* by path; they replace the real ones */
	int64_t second_ms; /* when the current second of the limit began */
	unsigned second_requests;
};

/* With the mutex held; GCP's releases it while it waits. Fills the reply. */
static void reply_of_cloud(struct mock *mock, enum mock_cloud cloud,
			   const struct httpd_request *request, struct httpd_reply *reply);

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

/* 200 or another status with a body by format. */
static __attribute__((format(printf, 4, 5))) void mock_reply(
	struct httpd_reply *reply, int status, const char *type, const char *format, ...)
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

/* With the mutex held: fires what is due by time. */
static void mock_fire_due(struct mock *mock)
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

int mock_add_fault(struct mock *mock, const char *text, json_t *limits, struct err *err)
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
			       "fault \"%s\" is not known: use hang, reset, slow, html, a status "
			       "(503) ...: see reprieve mock --help",
			       text);
	json_object_set_new(fault, "count", json_integer(count ? (json_int_t)count : -1));
	json_object_set_new(fault, "at_fire", json_boolean(text_equal(when, "fire")));
	json_object_set_new(fault, "after_ms", json_integer(after_ms));
	json_object_set_new(fault, "set_ms", json_integer(clock_monotonic_ms()));
	json_object_update_missing(fault, limits);
	pthread_mutex_lock(&mock->mutex);
	json_array_append_new(mock->faults, fault);
	pthread_mutex_unlock(&mock->mutex);
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
static int control_fault(struct mock *mock, json_t *body, struct err *err)
{
	const char *text = json_text_or(body, "fault", NULL);

	if (!text && json_object_size(body) > 0)
		return err_set(err, ERR_INVALID, "no \"fault\" is named");
	pthread_mutex_lock(&mock->mutex);
	json_array_clear(mock->faults);
	pthread_mutex_unlock(&mock->mutex);
	return text ? mock_add_fault(mock, text, body, err) : 0;
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
	reply_of_cloud(mock, cloud, request, reply);
	pthread_mutex_unlock(&mock->mutex);
	if (json_object_get(fault, "truncate"))
		reply->body.size /= 2;
	cancel_sleep(request->cancel,
		     (int64_t)reply->body.size * json_number_or(fault, "slow_ms", 0), NULL);
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

/* --- the replies of each cloud --- */

/* The replies of each cloud's metadata service. The table `values` has what lies under a path;
 * functions check the protocol. */

#define TEXT "text/plain"
#define JSON "application/json; charset=utf-8"
#define META "/latest/meta-data/"
#define GCP "/computeMetadata/v1/"
#define ALWAYS MOCK_EVENTS

/* The first that fits. In a value stand $N for the VM's name, $A for the action, $T for the time of
 * the end, $B for it in Beijing (eight hours ahead of UTC, without saying so), and $R for the time
 * of the advice. They are the same in every reply. */
// clang-format off
static const struct {
	enum mock_cloud cloud;
	enum mock_event event; /* it is there only after that */
	const char *path, *value;
} values[] = {
	{MOCK_AWS, MOCK_ADVICE, META "events/recommendations/rebalance", "{\"noticeTime\":\"$R\"}"},
	{MOCK_AWS, MOCK_STOP, META "spot/instance-action", "{\"action\": \"$A\", \"time\": \"$T\"}"},
	{MOCK_AWS, MOCK_STOP, META "spot/termination-time", "$T"},
	{MOCK_AWS, MOCK_STOP, META "spot/", "instance-action\ntermination-time"},
	{MOCK_AWS, ALWAYS, META, "autoscaling/\nevents/\ninstance-id\ninstance-life-cycle\nplacement/\nspot/"},
	{MOCK_AWS, ALWAYS, META "instance-id", "i-1234567890abcdef0"},
	{MOCK_AWS, ALWAYS, META "instance-life-cycle", "spot"},
	{MOCK_AWS, ALWAYS, META "placement/region", "us-east-1"},
	{MOCK_AWS, ALWAYS, META "autoscaling/target-lifecycle-state", "InService"},
	{MOCK_AWS, ALWAYS, META "events/maintenance/scheduled", "[]"},
	{MOCK_AWS, ALWAYS, "/latest/dynamic/instance-identity/document", "{\n  \"instanceId\" : \"i-1234567890abcdef0\",\n  \"region\" : \"us-east-1\",\n  \"version\" : \"2017-09-30\"\n}"},
	{MOCK_GCP, MOCK_STOP, GCP "instance/preempted", "TRUE"},
	{MOCK_GCP, ALWAYS, GCP "instance/preempted", "FALSE"},
	{MOCK_GCP, MOCK_ADVICE, GCP "instance/maintenance-event", "MIGRATE_ON_HOST_MAINTENANCE"},
	{MOCK_GCP, ALWAYS, GCP "instance/maintenance-event", "NONE"},
	{MOCK_GCP, ALWAYS, GCP "instance/name", "$N"},
	{MOCK_GCP, ALWAYS, "/", "computeMetadata/\n"},
	{MOCK_GCP, ALWAYS, GCP "instance/", "hostname\nid\nmaintenance-event\nname\npreempted\nzone\n"},
	{MOCK_GCP, ALWAYS, GCP "instance/upcoming-maintenance", "{ \"error\": \"no notifications have been received yet, try again later\" }"},
	{MOCK_GCP, ALWAYS, GCP "instance/id", "4520031799277581759"},
	{MOCK_GCP, ALWAYS, GCP "instance/zone", "projects/123456789012/zones/us-central1-a"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance", "{\"compute\":{\"name\":\"$N\",\"location\":\"westeurope\",\"priority\":\"Spot\",\"vmId\":\"13f56399-bd52-4150-9748-7190aae1ff21\",\"vmSize\":\"Standard_ND96asr_v4\"}}"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance/compute/name", "$N"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance/compute/priority", "Spot"},
	{MOCK_ALIBABA, MOCK_STOP, META "instance/spot/termination-time", "$T"},
	{MOCK_ALIBABA, ALWAYS, META "instance-id", "i-bp67acfmxazb4ph0mock"},
	{MOCK_TENCENT, MOCK_STOP, META "spot/termination-time", "$B"},
	{MOCK_TENCENT, ALWAYS, META "instance-id", "ins-0mock123"},
};
// clang-format on

static char *fill(const struct mock *mock, const char *value)
{
	int64_t end_ms = mock->fired[MOCK_STOP].at_wall_ms + mock->options.notice_ms;
	time_t beijing = (time_t)end_ms / 1000 + 8 * 3600;
	char end[32], there[32], advised[32];
	static const char *const actions[] = {"terminate", "stop", "hibernate"};
	const char *const texts[] = {mock->options.vm_name, actions[mock->options.action], end,
				     there, advised};
	auto_(bytes_release) struct bytes out = {0};
	struct tm parts;

	datetime_iso(end_ms, end);
	datetime_iso(mock->fired[MOCK_ADVICE].at_wall_ms, advised);
	strftime(there, sizeof(there), "%Y-%m-%d %H:%M:%S", gmtime_r(&beijing, &parts));
	for (; *value; value++) {
		const char *mark = *value == '$' ? strchr("NATBR", value[1]) : NULL;

		if (mark)
			bytes_format(&out, NULL, "%s", texts[mark - "NATBR"]);
		else
			bytes_append(&out, value, 1, NULL);
		value += mark != NULL;
	}
	bytes_append(&out, "", 1, NULL);
	return text_copy((const char *)out.data);
}

/* Returns what the user has set for the path, else the cloud's own value; the caller frees it.
 * NULL: there is neither. */
static char *value_of(const struct mock *mock, enum mock_cloud cloud, const char *path)
{
	const char *set = json_text_or(mock->values, path, NULL);
	/* GKE's own server (workload identity) has few keys. */
	bool hides =
		mock->options.is_gke && cloud == MOCK_GCP && text_starts(path, GCP "instance/") &&
		!text_ends(path, "/") && !text_ends(path, "/id") && !text_ends(path, "/zone") &&
		!text_ends(path, "/hostname");

	if (set)
		return text_copy(set);
	for (size_t i = 0; !hides && i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].cloud == cloud && text_equal(values[i].path, path) &&
		    (values[i].event == ALWAYS || mock->fired[values[i].event].is_on) &&
		    /* The old name has terminations only. */
		    (mock->options.action == 0 || cloud != MOCK_AWS ||
		     !text_ends(path, "/termination-time")))
			return fill(mock, values[i].value);
	return NULL;
}

static void reply_with_page(struct httpd_reply *reply, int status, const char *title)
{
	mock_reply(reply, status, "text/html",
		   "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<html><head>"
		   "<title>%d - %s</title></head></html>\n",
		   status, title);
}

/* NULL: there is none. */
static void reply_with_value(struct httpd_reply *reply, const char *value)
{
	if (value)
		mock_reply(reply, 200, TEXT, "%s", value);
	else
		reply_with_page(reply, 404, "Not Found");
}

/* --- tokens: AWS, Alibaba --- */

static void issue_token(struct mock *mock, const char *asked, struct httpd_reply *reply)
{
	uint64_t ttl;

	if (!text_to_u64(asked, 21600, &ttl) || ttl == 0) {
		reply_with_page(reply, 400, "Bad Request");
		return;
	}
	mock_reply(reply, 200, TEXT, "%s%" PRId64, mock->secret,
		   clock_monotonic_ms() + (int64_t)ttl * 1000);
	httpd_reply_header(reply, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "%llu",
			   (unsigned long long)ttl);
}

/* How long the token is valid; 0: it is not. */
static int64_t token_left_ms(const struct mock *mock, const char *text)
{
	uint64_t expires_ms;

	return text && text_starts(text, mock->secret) &&
			       text_to_u64(text + strlen(mock->secret), INT64_MAX, &expires_ms)
		       ? clock_left_ms((int64_t)expires_ms)
		       : 0;
}

/* --- AWS: EC2's service, version 2 only (HttpTokens=required) --- */

static void reply_of_aws(struct mock *mock, const struct httpd_request *request,
			 struct httpd_reply *reply)
{
	auto_free char *value = value_of(mock, MOCK_AWS, request->path);
	bool is_put = text_equal(request->method, "PUT");
	bool is_token = text_equal(request->path, "/latest/api/token");
	bool is_read = text_equal(request->method, "GET") || text_equal(request->method, "HEAD");
	int64_t left_ms =
		token_left_ms(mock, httpd_request_header(request, "X-aws-ec2-metadata-token"));

	httpd_reply_header(reply, "Server", "EC2ws");
	/* A request that was forwarded by a proxy, has a trailing slash or a versioned path gets an
	 * empty reply, as from the real service. */
	if (is_put && is_token && !httpd_request_header(request, "X-Forwarded-For")) {
		issue_token(mock,
			    httpd_request_header(request, "X-aws-ec2-metadata-token-ttl-seconds"),
			    reply);
	} else if (is_put || !is_read || is_token) {
		mock_reply(reply, is_put ? 403 : 405, TEXT, "%s", "");
	} else if (left_ms == 0) {
		reply_with_page(reply, 401, "Unauthorized");
	} else {
		reply_with_value(reply, value);
		httpd_reply_header(reply, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "%lld",
				   (long long)(left_ms / 1000));
	}
}

/* --- Google: values with ETags, and GETs that hang until one changes --- */

/* FNV-1a over path and value: it changes with the value. */
static void format_etag(const char *path, const char *value, char etag[17])
{
	auto_free char *all = text_format("%s%s", path, value);
	uint64_t hash = 14695981039346656037u;

	for (const char *at = all; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	snprintf(etag, 17, "%016llx", (unsigned long long)hash);
}

/* Waits until the value no longer has the ETag `last`, the time is over, or the mock stops. A
 * client that has gone is noticed only when the reply is written. The caller frees; NULL: the key
 * was removed. */
static char *wait_for_change(struct mock *mock, const char *path, const char *last,
			     int64_t until_ms, char etag[17])
{
	for (;;) {
		int64_t at_ms = until_ms < mock->fire_at_ms ? until_ms : mock->fire_at_ms;
		auto_free char *value = NULL;

		mock_fire_due(mock);
		value = value_of(mock, MOCK_GCP, path);
		format_etag(path, value ? value : "", etag);
		if (!value || !last || !text_equal(etag, last) || clock_left_ms(until_ms) == 0 ||
		    mock->stopping)
			return steal(&value);
		condition_wait(&mock->changed, &mock->mutex,
			       at_ms == CLOCK_NEVER ? 60000 : clock_left_ms(at_ms));
	}
}

static void reply_of_gcp(struct mock *mock, const struct httpd_request *request,
			 struct httpd_reply *reply)
{
	const char *path = request->path, *timeout = httpd_request_query(request, "timeout_sec");
	const char *last = httpd_request_query(request, "last_etag");
	bool waits = text_equal(httpd_request_query(request, "wait_for_change"), "true");
	auto_free char *value = value_of(mock, MOCK_GCP, path), *changed = NULL;
	uint64_t seconds = 0;
	char etag[17] = "";

	httpd_reply_header(reply, "Metadata-Flavor", "Google");
	httpd_reply_header(reply, "Server", "%s",
			   mock->options.is_gke ? "GKE Metadata Server" : "Metadata Server for VM");
	if (httpd_request_header(request, "X-Forwarded-For")) {
		reply_with_page(reply, 403, "Forbidden: X-Forwarded-For is not allowed");
	} else if (!text_equal(httpd_request_header(request, "Metadata-Flavor"), "Google")) {
		reply_with_page(reply, 403, "Forbidden: missing Metadata-Flavor:Google header");
	} else if (!text_equal(request->method, "GET")) {
		reply_with_page(reply, 405, "Method Not Allowed");
	} else if (value && timeout && !text_to_u64(timeout, 86400, &seconds)) {
		reply_with_page(reply, 400, "Bad Request: timeout_sec is not a number");
	} else {
		/* Without last_etag it waits for the next change, so a change between two requests
		 * is lost, as with the real server. */
		format_etag(path, value ? value : "", etag);
		last = last ? last : etag;
		auto_free char *since = waits ? text_copy(last) : NULL;
		changed = wait_for_change(mock, path, since,
					  timeout ? clock_monotonic_ms() + (int64_t)seconds * 1000
						  : CLOCK_NEVER,
					  etag);
		reply_with_value(reply, changed);
		httpd_reply_header(reply, "ETag", "%s", etag);
	}
}

/* --- Azure: the VM's name, and its scheduled events --- */

static void reply_bad_request(struct httpd_reply *reply, const char *why)
{
	mock_reply(reply, 400, JSON,
		   "{ \"error\": \"Bad request. %s\", \"newest-versions\": [\"2025-04-07\", "
		   "\"2024-07-17\"] }",
		   why);
}

/* Stable for the life of the event, in the real form. */
static void format_event_id(const struct mock *mock, enum mock_event event, char id[37])
{
	snprintf(id, 37, "C7061BAC-AFDC-4513-B24B-%X%011llX", 0xE - event,
		 (unsigned long long)mock->fired[event].at_ms & 0xfffffffffffull);
}

static void add_event(const struct mock *mock, enum mock_event event, struct bytes *out)
{
	const struct mock_fired *fired = &mock->fired[event];
	bool freezes = event == MOCK_ADVICE;
	/* A freeze is announced 15 minutes ahead. */
	int64_t ahead_ms = freezes ? 15 * 60000 : mock->options.notice_ms;
	char id[37], at[32] = "";

	if (!fired->is_on)
		return;
	format_event_id(mock, event, id);
	if (!fired->is_started)
		datetime_rfc1123(fired->at_wall_ms + ahead_ms, at);
	bytes_format(out, NULL,
		     "%s{\"EventId\":\"%s\",\"EventStatus\":\"%s\",\"EventType\":\"%s\","
		     "\"ResourceType\":\"VirtualMachine\",\"Resources\":[\"%s%s\"],"
		     "\"NotBefore\":\"%s\",\"Description\":\"\",\"EventSource\":\"Platform\","
		     "\"DurationInSeconds\":%d}",
		     out->size > 0 ? "," : "", id, fired->is_started ? "Started" : "Scheduled",
		     freezes ? "Freeze" : "Preempt", mock->options.vm_name,
		     event == MOCK_FOREIGN ? "9" : "", at, freezes ? 5 : -1);
}

static void reply_with_events(const struct mock *mock, struct httpd_reply *reply)
{
	const char *set = json_text_or(mock->values, "/metadata/scheduledevents", NULL);
	auto_(bytes_release) struct bytes events = {0};

	for (int event = MOCK_EVENTS; event-- > 0;)
		add_event(mock, (enum mock_event)event, &events);
	if (set)
		mock_reply(reply, 200, JSON, "%s", set);
	else
		mock_reply(reply, 200, JSON, "{\"DocumentIncarnation\":%llu,\"Events\":[%.*s]}",
			   (unsigned long long)mock->changes, (int)events.size,
			   events.data ? (const char *)events.data : "");
}

static void start_events(struct mock *mock, const struct httpd_request *request,
			 struct httpd_reply *reply)
{
	auto_json json_t *document =
		json_parse(request->body ? request->body : "", request->body_size, NULL);
	json_t *list = json_object_get(document, "StartRequests"), *item;
	size_t i;

	mock_reply(reply, 200, JSON, "%s", "");
	if (!json_is_array(list))
		reply_bad_request(reply, "StartRequests is missing");
	json_array_foreach(list, i, item)
	{
		const char *asked = json_text_or(item, "EventId", NULL);

		if (!asked)
			reply_bad_request(reply, "EventId is missing");
		for (int event = 0; asked && event < MOCK_EVENTS; event++) {
			struct mock_fired *fired = &mock->fired[event];
			char id[37];

			format_event_id(mock, (enum mock_event)event, id);
			if (!fired->is_on || fired->is_started || strcasecmp(id, asked) != 0)
				continue;
			fired->is_started = true;
			mock->changes++;
		}
	}
}

static void reply_of_azure(struct mock *mock, const struct httpd_request *request,
			   struct httpd_reply *reply)
{
	const char *header = httpd_request_header(request, "Metadata");
	const char *version = httpd_request_query(request, "api-version");
	auto_free char *value = value_of(mock, MOCK_AZURE, request->path);
	const char *why = NULL;
	bool is_events = text_equal(request->path, "/metadata/scheduledevents");
	bool is_leaf = text_starts(request->path, "/metadata/instance/compute/");

	httpd_reply_header(reply, "Server", "IMDS/150.870.65.1325");
	if (!header || strcasecmp(header, "true") != 0)
		why = "Required metadata header not specified";
	else if (httpd_request_header(request, "X-Forwarded-For"))
		why = "X-Forwarded-For is not allowed";
	else if (!version || !text_starts(version, "20") || strlen(version) != 10)
		why = "api-version is invalid or was not specified in the request";
	else if (is_leaf && !text_equal(httpd_request_query(request, "format"), "text"))
		why = "format=text is required for a leaf";
	if (why)
		reply_bad_request(reply, why);
	else if (is_events && text_equal(request->method, "POST"))
		start_events(mock, request, reply);
	else if (!text_equal(request->method, "GET"))
		mock_reply(reply, 405, JSON, "{ \"error\": \"Method not allowed\" }");
	else if (is_events)
		reply_with_events(mock, reply);
	else if (value)
		mock_reply(reply, 200, is_leaf ? TEXT : JSON, "%s", value);
	else
		mock_reply(reply, 404, JSON, "{ \"error\": \"Not found\" }");
}

/* --- Alibaba and Tencent: a time under spot/termination-time once it is reclaimed --- */

static void reply_of_others(struct mock *mock, enum mock_cloud cloud,
			    const struct httpd_request *request, struct httpd_reply *reply)
{
	auto_free char *value = value_of(mock, cloud, request->path);
	const char *token = httpd_request_header(request, "X-aliyun-ecs-metadata-token");
	bool alibaba = cloud == MOCK_ALIBABA;

	if (alibaba && text_equal(request->method, "PUT") &&
	    text_equal(request->path, "/latest/api/token"))
		issue_token(mock,
			    httpd_request_header(request,
						 "X-aliyun-ecs-metadata-token-ttl-seconds"),
			    reply);
	else if (alibaba && mock->options.is_hardened && token_left_ms(mock, token) == 0)
		mock_reply(reply, 403, TEXT, "%s", "");
	else
		reply_with_value(reply, value);
}

static void reply_of_cloud(struct mock *mock, enum mock_cloud cloud,
			   const struct httpd_request *request, struct httpd_reply *reply)
{
	if (cloud == MOCK_AWS)
		reply_of_aws(mock, request, reply);
	else if (cloud == MOCK_GCP)
		reply_of_gcp(mock, request, reply);
	else if (cloud == MOCK_AZURE)
		reply_of_azure(mock, request, reply);
	else
		reply_of_others(mock, cloud, request, reply);
}
