/* The replies of each cloud's metadata service. The table `values` has what lies under a path;
 * functions check the protocol. */
#include "mock.h"

#include "base/clock.h"
#include "base/workers.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

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
	{MOCK_AWS, MOCK_STOP, META "spot", "instance-action\ntermination-time"},
	{MOCK_AWS, MOCK_STOP, META "spot/", "instance-action\ntermination-time"},
	{MOCK_AWS, ALWAYS, META "tags/instance/Name", "$N"},
	{MOCK_AWS, ALWAYS, META, "ami-id\nautoscaling/\nevents/\ninstance-id\ninstance-life-cycle\ninstance-type\nlocal-ipv4\nplacement/\nspot/"},
	{MOCK_AWS, ALWAYS, META "ami-id", "ami-0123456789abcdef0"},
	{MOCK_AWS, ALWAYS, META "instance-id", "i-1234567890abcdef0"},
	{MOCK_AWS, ALWAYS, META "instance-life-cycle", "spot"},
	{MOCK_AWS, ALWAYS, META "instance-type", "p4d.24xlarge"},
	{MOCK_AWS, ALWAYS, META "local-ipv4", "172.16.34.43"},
	{MOCK_AWS, ALWAYS, META "placement/availability-zone", "us-east-1a"},
	{MOCK_AWS, ALWAYS, META "placement/region", "us-east-1"},
	{MOCK_AWS, ALWAYS, META "autoscaling/target-lifecycle-state", "InService"},
	{MOCK_AWS, ALWAYS, META "events/maintenance/scheduled", "[]"},
	{MOCK_AWS, ALWAYS, META "events/maintenance/history", "[]"},
	{MOCK_AWS, ALWAYS, "/latest/dynamic/instance-identity/document", "{\n  \"instanceId\" : \"i-1234567890abcdef0\",\n  \"region\" : \"us-east-1\",\n  \"version\" : \"2017-09-30\"\n}"},
	{MOCK_GCP, MOCK_STOP, GCP "instance/preempted", "TRUE"},
	{MOCK_GCP, ALWAYS, GCP "instance/preempted", "FALSE"},
	{MOCK_GCP, MOCK_ADVICE, GCP "instance/maintenance-event", "MIGRATE_ON_HOST_MAINTENANCE"},
	{MOCK_GCP, ALWAYS, GCP "instance/maintenance-event", "NONE"},
	{MOCK_GCP, ALWAYS, GCP "instance/name", "$N"},
	{MOCK_GCP, ALWAYS, GCP "instance/hostname", "$N"},
	{MOCK_GCP, ALWAYS, "/", "computeMetadata/\n"},
	{MOCK_GCP, ALWAYS, "/computeMetadata/", "v1/\n"},
	{MOCK_GCP, ALWAYS, GCP, "instance/\nproject/\n"},
	{MOCK_GCP, ALWAYS, GCP "instance/", "hostname\nid\nmachine-type\nmaintenance-event\nname\npreempted\nscheduling/\nzone\n"},
	{MOCK_GCP, ALWAYS, GCP "instance/upcoming-maintenance", "{ \"error\": \"no notifications have been received yet, try again later\" }"},
	{MOCK_GCP, ALWAYS, GCP "instance/id", "4520031799277581759"},
	{MOCK_GCP, ALWAYS, GCP "instance/machine-type", "projects/123456789012/machineTypes/a2-highgpu-1g"},
	{MOCK_GCP, ALWAYS, GCP "instance/zone", "projects/123456789012/zones/us-central1-a"},
	{MOCK_GCP, ALWAYS, GCP "instance/scheduling/preemptible", "TRUE"},
	{MOCK_GCP, ALWAYS, GCP "project/project-id", "reprieve-mock"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance", "{\"compute\":{\"name\":\"$N\",\"location\":\"westeurope\",\"priority\":\"Spot\",\"vmId\":\"13f56399-bd52-4150-9748-7190aae1ff21\",\"vmSize\":\"Standard_ND96asr_v4\"}}"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance/compute/name", "$N"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance/compute/location", "westeurope"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance/compute/priority", "Spot"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance/compute/vmId", "13f56399-bd52-4150-9748-7190aae1ff21"},
	{MOCK_AZURE, ALWAYS, "/metadata/instance/compute/vmSize", "Standard_ND96asr_v4"},
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
	const char *const texts[] = {mock->options.vm_name, mock->options.action, end, there,
				     advised};
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

/* What the user has set for the path, else what the cloud has; the caller frees. NULL: nothing. */
static char *value_of(const struct mock *mock, enum mock_cloud cloud, const char *path)
{
	const char *set = json_text_or(mock->values, path, NULL);
	bool terminates = text_equal(mock->options.action, "terminate");
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
		    (terminates || cloud != MOCK_AWS || !text_ends(path, "/termination-time")))
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

void mock_reply_of_cloud(struct mock *mock, enum mock_cloud cloud,
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
