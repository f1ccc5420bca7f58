#include "reply.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* False: `verdict` is set, because the reply is not this server's or has no value. */
static bool read_value(const struct reply *reply, char *value, size_t capacity,
		       struct verdict *verdict)
{
	bool is_google = reply->flavor && text_equal(reply->flavor, "Google");
	bool is_gke = reply->server && strstr(reply->server, "GKE");

	if (is_google && reply->status == 404) {
		verdict_set(verdict, VERDICT_ABSENT, "%s",
			    is_gke ? "GKE's metadata server does not serve this key: use "
				     "hostNetwork, or rely on SIGTERM (about 15 s)"
				   : "the metadata server does not serve this key here (GKE's does "
				     "not): "
				     "use hostNetwork, or rely on SIGTERM");
		return false;
	}
	if (reply->status != 200) {
		verdict_unexpected(verdict, reply);
		return false;
	}
	if (!is_google) {
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "answered 200 without Metadata-Flavor: this is not Google's metadata "
			    "server");
		return false;
	}
	if (!reply_text(reply, value, capacity) || !value[0]) {
		verdict_unexpected(verdict, reply);
		return false;
	}
	return true;
}

bool gcp_notice_parse(const char *text, int64_t *milliseconds)
{
	return text_to_duration_ms(text, milliseconds) && *milliseconds > 0 &&
	       *milliseconds <= GCP_NOTICE_MOST_MS;
}

void gcp_preempted_reply(const struct reply *reply, const struct gcp_context *context,
			 struct verdict *verdict)
{
	char value[64];

	if (!read_value(reply, value, sizeof(value), verdict))
		return;
	if (strcmp(value, "FALSE") == 0)
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (strcmp(value, "TRUE") == 0)
		verdict_notice(verdict, NOTICE_STOP, "gcp", "preempted",
			       reply->arrived_ms + context->notice_ms, reply->arrived_ms,
			       "spot VM preempted");
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered neither TRUE nor FALSE");
	verdict->notice.guessed = verdict->kind == VERDICT_POSITIVE;
}

static void judge_termination(const struct reply *reply, const struct gcp_context *context,
			      struct verdict *verdict)
{
	int64_t end_ms = CLOCK_NEVER;

	if (context->since_ms != CLOCK_NEVER)
		end_ms = context->since_ms + GCP_MAINTENANCE_MS;
	if (end_ms == CLOCK_NEVER || end_ms - reply->arrived_ms > GCP_MAINTENANCE_NEAR_MS) {
		verdict_notice(verdict, NOTICE_ADVICE, "gcp", "maintenance", CLOCK_NEVER,
			       reply->arrived_ms,
			       "the VM will be stopped for host maintenance within the hour");
		return;
	}
	verdict_notice(verdict, NOTICE_STOP, "gcp", "maintenance",
		       end_ms > reply->arrived_ms ? end_ms : reply->arrived_ms, reply->arrived_ms,
		       "the VM is stopped for host maintenance");
	verdict->notice.guessed = true;
}

void gcp_maintenance_reply(const struct reply *reply, const struct gcp_context *context,
			   struct verdict *verdict)
{
	char value[64];

	if (!read_value(reply, value, sizeof(value), verdict))
		return;
	if (strcmp(value, "NONE") == 0)
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (strcmp(value, "MIGRATE_ON_HOST_MAINTENANCE") == 0)
		verdict_notice(verdict, NOTICE_ADVICE, "gcp", "migration", CLOCK_NEVER,
			       reply->arrived_ms, "the VM will be migrated for host maintenance");
	else if (strcmp(value, "TERMINATE_ON_HOST_MAINTENANCE") == 0)
		judge_termination(reply, context, verdict);
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered an unknown maintenance event");
}

/* Three spellings of one name: in the API, in the documentation's sample, and in one consumer. */
static const char *window_time(json_t *object, const char *camel, const char *snake,
			       const char *other, char buffer[32])
{
	const char *text = json_text_or(object, camel, NULL);
	int64_t when;

	if (!text)
		text = json_text_or(object, snake, NULL);
	if (!text && other)
		text = json_text_or(object, other, NULL);
	if (!text || !datetime_parse(text, &when))
		return NULL;
	return datetime_iso(when, buffer);
}

static void judge_upcoming(const struct reply *reply, json_t *object, struct verdict *verdict)
{
	char start[32], end[32], until[40] = "", identity[80];
	const char *at =
		window_time(object, "windowStartTime", "window_start_time", "startTime", start);
	const char *over = window_time(object, "windowEndTime", "window_end_time", NULL, end);
	const char *status = json_text_or(object, "maintenanceStatus",
					  json_text_or(object, "maintenance_status", ""));

	/* {} and {"error": "no notifications have been received yet, try again later"} both mean
	 * that there is none. */
	if (json_object_size(object) == 0 || json_object_get(object, "error")) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (!at) {
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "answered an upcoming maintenance without a time");
		return;
	}
	if (over)
		snprintf(until, sizeof(until), " to %s", over);
	/* Another time, or the beginning of the window, makes another identity and so is news. */
	snprintf(identity, sizeof(identity), "upcoming-maintenance %s%s", at,
		 text_equal(status, "ONGOING") ? " ongoing" : "");
	verdict_notice(verdict, NOTICE_ADVICE, "gcp", identity, CLOCK_NEVER, reply->arrived_ms,
		       "host maintenance %s %s%s",
		       text_equal(status, "ONGOING") ? "goes on since" : "is planned for", at,
		       until);
}

void gcp_upcoming_reply(const struct reply *reply, const struct gcp_context *context,
			struct verdict *verdict)
{
	auto_json json_t *object = NULL;
	char value[4096];

	(void)context;
	if (!read_value(reply, value, sizeof(value), verdict))
		return;
	if (strcmp(value, "NONE") == 0) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	object = value[0] == '{' ? json_parse(value, strlen(value), NULL) : NULL;
	if (!object)
		verdict_set(verdict, VERDICT_UNKNOWN, "answered no upcoming maintenance");
	else
		judge_upcoming(reply, object, verdict);
}

bool gcp_etag_is_usable(const char *etag)
{
	size_t length = 0;

	for (; etag && etag[length]; length++)
		if (!isalnum((unsigned char)etag[length]) || length == 64)
			return false;
	return length > 0;
}
