#include "telemetry.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/held_directory.h"
#include "base/http.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- notices and their sources --- */

const char *notice_format(const struct notice *notice, char *buffer, size_t capacity)
{
	char left[32];

	switch (notice->kind) {
	case NOTICE_STOP:
		snprintf(buffer, capacity, "preemption notice from %s (%s): %s%s left",
			 notice->source, notice->reason, notice->guessed ? "about " : "",
			 text_duration(clock_left_ms(notice->deadline_ms), left, sizeof(left)));
		break;
	case NOTICE_CANCELLED:
		snprintf(buffer, capacity, "%s withdraws its notice (%s)", notice->source,
			 notice->reason);
		break;
	case NOTICE_ADVICE:
	case NOTICE_NONE:
		snprintf(buffer, capacity, "advice from %s: %s", notice->source, notice->reason);
		break;
	}
	return buffer;
}

json_t *notice_format_json(const struct notice *notice)
{
	static const char *const kinds[] = {
		[NOTICE_NONE] = "none",
		[NOTICE_ADVICE] = "advice",
		[NOTICE_STOP] = "stop",
		[NOTICE_CANCELLED] = "cancelled",
	};
	bool timed = notice->deadline_ms != CLOCK_NEVER && notice->kind == NOTICE_STOP;
	int64_t left = timed ? clock_left_ms(notice->deadline_ms) : 0;
	char deadline[32];

	return json_pack("{s:s, s:s, s:s, s:s, s:s?, s:o, s:b}", "kind", kinds[notice->kind],
			 "source", notice->source, "identity", notice->identity, "reason",
			 notice->reason, "deadline",
			 timed ? clock_format(clock_wall_ms() + left, deadline, sizeof(deadline))
			       : NULL,
			 "seconds_left", timed ? json_seconds(left) : json_null(), "guessed",
			 notice->guessed);
}

const char *notice_format_source(const struct source_state *state, char *buffer, size_t capacity)
{
	if (state->health == SOURCE_ARMED)
		snprintf(buffer, capacity, "notices from %s: armed (%s)%s%s", state->name,
			 state->endpoint, state->why[0] ? ", " : "", state->why);
	else
		snprintf(buffer, capacity, "notices from %s: %s: %s", state->name,
			 source_health_name(state->health), state->why);
	return buffer;
}

json_t *notice_format_source_json(const struct source_state *state)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "name", state->name, "health",
			 source_health_name(state->health), "why", state->why, "endpoint",
			 state->endpoint, "polls", (json_int_t)state->polls, "unknowns",
			 (json_int_t)state->unknowns);
}

json_t *notice_format_sources_json(struct cloud_watch *watch)
{
	struct source_state states[CLOUD_SOURCES_MOST];
	json_t *sources = json_array();
	size_t count = watch ? cloud_watch_states(watch, states, CLOUD_SOURCES_MOST) : 0;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(sources, notice_format_source_json(&states[i]));
	return sources;
}

void notice_format_write_file(const char *path, const struct notice *stop)
{
	auto_json json_t *about = NULL;
	auto_free char *text = NULL;

	if (!path)
		return;
	if (!stop) {
		held_directory_remove_file(path);
		return;
	}
	about = notice_format_json(stop);
	json_object_del(about, "seconds_left");
	text = json_line(about);
	if (text)
		held_directory_replace_file(path, text, strlen(text), NULL);
}

/* --- the webhook --- */

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

static char *notification_text(json_t *facts)
{
	const char *event = json_text_or(facts, "event", ""), *job = json_text_or(facts, "job", "");
	const char *durable = json_text_or(facts, "durable", "");
	char left[40] = "";

	if (!durable[0])
		durable = "nothing";
	if (json_is_number(json_object_get(facts, "seconds_left")))
		snprintf(left, sizeof(left), ", %.0f s left",
			 json_number_value(json_object_get(facts, "seconds_left")));
	if (text_equal(event, "notice"))
		return text_format("%s: preemption notice from %s (%s)%s; durable: %s", job,
				   json_text_or(facts, "source", ""),
				   json_text_or(facts, "reason", ""), left, durable);
	if (text_equal(event, "cancelled"))
		return text_format("%s: the preemption notice was withdrawn, the job continues; "
				   "durable: %s",
				   job, durable);
	return text_format("%s: %s (exit %lld), attempt %lld on %s; durable: %s", job,
			   json_text_or(facts, "outcome", ""),
			   (long long)json_number_or(facts, "exit_code", 0),
			   (long long)json_number_or(facts, "attempt", 0),
			   json_text_or(facts, "host", ""), durable);
}

char *notification_body(const char *url, json_t *facts)
{
	auto_free char *text = notification_text(facts);
	auto_json json_t *body = json_pack("{s:s}", "text", text);

	if (!is_slack(url))
		json_object_update(body, facts);
	return json_line(body);
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
