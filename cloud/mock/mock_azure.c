/* Azure's instance metadata service: the VM's name, and its scheduled events. */
#include "mock_state.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define JSON "application/json; charset=utf-8"

static void reply_bad_request(struct httpd_reply *reply, const char *why)
{
	mock_reply(reply, 400, JSON, "{ \"error\": \"Bad request. %s\" }", why);
}

/* Stable for the life of the event, in the real form. */
static void format_event_id(const struct mock *mock, const struct mock_fired *fired, char kind,
			    char id[37])
{
	snprintf(id, 37, "%.8s-%.4s-4%.3s-8%.3s-%c%011llX", mock->nonce, mock->nonce + 8,
		 mock->nonce + 12, mock->nonce + 15, kind,
		 (unsigned long long)fired->at_ms & 0xfffffffffffull);
	for (char *at = id; *at; at++)
		if (*at >= 'a' && *at <= 'f')
			*at = (char)(*at - 'a' + 'A');
}

static void add_event(const struct mock *mock, json_t *events, const struct mock_fired *fired,
		      const char *type, char kind, const char *resource)
{
	char id[37], at[32] = "";
	int seconds = strcmp(type, "Freeze") == 0 ? 5 : -1;
	/* A freeze is announced 15 minutes ahead. */
	int64_t notice = strcmp(type, "Freeze") == 0 ? 15 * 60000 : mock->notice_ms;

	if (!fired->is_on)
		return;
	format_event_id(mock, fired, kind, id);
	if (!fired->is_started)
		datetime_rfc1123(fired->at_wall_ms + notice, at);
	json_array_append_new(events,
			      json_pack("{s:s, s:s, s:s, s:s, s:[s], s:s, s:s, s:s, s:i}",
					"EventId", id, "EventStatus",
					fired->is_started ? "Started" : "Scheduled", "EventType",
					type, "ResourceType", "VirtualMachine", "Resources",
					resource, "NotBefore", at, "Description", "", "EventSource",
					"Platform", "DurationInSeconds", seconds));
}

static void reply_with_json(struct httpd_reply *reply, json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT);

	mock_reply(reply, 200, JSON, "%s", text ? text : "{}");
	free(text);
	json_decref(document);
}

static void reply_with_events(const struct mock *mock, struct httpd_reply *reply)
{
	const char *set = mock_override_at(mock, "/metadata/scheduledevents");
	json_t *events;
	char other[80];

	if (set) {
		mock_reply(reply, 200, JSON, "%s", set);
		return;
	}
	events = json_array();
	snprintf(other, sizeof(other), "%s9", mock->vm_name);
	add_event(mock, events, &mock->locked.foreign, "Preempt", 'F', other);
	add_event(mock, events, &mock->locked.advice, "Freeze", 'A', mock->vm_name);
	add_event(mock, events, &mock->locked.stop, "Preempt", 'E', mock->vm_name);
	reply_with_json(reply, json_pack("{s:I, s:o}", "DocumentIncarnation",
					 (json_int_t)mock->locked.changes, "Events", events));
}

static void approve_event(struct mock *mock, struct mock_fired *fired, char kind, const char *asked)
{
	char id[37];

	format_event_id(mock, fired, kind, id);
	if (!fired->is_on || fired->is_started || strcasecmp(id, asked) != 0)
		return;
	fired->is_started = true;
	mock->locked.changes++;
}

static void handle_start_requests(struct mock *mock, const struct httpd_request *request,
				  struct httpd_reply *reply)
{
	auto_json json_t *document =
		json_parse(request->body ? request->body : "", request->body_size, NULL);
	json_t *list = json_object_get(document, "StartRequests"), *item;
	size_t i;

	if (!json_is_array(list)) {
		reply_bad_request(reply, "StartRequests is missing");
		return;
	}
	json_array_foreach(list, i, item)
	{
		const char *id = json_text_or(item, "EventId", NULL);

		if (!id) {
			reply_bad_request(reply, "EventId is missing");
			return;
		}
		approve_event(mock, &mock->locked.stop, 'E', id);
		approve_event(mock, &mock->locked.advice, 'A', id);
		approve_event(mock, &mock->locked.foreign, 'F', id);
	}
	mock_reply(reply, 200, JSON, "%s", "");
}

static bool version_is_known(const char *version, bool is_events)
{
	static const char *const events[] = {"2020-07-01", "2019-08-01", "2019-04-01", "2019-01-01",
					     "2017-11-01", "2017-08-01", NULL};
	static const char *const instance[] = {"2021-02-01", "2021-12-13", "2020-09-01",
					       "2019-03-11", "2018-10-01", "2017-08-01",
					       NULL};

	for (const char *const *known = is_events ? events : instance; *known; known++)
		if (strcmp(*known, version) == 0)
			return true;
	return false;
}

static json_t *describe_vm(const struct mock *mock)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "name", mock->vm_name, "location",
			 "westeurope", "osType", "Linux", "priority", "Spot", "evictionPolicy",
			 "Deallocate", "vmId", "13f56399-bd52-4150-9748-7190aae1ff21", "vmSize",
			 "Standard_ND96asr_v4");
}

static void reply_with_instance(struct mock *mock, const struct httpd_request *request,
				struct httpd_reply *reply)
{
	const char *leaf = request->path + strlen("/metadata/instance");
	json_t *compute, *value;

	if (strcmp(leaf, "") == 0 || strcmp(leaf, "/") == 0) {
		reply_with_json(reply, json_pack("{s:o}", "compute", describe_vm(mock)));
		return;
	}
	if (strcmp(leaf, "/compute") == 0 || strcmp(leaf, "/compute/") == 0) {
		reply_with_json(reply, describe_vm(mock));
		return;
	}
	compute = describe_vm(mock);
	value = text_starts(leaf, "/compute/")
			? json_object_get(compute, leaf + strlen("/compute/"))
			: NULL;
	if (!value)
		mock_reply(reply, 404, JSON, "{ \"error\": \"Not found\" }");
	else if (!text_equal(httpd_request_query(request, "format"), "text"))
		reply_bad_request(reply, "format=text is required for a leaf");
	else
		mock_reply(reply, 200, "text/plain; charset=utf-8", "%s", json_string_value(value));
	json_decref(compute);
}

void mock_azure_reply(struct mock *mock, const struct httpd_request *request,
		      struct httpd_reply *reply)
{
	const char *header = httpd_request_header(request, "Metadata");
	const char *version = httpd_request_query(request, "api-version");
	bool is_events = strcmp(request->path, "/metadata/scheduledevents") == 0;

	httpd_reply_header(reply, "Server", "IMDS/150.870.65.1325");
	if (!header || strcasecmp(header, "true") != 0)
		reply_bad_request(reply, "Required metadata header not specified");
	else if (httpd_request_header(request, "X-Forwarded-For"))
		reply_bad_request(reply, "X-Forwarded-For is not allowed");
	else if (!is_events && !text_starts(request->path, "/metadata/instance"))
		mock_reply(reply, 404, JSON, "{ \"error\": \"Not found\" }");
	else if (!version || !version_is_known(version, is_events))
		mock_reply(reply, 400, JSON,
			   "{ \"error\": \"Bad request. api-version is invalid or was not "
			   "specified in the request. For more information refer to "
			   "aka.ms/azureimds\", \"newest-versions\": [\"2025-04-07\", "
			   "\"2024-07-17\", \"2024-03-15\"] }");
	else if (is_events && strcmp(request->method, "POST") == 0)
		handle_start_requests(mock, request, reply);
	else if (strcmp(request->method, "GET") != 0)
		mock_reply(reply, 405, JSON, "{ \"error\": \"Method not allowed\" }");
	else if (is_events)
		reply_with_events(mock, reply);
	else
		reply_with_instance(mock, request, reply);
}
