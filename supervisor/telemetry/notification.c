#include "notification.h"

#include "base/cleanup.h"
#include "base/http.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SLACK "slack:"

static bool is_slack(const char *url)
{
	static const char host[] = "https://hooks.slack.com/";

	return text_starts(url, SLACK) || strncasecmp(url, host, strlen(host)) == 0;
}

const char *notification_url(const char *url)
{
	return text_starts(url, SLACK) ? url + strlen(SLACK) : url;
}

static const char *time_left_text(const struct notification *notification, char *text,
				  size_t capacity)
{
	text[0] = '\0';
	if (notification->seconds_left >= 0)
		snprintf(text, capacity, ", %.0f s left", notification->seconds_left);
	return text;
}

char *notification_text(const struct notification *notification)
{
	const char *durable = notification->durable[0] ? notification->durable : "nothing";
	char left[40];

	if (text_equal(notification->event, "notice"))
		return text_format("%s: preemption notice from %s (%s)%s; durable: %s",
				   notification->job, notification->source, notification->reason,
				   time_left_text(notification, left, sizeof(left)), durable);
	if (text_equal(notification->event, "cancelled"))
		return text_format("%s: the preemption notice was withdrawn, the job continues; "
				   "durable: %s",
				   notification->job, durable);
	return text_format("%s: %s (exit %d), attempt %u on %s; durable: %s", notification->job,
			   notification->outcome, notification->exit_code, notification->attempt,
			   notification->host, durable);
}

char *notification_body(const char *url, const struct notification *notification)
{
	auto_free char *text = notification_text(notification);
	auto_json json_t *body = json_pack("{s:s}", "text", text);
	bool left = notification->seconds_left >= 0;

	if (!is_slack(url)) {
		auto_json json_t *facts =
			json_pack("{s:s, s:s, s:i, s:s, s:s?, s:s?, s:s?, s:o*, s:s, s:o*, s:o*}",
				  "event", notification->event, "job", notification->job, "attempt",
				  (int)notification->attempt, "host", notification->host, "outcome",
				  notification->outcome, "source", notification->source, "reason",
				  notification->reason, "seconds_left",
				  left ? json_real(notification->seconds_left) : NULL, "durable",
				  notification->durable, "exit_code",
				  notification->outcome ? json_integer(notification->exit_code)
							: NULL,
				  "labels",
				  notification->labels ? json_incref(notification->labels) : NULL);

		json_object_update(body, facts);
	}
	return json_dumps(body, JSON_COMPACT);
}

#define TIMEOUT_MS 5000
#define REPLY_LIMIT (64 * 1024)

char *notification_origin(const char *url)
{
	const char *colon = strstr(url, "://"), *host, *end, *at;

	if (!colon)
		return text_copy("the webhook");
	host = colon + 3;
	end = host + strcspn(host, "/?#");
	at = memrchr(host, '@', (size_t)(end - host));
	if (at)
		host = at + 1;
	/* No port: then it is the begin of a password with a '/' in it. */
	else if (*host != '[' && memchr(host, ':', (size_t)(end - host)) &&
		 !isdigit((unsigned char)strchr(host, ':')[1]))
		return text_copy("the webhook");
	return text_format("%.*s%.*s", (int)(colon + 3 - url), url, (int)(end - host), host);
}

int notification_post(const char *url, const char *body, struct cancel *cancel, struct err *err)
{
	static const char *const headers[] = {"Content-Type: application/json", NULL};
	auto_(http_response_release) struct http_response response = {.body.limit = REPLY_LIMIT};
	auto_(http_free) struct http *http = NULL;
	auto_free char *origin = notification_origin(url);
	struct http_request request = {
		.method = "POST",
		.url = url,
		.headers = headers,
		.body = body,
		.body_size = strlen(body),
		.connect_timeout_ms = TIMEOUT_MS,
		.timeout_ms = TIMEOUT_MS,
	};
	struct err own;

	if (http_new(&http, err) < 0)
		return -1;
	if (http_perform(http, &request, &response, cancel, &own) < 0) {
		/* Of all that can go wrong, this is known to name no part of the URL. */
		if (own.kind == ERR_DENIED)
			return err_set(err, own.kind, "%s: its certificate is not trusted: %s",
				       origin, own.text);
		return err_set(err, own.kind, "%s did not answer", origin);
	}
	if (response.status < 200 || response.status > 299)
		return err_set(err, ERR_FAILED, "%s answered %d", origin, response.status);
	return 0;
}
