#include "reply.h"

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
	switch (reply->status) {
	case 403:
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "answered 403: the metadata service is turned off, or something "
			    "between adds X-Forwarded-For");
		break;
	case 429:
		verdict_set(verdict, VERDICT_UNKNOWN,
			    "answered 429: too many programs on this machine ask the metadata "
			    "service");
		break;
	default:
		verdict_set(verdict, VERDICT_UNKNOWN, "answered %d%s", reply->status, what);
	}
}

void verdict_notice(struct verdict *verdict, enum notice_kind kind, const char *source,
		    const char *identity, int64_t deadline_ms, int64_t seen_ms, const char *format,
		    ...)
{
	va_list args;

	*verdict = (struct verdict){.kind = VERDICT_POSITIVE};
	verdict->notice.kind = kind;
	verdict->notice.deadline_ms = deadline_ms;
	verdict->notice.seen_ms = seen_ms;
	text_set(verdict->notice.source, sizeof(verdict->notice.source), source);
	text_set(verdict->notice.identity, sizeof(verdict->notice.identity), identity);
	va_start(args, format);
	vsnprintf(verdict->notice.reason, sizeof(verdict->notice.reason), format, args);
	va_end(args);
	/* This text is printed on terminals and sent as JSON. */
	text_to_line(verdict->notice.identity);
	text_to_line(verdict->notice.reason);
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
