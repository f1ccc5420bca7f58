/* The replies of each cloud's metadata service. The table `values` has the constant ones; functions
 * make those that a notice changes, and check the protocol. */
#include "mock_state.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/workers.h"

#include <string.h>
#include <strings.h>
#include <time.h>

#define TEXT "text/plain"
#define JSON "application/json; charset=utf-8"
#define GCP "/computeMetadata/v1/"

// clang-format off
static const struct {
	enum mock_cloud cloud;
	const char *path, *value;
} values[] = {
	{MOCK_AWS, "/latest/meta-data/", "ami-id\nautoscaling/\nevents/\ninstance-id\ninstance-life-cycle\ninstance-type\nlocal-ipv4\nplacement/\nspot/"},
	{MOCK_AWS, "/latest/meta-data/ami-id", "ami-0123456789abcdef0"},
	{MOCK_AWS, "/latest/meta-data/instance-id", "i-1234567890abcdef0"},
	{MOCK_AWS, "/latest/meta-data/instance-life-cycle", "spot"},
	{MOCK_AWS, "/latest/meta-data/instance-type", "p4d.24xlarge"},
	{MOCK_AWS, "/latest/meta-data/local-ipv4", "172.16.34.43"},
	{MOCK_AWS, "/latest/meta-data/placement/availability-zone", "us-east-1a"},
	{MOCK_AWS, "/latest/meta-data/placement/region", "us-east-1"},
	{MOCK_AWS, "/latest/meta-data/autoscaling/target-lifecycle-state", "InService"},
	{MOCK_AWS, "/latest/meta-data/events/maintenance/scheduled", "[]"},
	{MOCK_AWS, "/latest/meta-data/events/maintenance/history", "[]"},
	{MOCK_AWS, "/latest/dynamic/instance-identity/document", "{\n  \"instanceId\" : \"i-1234567890abcdef0\",\n  \"region\" : \"us-east-1\",\n  \"version\" : \"2017-09-30\"\n}"},
	{MOCK_GCP, GCP, "instance/\nproject/\n"},
	{MOCK_GCP, GCP "instance/", "hostname\nid\nmachine-type\nmaintenance-event\nname\npreempted\nscheduling/\nzone\n"},
	{MOCK_GCP, GCP "instance/upcoming-maintenance", "{ \"error\": \"no notifications have been received yet, try again later\" }"},
	{MOCK_GCP, GCP "instance/id", "4520031799277581759"},
	{MOCK_GCP, GCP "instance/machine-type", "projects/123456789012/machineTypes/a2-highgpu-1g"},
	{MOCK_GCP, GCP "instance/zone", "projects/123456789012/zones/us-central1-a"},
	{MOCK_GCP, GCP "instance/scheduling/preemptible", "TRUE"},
	{MOCK_GCP, GCP "project/project-id", "reprieve-mock"},
	{MOCK_ALIBABA, "/latest/meta-data/instance-id", "i-bp67acfmxazb4ph0mock"},
	{MOCK_TENCENT, "/latest/meta-data/instance-id", "ins-0mock123"},
};
// clang-format on

/* Returns the text that the user has set for the path, else its constant text; NULL if it has none.
 */
static const char *value_of(const struct mock *mock, enum mock_cloud cloud, const char *path)
{
	const char *set = mock_value_at(mock, path);

	for (size_t i = 0; !set && i < sizeof(values) / sizeof(values[0]); i++)
		if (values[i].cloud == cloud && text_equal(values[i].path, path))
			set = values[i].value;
	return set;
}

static void reply_with_page(struct httpd_reply *reply, int status, const char *title)
{
	mock_reply(reply, status, "text/html",
		   "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<html><head>"
		   "<title>%d - %s</title></head></html>\n",
		   status, title);
}

/* --- tokens: AWS, Alibaba --- */

static void issue_token(struct mock *mock, const char *asked, struct httpd_reply *reply)
{
	uint64_t ttl;

	if (!text_to_u64(asked, 21600, &ttl) || ttl == 0) {
		reply_with_page(reply, 400, "Bad Request");
		return;
	}
	random_hex(mock->tokens[mock->next_token].text);
	mock->tokens[mock->next_token].expires_ms = clock_monotonic_ms() + (int64_t)ttl * 1000;
	mock_reply(reply, 200, TEXT, "%s", mock->tokens[mock->next_token].text);
	mock->next_token = (mock->next_token + 1) % MOCK_TOKENS_MOST;
	httpd_reply_header(reply, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "%llu",
			   (unsigned long long)ttl);
}

/* How long the token is valid; 0: it is not. */
static int64_t token_left_ms(const struct mock *mock, const char *text)
{
	for (size_t i = 0; text && text[0] && i < MOCK_TOKENS_MOST; i++)
		if (text_equal(mock->tokens[i].text, text))
			return clock_left_ms(mock->tokens[i].expires_ms);
	return 0;
}

/* --- AWS: EC2's service, version 2 only (HttpTokens=required) --- */

/* Values that exist only after an event was fired. Their times are the same in every reply. */
static bool reply_with_notice(const struct mock *mock, const char *key, struct httpd_reply *reply)
{
	const struct mock_fired *stop = &mock->fired[MOCK_STOP];
	const struct mock_fired *advice = &mock->fired[MOCK_ADVICE];
	char at[32], advised[32];

	datetime_iso(stop->at_wall_ms + mock->options.notice_ms, at);
	datetime_iso(advice->at_wall_ms, advised);
	if (advice->is_on && text_equal(key, "events/recommendations/rebalance"))
		mock_reply(reply, 200, TEXT, "{\"noticeTime\":\"%s\"}", advised);
	else if (stop->is_on && text_equal(key, "spot/instance-action"))
		mock_reply(reply, 200, TEXT, "{\"action\": \"%s\", \"time\": \"%s\"}", mock->action,
			   at);
	/* The old name has terminations only. */
	else if (stop->is_on && text_equal(key, "spot/termination-time") &&
		 text_equal(mock->action, "terminate"))
		mock_reply(reply, 200, TEXT, "%s", at);
	else if (stop->is_on && (text_equal(key, "spot") || text_equal(key, "spot/")))
		mock_reply(reply, 200, TEXT, "instance-action\ntermination-time");
	else
		return false;
	return true;
}

static void reply_of_aws(struct mock *mock, const struct httpd_request *request,
			 struct httpd_reply *reply)
{
	static const char base[] = "/latest/meta-data/";
	const char *path = request->path, *value = value_of(mock, MOCK_AWS, path);
	bool is_put = text_equal(request->method, "PUT");
	bool is_token = text_equal(path, "/latest/api/token");
	bool is_read = text_equal(request->method, "GET") || text_equal(request->method, "HEAD");
	int64_t left_ms =
		token_left_ms(mock, httpd_request_header(request, "X-aws-ec2-metadata-token"));

	httpd_reply_header(reply, "Server", "EC2ws");
	/* A request that was forwarded by a proxy, has a trailing slash or a versioned path gets an
	 * empty reply, as from the real service. */
	if (is_put && is_token && !httpd_request_header(request, "X-Forwarded-For"))
		issue_token(mock,
			    httpd_request_header(request, "X-aws-ec2-metadata-token-ttl-seconds"),
			    reply);
	else if (is_put || !is_read || is_token)
		mock_reply(reply, is_put ? 403 : 405, TEXT, "%s", "");
	else if (left_ms == 0)
		reply_with_page(reply, 401, "Unauthorized");
	else {
		if (text_equal(path, "/latest/meta-data/tags/instance/Name"))
			value = mock->vm_name;
		if (mock_value_at(mock, path) || !text_starts(path, base) ||
		    !reply_with_notice(mock, path + strlen(base), reply)) {
			if (value)
				mock_reply(reply, 200, TEXT, "%s", value);
			else
				reply_with_page(reply, 404, "Not Found");
		}
		httpd_reply_header(reply, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "%lld",
				   (long long)(left_ms / 1000));
	}
}

/* --- Google: values with ETags, and GETs that hang until one changes --- */

static const char *value_of_gcp(const struct mock *mock, const char *path)
{
	const char *key = text_starts(path, GCP "instance/") ? path + strlen(GCP "instance/") : "";
	const char *set = mock_value_at(mock, path);

	if (set)
		return set;
	/* GKE's own server (workload identity) has these keys only. */
	if (mock->options.is_gke && *key && !text_equal(key, "id") && !text_equal(key, "zone") &&
	    !text_equal(key, "hostname"))
		return NULL;
	if (text_equal(key, "preempted"))
		return mock->fired[MOCK_STOP].is_on ? "TRUE" : "FALSE";
	if (text_equal(key, "maintenance-event"))
		return mock->fired[MOCK_ADVICE].is_on ? "MIGRATE_ON_HOST_MAINTENANCE" : "NONE";
	if (text_equal(key, "name") || text_equal(key, "hostname"))
		return mock->vm_name;
	return value_of(mock, MOCK_GCP, path);
}

/* FNV-1a over path and value: it changes with the value. */
static void format_etag(const char *path, const char *value, char etag[17])
{
	uint64_t hash = 14695981039346656037u;

	for (const char *at = path; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	for (const char *at = value; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	snprintf(etag, 17, "%016llx", (unsigned long long)hash);
}

/* Waits until the value no longer has this ETag, the time is over, or the mock stops. A client that
 * has gone is noticed only when the reply is written. NULL: the key was removed. */
static const char *wait_for_change(struct mock *mock, const char *path, const char *last,
				   int64_t until_ms, char etag[17])
{
	for (;;) {
		int64_t at_ms = until_ms < mock->fire_at_ms ? until_ms : mock->fire_at_ms;
		const char *value;

		mock_fire_due(mock);
		value = value_of_gcp(mock, path);
		if (!value)
			return NULL;
		format_etag(path, value, etag);
		if (!last || !text_equal(etag, last) || clock_left_ms(until_ms) == 0 ||
		    mock->stopping)
			return value;
		condition_wait(&mock->changed, &mock->mutex,
			       at_ms == CLOCK_NEVER ? 60000 : clock_left_ms(at_ms));
	}
}

static void reply_of_gcp(struct mock *mock, const struct httpd_request *request,
			 struct httpd_reply *reply)
{
	const char *path = request->path, *timeout = httpd_request_query(request, "timeout_sec");
	const char *last = httpd_request_query(request, "last_etag"), *value;
	bool waits = text_equal(httpd_request_query(request, "wait_for_change"), "true");
	uint64_t seconds = 0;
	char etag[17] = "", now[17];

	httpd_reply_header(reply, "Metadata-Flavor", "Google");
	httpd_reply_header(reply, "Server", "%s",
			   mock->options.is_gke ? "GKE Metadata Server" : "Metadata Server for VM");
	value = value_of_gcp(mock, path);
	if (httpd_request_header(request, "X-Forwarded-For"))
		reply_with_page(reply, 403, "Forbidden: X-Forwarded-For is not allowed");
	else if (!text_equal(httpd_request_header(request, "Metadata-Flavor"), "Google"))
		reply_with_page(reply, 403, "Forbidden: missing Metadata-Flavor:Google header");
	else if (!text_equal(request->method, "GET"))
		reply_with_page(reply, 405, "Method Not Allowed");
	else if (text_equal(path, "/") || text_equal(path, "/computeMetadata/"))
		mock_reply(reply, 200, "application/text",
			   path[1] ? "v1/\n" : "computeMetadata/\n");
	else if (!value)
		reply_with_page(reply, 404, "Not Found");
	else if (timeout && !text_to_u64(timeout, 86400, &seconds))
		reply_with_page(reply, 400, "Bad Request: timeout_sec is not a number");
	else {
		format_etag(path, value, now);
		/* Without last_etag it waits for the next change, so a change between two requests
		 * is lost, as with the real server. */
		value = wait_for_change(mock, path,
					!waits ? NULL
					: last ? last
					       : now,
					timeout ? clock_monotonic_ms() + (int64_t)seconds * 1000
						: CLOCK_NEVER,
					etag);
		mock_reply(reply, value ? 200 : 404, "application/text", "%s", value ? value : "");
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

static void add_event(const struct mock *mock, json_t *events, enum mock_event event)
{
	const struct mock_fired *fired = &mock->fired[event];
	bool freezes = event == MOCK_ADVICE;
	char id[37], at[32] = "", vm[80];

	if (!fired->is_on)
		return;
	format_event_id(mock, event, id);
	snprintf(vm, sizeof(vm), "%s%s", mock->vm_name, event == MOCK_FOREIGN ? "9" : "");
	/* A freeze is announced 15 minutes ahead. */
	if (!fired->is_started)
		datetime_rfc1123(fired->at_wall_ms +
					 (freezes ? 15 * 60000 : mock->options.notice_ms),
				 at);
	json_array_append_new(events, json_pack("{s:s, s:s, s:s, s:s, s:[s], s:s, s:s, s:s, s:i}",
						"EventId", id, "EventStatus",
						fired->is_started ? "Started" : "Scheduled",
						"EventType", freezes ? "Freeze" : "Preempt",
						"ResourceType", "VirtualMachine", "Resources", vm,
						"NotBefore", at, "Description", "", "EventSource",
						"Platform", "DurationInSeconds", freezes ? 5 : -1));
}

/* Takes over `document`. */
static void reply_with_json(struct httpd_reply *reply, json_t *document)
{
	auto_free char *text = json_dumps(document, JSON_COMPACT);

	mock_reply(reply, 200, JSON, "%s", text ? text : "{}");
	json_decref(document);
}

static void reply_with_events(const struct mock *mock, struct httpd_reply *reply)
{
	const char *set = mock_value_at(mock, "/metadata/scheduledevents");
	json_t *events;

	if (set) {
		mock_reply(reply, 200, JSON, "%s", set);
		return;
	}
	events = json_array();
	add_event(mock, events, MOCK_FOREIGN);
	add_event(mock, events, MOCK_ADVICE);
	add_event(mock, events, MOCK_STOP);
	reply_with_json(reply, json_pack("{s:I, s:o}", "DocumentIncarnation",
					 (json_int_t)mock->changes, "Events", events));
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

static void reply_with_instance(const struct mock *mock, const struct httpd_request *request,
				struct httpd_reply *reply)
{
	const char *leaf = request->path + strlen("/metadata/instance");
	auto_json json_t *vm =
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", mock->vm_name, "location",
			  "westeurope", "priority", "Spot", "vmId",
			  "13f56399-bd52-4150-9748-7190aae1ff21", "vmSize", "Standard_ND96asr_v4");
	json_t *value = text_starts(leaf, "/compute/")
				? json_object_get(vm, leaf + strlen("/compute/"))
				: NULL;

	if (!*leaf || text_equal(leaf, "/"))
		reply_with_json(reply, json_pack("{s:O}", "compute", vm));
	else if (text_equal(leaf, "/compute") || text_equal(leaf, "/compute/"))
		reply_with_json(reply, json_incref(vm));
	else if (!value)
		mock_reply(reply, 404, JSON, "{ \"error\": \"Not found\" }");
	else if (!text_equal(httpd_request_query(request, "format"), "text"))
		reply_bad_request(reply, "format=text is required for a leaf");
	else
		mock_reply(reply, 200, TEXT, "%s", json_string_value(value));
}

static void reply_of_azure(struct mock *mock, const struct httpd_request *request,
			   struct httpd_reply *reply)
{
	const char *header = httpd_request_header(request, "Metadata");
	const char *version = httpd_request_query(request, "api-version");
	bool is_events = text_equal(request->path, "/metadata/scheduledevents");

	httpd_reply_header(reply, "Server", "IMDS/150.870.65.1325");
	if (!header || strcasecmp(header, "true") != 0)
		reply_bad_request(reply, "Required metadata header not specified");
	else if (httpd_request_header(request, "X-Forwarded-For"))
		reply_bad_request(reply, "X-Forwarded-For is not allowed");
	else if (!is_events && !text_starts(request->path, "/metadata/instance"))
		mock_reply(reply, 404, JSON, "{ \"error\": \"Not found\" }");
	else if (!version || !text_starts(version, "20") || strlen(version) != 10)
		reply_bad_request(reply,
				  "api-version is invalid or was not specified in the request");
	else if (is_events && text_equal(request->method, "POST"))
		start_events(mock, request, reply);
	else if (!text_equal(request->method, "GET"))
		mock_reply(reply, 405, JSON, "{ \"error\": \"Method not allowed\" }");
	else if (is_events)
		reply_with_events(mock, reply);
	else
		reply_with_instance(mock, request, reply);
}

/* --- Alibaba and Tencent: a time under spot/termination-time once it is reclaimed --- */

static void reply_of_others(struct mock *mock, enum mock_cloud cloud,
			    const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *path = request->path, *value = value_of(mock, cloud, path);
	int64_t end_ms = mock->fired[MOCK_STOP].at_wall_ms + mock->options.notice_ms;
	/* Tencent: Beijing time, eight hours ahead of UTC, without saying so. */
	time_t beijing = (time_t)end_ms / 1000 + 8 * 3600;
	bool alibaba = cloud == MOCK_ALIBABA;
	struct tm parts;
	char at[32];

	if (alibaba)
		datetime_iso(end_ms, at);
	else
		strftime(at, sizeof(at), "%Y-%m-%d %H:%M:%S", gmtime_r(&beijing, &parts));
	if (mock->fired[MOCK_STOP].is_on && !value &&
	    text_equal(path, alibaba ? "/latest/meta-data/instance/spot/termination-time"
				     : "/latest/meta-data/spot/termination-time"))
		value = at;
	if (alibaba && text_equal(request->method, "PUT") && text_equal(path, "/latest/api/token"))
		issue_token(mock,
			    httpd_request_header(request,
						 "X-aliyun-ecs-metadata-token-ttl-seconds"),
			    reply);
	else if (alibaba && mock->options.is_hardened &&
		 token_left_ms(mock,
			       httpd_request_header(request, "X-aliyun-ecs-metadata-token")) == 0)
		mock_reply(reply, 403, TEXT, "%s", "");
	else if (value)
		mock_reply(reply, 200, TEXT, "%s", value);
	else
		reply_with_page(reply, 404, "Not Found");
}

void mock_reply_of_cloud(struct mock *mock, enum mock_cloud cloud,
			 const struct httpd_request *request, struct httpd_reply *reply)
{
	switch (cloud) {
	case MOCK_AWS:
		reply_of_aws(mock, request, reply);
		return;
	case MOCK_GCP:
		reply_of_gcp(mock, request, reply);
		return;
	case MOCK_AZURE:
		reply_of_azure(mock, request, reply);
		return;
	case MOCK_ALIBABA:
	case MOCK_TENCENT:
		reply_of_others(mock, cloud, request, reply);
	}
}
