#include "watcher.h"

#include "base/clock.h"
#include "base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void verdict_set(struct verdict *verdict, enum verdict_kind kind, const char *format, ...)
{
	va_list args;

	*verdict = (struct verdict){.kind = kind};
	va_start(args, format);
	vsnprintf(verdict->why, sizeof(verdict->why), format, args);
	va_end(args);
}

void verdict_unexpected(struct verdict *verdict, const struct reply *reply)
{
	const char *what = "";

	if (reply->size == 0)
		what = " without a body";
	else if (reply_first_char(reply) == '<')
		what = " with an HTML page";
	if (reply->status == 403)
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "answered 403: the metadata service is turned off, or something "
			    "between adds X-Forwarded-For");
	else if (reply->status == 429)
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "answered 429: too many programs on this machine ask the metadata "
			    "service");
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered %d%s", reply->status, what);
}

struct notice *verdict_notice(struct verdict *verdict, enum notice_kind kind, const char *source,
			      const char *identity, int64_t deadline_ms, int64_t seen_ms,
			      const char *format, ...)
{
	struct notice *notice;
	va_list args;

	verdict->kind = VERDICT_POSITIVE;
	/* One more than there is room for counts for nothing. */
	notice = &verdict->notices[verdict->count];
	verdict->count += verdict->count < VERDICT_NOTICES;
	*notice = (struct notice){.kind = kind, .deadline_ms = deadline_ms, .seen_ms = seen_ms};
	text_set(notice->source, sizeof(notice->source), source);
	text_set(notice->identity, sizeof(notice->identity), identity);
	va_start(args, format);
	vsnprintf(notice->reason, sizeof(notice->reason), format, args);
	va_end(args);
	/* This text is printed on terminals and sent as JSON. */
	text_to_line(notice->identity);
	text_to_line(notice->reason);
	return notice;
}

bool reply_is_absent(const struct reply *reply)
{
	return reply->status == 404 && !reply->flavor && reply_first_char(reply) != '{';
}

json_t *reply_json(const struct reply *reply, char first, struct verdict *verdict)
{
	json_t *json = NULL;

	if (reply->status != 200 || reply->flavor || reply_first_char(reply) != first)
		verdict_unexpected(verdict, reply);
	else if (!(json = json_parse(reply->body, reply->size, NULL)))
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 with broken JSON");
	return json;
}

bool reply_left_ms(const struct reply *reply, int64_t when, int64_t most_ms, int64_t *left_ms,
		   struct verdict *verdict)
{
	int64_t left = when - reply->arrived_wall_ms;
	char at[32];

	*left_ms = left < 0 ? 0 : left > most_ms ? most_ms : left;
	if (left < -STALE_MS)
		verdict_set(verdict, VERDICT_NEGATIVE, "an old notice for %s is left over",
			    datetime_iso(when, at));
	return left >= -STALE_MS;
}

bool reply_text(const struct reply *reply, char *buffer, size_t capacity)
{
	const char *start = reply->body, *end;

	buffer[0] = '\0';
	if (reply->size == 0)
		return true;
	end = start + reply->size;
	while (start < end && isspace((unsigned char)*start))
		start++;
	while (end > start && isspace((unsigned char)end[-1]))
		end--;
	if ((size_t)(end - start) >= capacity || memchr(start, '\0', (size_t)(end - start)))
		return false;
	memcpy(buffer, start, (size_t)(end - start));
	buffer[end - start] = '\0';
	return true;
}

char reply_first_char(const struct reply *reply)
{
	for (size_t i = 0; i < reply->size; i++)
		if (!isspace((unsigned char)reply->body[i]))
			return reply->body[i];
	return '\0';
}

int64_t reply_wall_clock(const char *date, int64_t our_wall_ms)
{
	int64_t theirs;

	/* Date has whole seconds, and was set before the reply travelled. */
	if (!date || !datetime_parse(date, &theirs) ||
	    (our_wall_ms - theirs > -2000 && our_wall_ms - theirs < 3000))
		return our_wall_ms;
	return theirs + 500;
}

/* --- requests --- */

void metadata_request_reply(const struct instance_metadata *client, struct reply *reply)
{
	const struct http_response *response = &client->response;

	*reply = (struct reply){
		.status = response->status,
		.body = (const char *)response->body.data,
		.size = response->body.size,
		.flavor = http_header(response, "Metadata-Flavor"),
		.etag = http_header(response, "ETag"),
		.server = http_header(response, "Server"),
		.arrived_ms = response->arrived_ms,
		.arrived_wall_ms = reply_wall_clock(http_header(response, "Date"), clock_wall_ms()),
	};
}

bool metadata_request_once(struct instance_metadata *client, enum metadata_service service,
			   const char *endpoint, const char *path, int64_t timeout_ms,
			   struct reply *reply, struct cancel *cancel)
{
	if (instance_metadata_open(client, service, endpoint, timeout_ms, NULL) < 0 ||
	    instance_metadata_get(client, path, cancel, NULL) < 0)
		return false;
	metadata_request_reply(client, reply);
	return true;
}

bool watcher_open(struct watcher *watcher, enum metadata_service service, int64_t timeout_ms,
		  struct instance_metadata *client)
{
	const char *endpoint = watcher->shared->environment.endpoints[service].url;
	struct err err;

	if (instance_metadata_open(client, service, endpoint, timeout_ms, &err) < 0) {
		watcher_report(watcher, SOURCE_UNAVAILABLE, err.text);
		instance_metadata_close(client);
		return false;
	}
	watcher_set_endpoint(watcher, endpoint);
	return true;
}

bool watcher_get(struct watcher *watcher, struct instance_metadata *client, const char *path,
		 struct reply *reply, struct verdict *verdict)
{
	struct err err;

	if (instance_metadata_get(client, path, &watcher->shared->cancel, &err) < 0) {
		*reply = (struct reply){0};
		verdict_set(verdict, VERDICT_UNKNOWN, "%s", err.text);
		return false;
	}
	metadata_request_reply(client, reply);
	return true;
}
