#include "reply.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum effect {
	EFFECT_UNKNOWN,
	EFFECT_NONE,
	EFFECT_STOP,
};

static enum effect effect_of_type(const char *type)
{
	static const struct {
		const char *type;
		enum effect effect;
	} rows[] = {
		{"Freeze", EFFECT_NONE}, /* a pause of seconds, which does not affect training */
		{"Reboot", EFFECT_STOP},  {"Redeploy", EFFECT_STOP},
		{"Preempt", EFFECT_STOP}, {"Terminate", EFFECT_STOP},
	};

	for (size_t i = 0; type && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(type, rows[i].type) == 0)
			return rows[i].effect;
	return EFFECT_UNKNOWN;
}

bool azure_name_reply(const struct reply *reply, char name[AZURE_NAME_MOST])
{
	if (reply->status != 200 || reply->flavor || !reply_text(reply, name, AZURE_NAME_MOST) ||
	    !name[0])
		return false;
	for (const char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
			return false;
	return true;
}

static bool event_concerns_vm(json_t *event, const char *name)
{
	json_t *resources = json_object_get(event, "Resources"), *resource;
	size_t i;

	json_array_foreach(resources, i, resource) if (json_is_string(resource) &&
						       strcasecmp(json_string_value(resource),
								  name) == 0) return true;
	return false;
}

/* A number, possibly written as a string. */
static bool is_number(json_t *value)
{
	uint64_t ignored;

	return json_is_integer(value) ||
	       text_to_u64(json_string_value(value), UINT64_MAX, &ignored);
}

static void add_event_notice(struct azure_events *events, const struct reply *reply, json_t *event)
{
	const char *id = json_text_or(event, "EventId", ""),
		   *type = json_text_or(event, "EventType", "");
	const char *status = json_text_or(event, "EventStatus", "");
	int64_t when, left = AZURE_STARTED_MS;
	char at[32] = "once";
	struct verdict verdict;
	bool is_far;

	if (datetime_parse(json_text_or(event, "NotBefore", ""), &when)) {
		left = when - reply->arrived_wall_ms;
		if (left < 0)
			left = 0;
		datetime_iso(when, at);
	}
	is_far = left > AZURE_FAR_MS;
	verdict_notice(&verdict, is_far ? NOTICE_ADVICE : NOTICE_STOP, "azure", id,
		       is_far ? CLOCK_NEVER : reply->arrived_ms + left, reply->arrived_ms,
		       "%s %s, at %s", type,
		       strcmp(status, "Started") == 0 ? "started" : "scheduled", at);
	verdict.notice.guessed = strcmp(at, "once") == 0;
	/* An approval covers all machines of the event, so this must be the only one. */
	verdict.notice.approvable = strcmp(status, "Scheduled") == 0 &&
				    json_array_size(json_object_get(event, "Resources")) == 1;
	events->notices[events->count++] = verdict.notice;
	events->kind = VERDICT_POSITIVE;
}

static void set_unknown(struct azure_events *events, const char *why)
{
	/* A notice that was understood counts, whatever else is in the list. */
	if (events->kind != VERDICT_POSITIVE)
		events->kind = VERDICT_UNKNOWN;
	text_set(events->why, sizeof(events->why), why);
}

static void read_event(struct azure_events *events, const struct reply *reply, json_t *event,
		       const char *name)
{
	const char *id = json_text_or(event, "EventId", "");
	const char *status = json_text_or(event, "EventStatus", "");
	enum effect effect = effect_of_type(json_text_or(event, "EventType", NULL));

	if (!id[0] || !json_is_array(json_object_get(event, "Resources"))) {
		set_unknown(events, "an event without EventId or Resources");
		return;
	}
	if (!name[0]) {
		set_unknown(events, "an event is announced, but this VM's own name is not known");
		return;
	}
	if (!event_concerns_vm(event, name)) {
		events->others++;
		return;
	}
	if (effect == EFFECT_UNKNOWN) {
		set_unknown(events, "an event of an unknown type for this VM");
		return;
	}
	/* Completed and Canceled events are over, as if they had disappeared. */
	if (effect == EFFECT_NONE ||
	    (strcmp(status, "Scheduled") != 0 && strcmp(status, "Started") != 0))
		return;
	if (events->count < AZURE_EVENTS_MOST)
		add_event_notice(events, reply, event);
}

void azure_events_reply(const struct reply *reply, const char *name, struct azure_events *events)
{
	auto_json json_t *document = NULL;
	struct verdict verdict;
	json_t *list, *event;
	size_t i;

	*events = (struct azure_events){.kind = VERDICT_UNKNOWN};
	if (reply->status == 200 && reply_first_char(reply) == '{' && !reply->flavor)
		document = json_parse(reply->body, reply->size, NULL);
	if (!document) {
		verdict_unexpected(&verdict, reply);
		text_set(events->why, sizeof(events->why), verdict.why);
		return;
	}
	list = json_object_get(document, "Events");
	if (!json_is_array(list) || !is_number(json_object_get(document, "DocumentIncarnation"))) {
		set_unknown(events, "answered JSON that is not a list of scheduled events");
		return;
	}
	events->kind = VERDICT_NEGATIVE;
	json_array_foreach(list, i, event) read_event(events, reply, event, name);
}
