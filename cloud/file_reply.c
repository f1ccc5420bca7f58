#include "file_reply.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/datetime.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* The end of a long path is more telling than its beginning. */
static const char *identity_of_path(const char *path)
{
	size_t most = sizeof(((struct notice *)NULL)->identity) - 1, length = strlen(path);

	return length > most ? path + length - most : path;
}

static void set_reason(char *reason, size_t capacity, const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && length < capacity - 1 && (unsigned char)text[length] >= ' ') {
		reason[length] = text[length];
		length++;
	}
	while (length && reason[length - 1] == ' ')
		length--;
	reason[length] = '\0';
}

/* True if the whole text is a time: then it is the deadline. */
static bool text_is_time(const struct file_content *content, int64_t *when)
{
	char text[64] = "";

	if (content->size >= sizeof(text))
		return false;
	set_reason(text, sizeof(text), content->text, content->size);
	return datetime_parse(text, when);
}

static int64_t read_deadline(const struct file_content *content, json_t *object, bool *guessed)
{
	json_t *seconds = json_object_get(object, "in_seconds");
	int64_t when;

	*guessed = false;
	if (!object && text_is_time(content, &when))
		return when;
	if (datetime_parse(json_text_or(object, "deadline", ""), &when))
		return when;
	if (json_is_number(seconds) && json_number_value(seconds) >= 0 &&
	    json_number_value(seconds) < 1e9)
		return content->appeared_wall_ms + (int64_t)(json_number_value(seconds) * 1000);
	*guessed = true;
	return content->appeared_wall_ms + FILE_NOTICE_MS;
}

/* An unknown kind means something, and a stop is the safe interpretation. */
static void add_unknown_kind(char *reason, size_t capacity, const char *kind)
{
	auto_free char *before = text_copy(reason);

	snprintf(reason, capacity, "%.80s (its kind \"%.24s\" is not known: taken for a stop)",
		 before, kind);
}

void file_reply(const struct file_content *content, struct verdict *verdict)
{
	struct reply reply = {.body = content->text, .size = content->size};
	auto_json json_t *object = NULL;
	char reason[sizeof(verdict->notice.reason)] = "";
	const char *identity = identity_of_path(content->path), *kind;
	int64_t left, when;
	bool guessed, unreadable = false;

	if (reply_first_char(&reply) == '{') {
		object = json_parse(content->text, content->size, NULL);
		if (!object && !content->settled) {
			verdict_set(verdict, VERDICT_UNKNOWN, "the %s's text is broken JSON",
				    content->source);
			return;
		}
		unreadable = !object;
		text_set(reason, sizeof(reason), json_text_or(object, "reason", ""));
	} else if (!text_is_time(content, &when)) {
		set_reason(reason, sizeof(reason), content->text, content->size);
	}
	if (!reason[0] && text_equal(content->source, "file"))
		snprintf(reason, sizeof(reason), "%.90s is there%s", identity,
			 unreadable ? ", but its JSON cannot be read" : "");
	else if (!reason[0])
		text_set(reason, sizeof(reason), "the notice command says so");
	kind = json_text_or(object, "kind", "stop");
	if (text_equal(kind, "none") || text_equal(kind, "cancelled")) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		verdict->notice.kind = NOTICE_CANCELLED;
		return;
	}
	if (text_equal(kind, "advice")) {
		verdict_notice(verdict, NOTICE_ADVICE, content->source, identity, CLOCK_NEVER,
			       content->seen_ms, "%s", reason);
		return;
	}
	if (!text_equal(kind, "stop"))
		add_unknown_kind(reason, sizeof(reason), kind);
	left = read_deadline(content, object, &guessed) - content->seen_wall_ms;
	if (left < -FILE_STALE_MS) {
		verdict_set(verdict, VERDICT_NEGATIVE,
			    "the %s is left over: its deadline is long over", content->source);
		return;
	}
	verdict_notice(verdict, NOTICE_STOP, content->source, identity,
		       content->seen_ms + (left < 0 ? 0 : left), content->seen_ms, "%s", reason);
	verdict->notice.guessed = guessed;
}
