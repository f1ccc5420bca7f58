#include "reply.h"
#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* --- the Auto Scaling group --- */

enum state_effect {
	STATE_UNKNOWN,
	STATE_STAYS,
	STATE_FREEZES,
	STATE_ENDS,
};

static enum state_effect effect_of_state(const char *state)
{
	/* "Retrieving the target lifecycle state through instance metadata", EC2
	 * Auto Scaling user guide. */
	static const struct {
		const char *state;
		enum state_effect effect;
	} rows[] = {
		{"InService", STATE_STAYS},
		{"Standby", STATE_STAYS},
		{"Detached", STATE_STAYS},
		{"Warmed:Running", STATE_STAYS},
		{"Warmed:Hibernated", STATE_FREEZES},
		{"Warmed:Stopped", STATE_ENDS},
		{"Warmed:Terminated", STATE_ENDS},
		{"Terminated", STATE_ENDS},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].state, state) == 0)
			return rows[i].effect;
	return STATE_UNKNOWN;
}

void aws_state_reply(const struct reply *reply, struct verdict *verdict)
{
	char state[64];

	/* 404 before the first transition, and outside any group. */
	if (reply->status == 404 && !reply->flavor && reply_first_char(reply) != '{') {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (reply->status != 200 || reply->flavor || !reply_text(reply, state, sizeof(state))) {
		verdict_unexpected(verdict, reply);
		return;
	}
	switch (effect_of_state(state)) {
	case STATE_STAYS:
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	case STATE_FREEZES:
		verdict_notice(verdict, NOTICE_ADVICE, "aws", "autoscaling", CLOCK_NEVER,
			       reply->arrived_ms,
			       "the Auto Scaling group hibernates this instance");
		return;
	case STATE_ENDS:
		verdict_notice(verdict, NOTICE_STOP, "aws", "autoscaling",
			       reply->arrived_ms + AWS_STATE_GUESSED_MS, reply->arrived_ms,
			       "the Auto Scaling group takes this instance out (%s)", state);
		verdict->notice.guessed = true;
		return;
	case STATE_UNKNOWN:
		verdict_set(verdict, VERDICT_UNKNOWN, "answered an unknown lifecycle state");
		return;
	}
}

/* --- scheduled maintenance --- */

/* Whether the event ends the instance. system-maintenance concerns network or power, and need
 * not. */
static bool ends_the_instance(const char *code)
{
	static const char *const codes[] = {"instance-stop", "instance-retirement",
					    "instance-reboot", "system-reboot", NULL};

	return text_is_one_of(code, codes);
}

static bool event_is_ahead(json_t *event)
{
	const char *state = json_text_or(event, "State", "active");
	const char *description = json_text_or(event, "Description", "");

	return strcmp(state, "active") == 0 && !text_starts(description, "[Canceled]") &&
	       !text_starts(description, "[Completed]");
}

/* Behind the identity of an event that is near. */
#define NEAR " near"

static void add_advice(struct aws_events *events, const struct reply *reply, const char *identity,
		       const char *reason)
{
	struct verdict verdict;

	if (events->count == AWS_EVENTS_MOST)
		return;
	verdict_notice(&verdict, NOTICE_ADVICE, "aws", identity, CLOCK_NEVER, reply->arrived_ms,
		       "%s", reason);
	events->notices[events->count++] = verdict.notice;
	events->kind = VERDICT_POSITIVE;
}

/* Adds advice, and once more when the event is near. The window may be hours long, and leaving
 * before the machine does gains nothing. */
static void add_maintenance(struct aws_events *events, const struct reply *reply, json_t *event)
{
	const char *code = json_text_or(event, "Code", "");
	const char *id = json_text_or(event, "EventId", "");
	char at[32] = "a time that was not told", until[40] = "", end[32];
	auto_free char *reason = NULL, *near = NULL;
	int64_t when, over, left = INT64_MAX;

	if (datetime_parse(json_text_or(event, "NotBefore", ""), &when)) {
		left = when - reply->arrived_wall_ms;
		datetime_iso(when, at);
	}
	/* NotAfter is often missing or empty. */
	if (datetime_parse(json_text_or(event, "NotAfter", ""), &over))
		snprintf(until, sizeof(until), " to %s", datetime_iso(over, end));
	if (!id[0])
		id = code;
	reason = text_format("scheduled maintenance: %s at %s%s", code, at, until);
	add_advice(events, reply, id, reason);
	if (ends_the_instance(code) && left <= AWS_MAINTENANCE_NEAR_MS && left >= -AWS_STALE_MS) {
		near = text_format("%s" NEAR, id);
		add_advice(events, reply, near, reason);
	}
}

void aws_maintenance_reply(const struct reply *reply, struct aws_events *events)
{
	auto_json json_t *list = NULL;
	struct verdict verdict;
	json_t *event;
	size_t i;

	*events = (struct aws_events){.kind = VERDICT_UNKNOWN};
	/* EC2 returns an empty list; imitations of it return 404. */
	if (reply->status == 404 && !reply->flavor && reply_first_char(reply) != '{') {
		events->kind = VERDICT_NEGATIVE;
		return;
	}
	if (reply->status == 200 && !reply->flavor && reply_first_char(reply) == '[')
		list = json_parse(reply->body, reply->size, NULL);
	if (!list) {
		verdict_unexpected(&verdict, reply);
		text_set(events->why, sizeof(events->why), verdict.why);
		return;
	}
	events->kind = VERDICT_NEGATIVE;
	json_array_foreach(list, i, event)
	{
		if (!json_is_object(event) || !json_text_or(event, "Code", "")[0]) {
			*events = (struct aws_events){
				.kind = VERDICT_UNKNOWN,
				.why = "answered JSON that is not a list of events",
			};
			return;
		}
		if (event_is_ahead(event))
			add_maintenance(events, reply, event);
	}
}

void aws_events_leave_out_far(struct aws_events *events, const struct notice *told, size_t count)
{
	struct aws_events all = *events;

	events->count = 0;
	for (size_t i = 0; i < all.count; i++) {
		auto_free char *near = text_format("%s" NEAR, all.notices[i].identity);

		if (!announced_has(all.notices, all.count, near) ||
		    announced_has(told, count, all.notices[i].identity))
			events->notices[events->count++] = all.notices[i];
	}
}
