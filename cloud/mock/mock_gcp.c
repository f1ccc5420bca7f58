/* The Compute Engine metadata server: values with ETags, and GETs that hang until one changes. */
#include "mock_state.h"

#include "base/clock.h"
#include "base/workers.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define BASE "/computeMetadata/v1/"

/* NULL for a key that does not exist. */
static const char *value_of_key(const struct mock *mock, const char *key)
{
	static const struct {
		const char *key, *value;
	} rows[] = {
		{"", "instance/\nproject/\n"},
		{"instance/", "hostname\nid\nmachine-type\nmaintenance-"
			      "event\nname\npreempted\nscheduling/\n"
			      "zone\n"},
		{"instance/upcoming-maintenance", "{ \"error\": \"no notifications have been "
						  "received yet, try again later\" }"},
		{"instance/id", "4520031799277581759"},
		{"instance/machine-type", "projects/123456789012/machineTypes/a2-highgpu-1g"},
		{"instance/zone", "projects/123456789012/zones/us-central1-a"},
		{"instance/scheduling/", "automatic-restart\non-host-maintenance\npreemptible\n"},
		{"instance/scheduling/automatic-restart", "FALSE"},
		{"instance/scheduling/on-host-maintenance", "TERMINATE"},
		{"instance/scheduling/preemptible", "TRUE"},
		{"project/", "numeric-project-id\nproject-id\n"},
		{"project/numeric-project-id", "123456789012"},
		{"project/project-id", "reprieve-mock"},
	};

	char path[128];
	const char *set;

	snprintf(path, sizeof(path), BASE "%s", key);
	set = mock_override_at(mock, path);
	if (set)
		return set;
	/* GKE's own server (workload identity) has these keys only. */
	if (mock->is_gke && text_starts(key, "instance/") && strcmp(key, "instance/") != 0 &&
	    strcmp(key, "instance/id") != 0 && strcmp(key, "instance/zone") != 0 &&
	    strcmp(key, "instance/hostname") != 0)
		return NULL;
	if (strcmp(key, "instance/preempted") == 0)
		return mock->locked.stop.is_on ? "TRUE" : "FALSE";
	if (strcmp(key, "instance/maintenance-event") == 0)
		return mock->locked.advice.is_on ? "MIGRATE_ON_HOST_MAINTENANCE" : "NONE";
	if (strcmp(key, "instance/name") == 0 || strcmp(key, "instance/hostname") == 0)
		return mock->vm_name;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].key, key) == 0)
			return rows[i].value;
	return NULL;
}

/* FNV-1a over key and value: 16 hex digits that change with the value. */
static void format_etag(const char *key, const char *value, char etag[17])
{
	uint64_t hash = 14695981039346656037u;

	for (const char *at = key; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	for (const char *at = value; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211u;
	snprintf(etag, 17, "%016llx", (unsigned long long)hash);
}

/* Waits until the value no longer has this ETag, the time is over, or the mock stops. */
static void wait_for_change(struct mock *mock, const char *key, const char *last, int64_t until_ms)
{
	for (;;) {
		const char *value;
		char etag[17];
		int64_t at =
			until_ms < mock->locked.fire_at_ms ? until_ms : mock->locked.fire_at_ms;

		mock_fire_due(mock);
		value = value_of_key(mock, key);
		if (!value)
			return; /* the key was removed */
		format_etag(key, value, etag);
		if (strcmp(etag, last) != 0 || clock_left_ms(until_ms) == 0 ||
		    mock->locked.stopping)
			return;
		/* A client that has gone is noticed only when the reply is written. */
		if (at == CLOCK_NEVER)
			at = clock_monotonic_ms() + 60000;
		condition_wait(&mock->changed, &mock->mutex, clock_left_ms(at));
	}
}

static void reply_with_error(struct httpd_reply *reply, int status, const char *title,
			     const char *path, const char *why)
{
	mock_reply(reply, status, "text/html; charset=UTF-8",
		   "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n  <title>Error %d "
		   "(%s)!!1</title>\n"
		   "  <p><b>%d.</b> <ins>That's an error.</ins>\n  <p>%s <code>%s</code>\n",
		   status, title, status, why, path);
}

static void reply_with_key(struct mock *mock, const struct httpd_request *request,
			   struct httpd_reply *reply)
{
	const char *key = request->path + strlen(BASE);
	const char *wait = httpd_request_query(request, "wait_for_change");
	const char *last = httpd_request_query(request, "last_etag");
	const char *timeout = httpd_request_query(request, "timeout_sec");
	const char *value = value_of_key(mock, key);
	uint64_t seconds = 0;
	char etag[17];

	if (!value) {
		reply_with_error(reply, 404, "Not Found", request->path,
				 "The requested URL was not found:");
		return;
	}
	if (timeout && !text_to_u64(timeout, 86400, &seconds)) {
		reply_with_error(reply, 400, "Bad Request", request->path,
				 "timeout_sec is not a number:");
		return;
	}
	format_etag(key, value, etag);
	/* Without last_etag it waits for the next change, so a change between two requests is lost,
	 * as with the real server. */
	if (text_equal(wait, "true"))
		wait_for_change(mock, key, last ? last : etag,
				timeout ? clock_monotonic_ms() + (int64_t)seconds * 1000
					: CLOCK_NEVER);
	value = value_of_key(mock, key);
	if (!value) {
		reply_with_error(reply, 404, "Not Found", request->path, "It was taken away:");
		return;
	}
	format_etag(key, value, etag);
	mock_reply(reply, 200, "application/text", "%s", value);
	httpd_reply_header(reply, "ETag", "%s", etag);
}

void mock_gcp_reply(struct mock *mock, const struct httpd_request *request,
		    struct httpd_reply *reply)
{
	const char *path = request->path;

	httpd_reply_header(reply, "Metadata-Flavor", "Google");
	httpd_reply_header(reply, "Server", "%s",
			   mock->is_gke ? "GKE Metadata Server" : "Metadata Server for VM");
	httpd_reply_header(reply, "X-XSS-Protection", "0");
	httpd_reply_header(reply, "X-Frame-Options", "SAMEORIGIN");
	if (httpd_request_header(request, "X-Forwarded-For"))
		reply_with_error(reply, 403, "Forbidden", path, "X-Forwarded-For is not allowed:");
	else if (!text_equal(httpd_request_header(request, "Metadata-Flavor"), "Google"))
		reply_with_error(reply, 403, "Forbidden", path,
				 "Your client does not have permission. Missing "
				 "Metadata-Flavor:Google header:");
	else if (strcmp(request->method, "GET") != 0)
		reply_with_error(reply, 405, "Method Not Allowed", path, "Only GET:");
	else if (strcmp(path, "/") == 0)
		mock_reply(reply, 200, "application/text", "computeMetadata/\n");
	else if (strcmp(path, "/computeMetadata/") == 0)
		mock_reply(reply, 200, "application/text", "v1/\n");
	else if (text_starts(path, BASE))
		reply_with_key(mock, request, reply);
	else
		reply_with_error(reply, 404, "Not Found", path, "The requested URL was not found:");
}
