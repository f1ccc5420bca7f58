#include "reply.h"

#include "base/cleanup.h"
#include "base/clock.h"
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

/* --- what is not understood --- */

static bool is_known_member(json_t *object, const char *name)
{
	static const char *const names[] = {"kind", "reason", "deadline", "in_seconds",
					    /* of a notice that we print ourselves, as does
					     * `reprieve watch --json` */
					    "event", "time", "source", "identity", "guessed",
					    "approvable", NULL};

	return text_is_one_of(name, names) ||
	       (text_equal(name, "seconds_left") && json_object_get(object, "deadline"));
}

static void add_remark(char *why, size_t capacity, const char *name, const char *what)
{
	size_t length = strlen(why);
	char quoted[40];

	text_elide(quoted, sizeof(quoted), name);
	snprintf(why + length, capacity - length, "%s\"%s\" %s", length == 0 ? "but " : ", ",
		 quoted, what);
}

/* Says which members have no effect: the notice counts all the same. */
static void add_remarks(json_t *object, char *why, size_t capacity)
{
	json_t *seconds = json_object_get(object, "in_seconds"), *value;
	json_t *deadline = json_object_get(object, "deadline");
	const char *name;
	int64_t when;

	json_object_foreach(object, name, value) if (!is_known_member(object, name))
		add_remark(why, capacity, name, "is not known");
	if (why[0])
		snprintf(why + strlen(why), capacity - strlen(why), " (known are %s)",
			 "kind, reason, deadline, in_seconds");
	if (seconds && !(json_is_number(seconds) && json_number_value(seconds) >= 0))
		add_remark(why, capacity, "in_seconds", "is no number of seconds");
	if (deadline && !json_is_null(deadline) &&
	    !datetime_parse(json_text_or(object, "deadline", ""), &when))
		add_remark(why, capacity, "deadline", "is no time (write 2026-04-11T22:05:00Z)");
	text_to_line(why);
}

/* --- the verdict --- */

static void judge_content(const struct file_content *content, json_t *object, bool unreadable,
			  struct verdict *verdict)
{
	char reason[sizeof(verdict->notice.reason)] = "";
	const char *identity = identity_of_path(content->path), *kind;
	int64_t left, when;
	bool guessed;

	if (object)
		text_set(reason, sizeof(reason), json_text_or(object, "reason", ""));
	else if (!unreadable && !text_is_time(content, &when))
		set_reason(reason, sizeof(reason), content->text, content->size);
	if (!reason[0])
		snprintf(reason, sizeof(reason), "%.90s is there%s", identity,
			 unreadable ? ", but its JSON cannot be read" : "");
	kind = json_text_or(object, "kind", "stop");
	if (text_equal(kind, "none") || text_equal(kind, "cancelled")) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		verdict->notice.kind = NOTICE_CANCELLED;
		return;
	}
	if (text_equal(kind, "advice")) {
		verdict_notice(verdict, NOTICE_ADVICE, "file", identity, CLOCK_NEVER,
			       content->seen_ms, "%s", reason);
		return;
	}
	if (!text_equal(kind, "stop"))
		add_unknown_kind(reason, sizeof(reason), kind);
	left = read_deadline(content, object, &guessed) - content->seen_wall_ms;
	if (left < -FILE_STALE_MS) {
		verdict_set(verdict, VERDICT_NEGATIVE,
			    "the file is left over: its deadline is long over");
		return;
	}
	verdict_notice(verdict, NOTICE_STOP, "file", identity,
		       content->seen_ms + (left < 0 ? 0 : left), content->seen_ms, "%s", reason);
	verdict->notice.guessed = guessed;
}

void file_reply(const struct file_content *content, struct verdict *verdict)
{
	struct reply reply = {.body = content->text, .size = content->size};
	bool is_json = reply_first_char(&reply) == '{';
	auto_json json_t *object = is_json ? json_parse(content->text, content->size, NULL) : NULL;

	if (is_json && !object && !content->settled) {
		verdict_set(verdict, VERDICT_UNKNOWN, "the file's text is broken JSON");
		return;
	}
	judge_content(content, object, is_json && !object, verdict);
	if (object && !verdict->why[0])
		add_remarks(object, verdict->why, sizeof(verdict->why));
}
