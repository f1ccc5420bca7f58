#include "watcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum aws_access aws_access_decide(const struct aws_attempt *put, const struct aws_attempt *get,
				  bool tokenless_allowed)
{
	bool refused = put->status == 400 || put->status == 403 || put->status == 404 ||
		       put->status == 405;

	if (put->foreign || get->foreign)
		return AWS_FOREIGN;
	if (put->status == 200)
		return put->shaped ? AWS_WITH_TOKEN : AWS_FOREIGN;
	if (put->status == 0 && get->status == 0)
		return put->timed_out && get->timed_out ? AWS_ABSENT : AWS_REFUSED;
	if (!refused && !put->timed_out)
		return AWS_UNDECIDED;
	if (get->status == 401)
		return put->timed_out ? AWS_HOP_LIMIT : AWS_UNDECIDED;
	if (get->status == 403)
		return AWS_DISABLED;
	if (get->status == 200 && get->shaped)
		return tokenless_allowed ? AWS_TOKENLESS : AWS_HOP_LIMIT;
	if (get->status == 200 || get->status == 404 || get->status == 400)
		return AWS_FOREIGN;
	return AWS_UNDECIDED;
}

const char *aws_access_why(enum aws_access access)
{
	switch (access) {
	case AWS_HOP_LIMIT:
		return "token answers do not reach this container (hop limit 1): set "
		       "--http-put-response-hop-limit 2 with aws ec2 "
		       "modify-instance-metadata-options, "
		       "or use the host's network";
	case AWS_DISABLED:
		return "the metadata service is turned off (403): set --http-endpoint enabled with "
		       "aws "
		       "ec2 modify-instance-metadata-options";
	case AWS_ABSENT:
		return "nothing answers: this is not EC2, or a firewall rule blocks the metadata "
		       "service "
		       "(the cluster's network policy must allow it)";
	case AWS_FOREIGN:
		return "something else than EC2's metadata service answers: name the right cloud "
		       "with "
		       "--notice";
	case AWS_REFUSED:
		return "it refuses connections: it is being started, or a firewall rule blocks it "
		       "(the cluster's network policy must allow it)";
	case AWS_UNDECIDED:
	case AWS_WITH_TOKEN:
	case AWS_TOKENLESS:
	default:
		return "the token request was neither granted nor refused";
	}
}

bool aws_instance_reply(const struct reply *reply)
{
	char id[64];

	return reply->status == 200 && !reply->flavor && reply_text(reply, id, sizeof(id)) &&
	       text_starts(id, "i-") && strspn(id + 2, "0123456789abcdef") == strlen(id + 2) &&
	       id[2];
}

void aws_action_reply(const struct reply *reply, struct verdict *verdict)
{
	static const char *const actions[] = {"terminate", "stop", "hibernate", NULL};
	auto_json json_t *object = NULL;
	const char *action;
	int64_t when, left = AWS_NOTICE_GUESSED_MS;
	char at[32] = "a time that was not told";
	bool guessed = true;

	*verdict = (struct verdict){0};
	if (reply_is_absent(reply)) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	object = reply_json(reply, '{', verdict);
	if (!object)
		return;
	action = json_text_or(object, "action", NULL);
	if (!text_is_one_of(action, actions)) {
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 without a known action");
		return;
	}
	if (datetime_parse(json_text_or(object, "time", ""), &when)) {
		guessed = false;
		datetime_iso(when, at);
		if (!reply_left_ms(reply, when, AWS_NOTICE_MOST_MS, &left, verdict))
			return;
	}
	/*
	 * Freezing begins with the notice (EC2 user guide, "hibernation"): nothing can be made
	 * durable before it, and ending the job would lose what is frozen with it. A checkpoint
	 * that was begun is finished after the resumption.
	 */
	if (strcmp(action, "hibernate") == 0) {
		verdict_notice(
			verdict, NOTICE_ADVICE, "aws", action, CLOCK_NEVER, reply->arrived_ms,
			"spot hibernate at %s: the machine is being frozen with the job in its "
			"memory",
			at);
		return;
	}
	verdict_notice(verdict, NOTICE_STOP, "aws", action, reply->arrived_ms + left,
		       reply->arrived_ms, "spot %s at %s", action, at)
		->guessed = guessed;
}

void aws_rebalance_reply(const struct reply *reply, struct verdict *verdict)
{
	auto_json json_t *object = NULL;
	int64_t when;
	char at[32];

	*verdict = (struct verdict){0};
	if (reply_is_absent(reply)) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	object = reply_json(reply, '{', verdict);
	if (!object)
		return;
	if (!datetime_parse(json_text_or(object, "noticeTime", ""), &when)) {
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 without a noticeTime");
		return;
	}
	verdict_notice(verdict, NOTICE_ADVICE, "aws", "rebalance", CLOCK_NEVER, reply->arrived_ms,
		       "rebalance recommended at %s", datetime_iso(when, at));
}

/* --- the Auto Scaling group --- */

void aws_state_reply(const struct reply *reply, struct verdict *verdict)
{
	/* "Retrieving the target lifecycle state through instance metadata", EC2 Auto Scaling user
	 * guide. */
	static const char *const stays[] = {"InService", "Standby", "Detached", "Warmed:Running",
					    NULL};
	static const char *const ends[] = {"Warmed:Stopped", "Warmed:Terminated", "Terminated",
					   NULL};
	char state[64];

	/* 404 before the first transition, and outside any group. */
	*verdict = (struct verdict){0};
	if (reply_is_absent(reply)) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (reply->status != 200 || reply->flavor || !reply_text(reply, state, sizeof(state))) {
		verdict_unexpected(verdict, reply);
		return;
	}
	if (text_is_one_of(state, stays))
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (text_equal(state, "Warmed:Hibernated"))
		verdict_notice(verdict, NOTICE_ADVICE, "aws", "autoscaling", CLOCK_NEVER,
			       reply->arrived_ms,
			       "the Auto Scaling group hibernates this instance");
	else if (text_is_one_of(state, ends))
		verdict_notice(verdict, NOTICE_STOP, "aws", "autoscaling",
			       reply->arrived_ms + AWS_STATE_GUESSED_MS, reply->arrived_ms,
			       "the Auto Scaling group takes this instance out (%s)", state)
			->guessed = true;
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered an unknown lifecycle state");
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

/* The window may be hours long, and leaving before the machine does gains nothing: advice. */
static void add_maintenance(struct verdict *verdict, const struct reply *reply, json_t *event)
{
	const char *code = json_text_or(event, "Code", "");
	const char *id = json_text_or(event, "EventId", "");
	char at[32] = "a time that was not told", until[40] = "", end[32];
	auto_free char *identity = NULL;
	int64_t when, over, left = INT64_MAX;
	bool near;

	if (datetime_parse(json_text_or(event, "NotBefore", ""), &when)) {
		left = when - reply->arrived_wall_ms;
		datetime_iso(when, at);
	}
	/* NotAfter is often missing or empty. */
	if (datetime_parse(json_text_or(event, "NotAfter", ""), &over))
		snprintf(until, sizeof(until), " to %s", datetime_iso(over, end));
	near = ends_the_instance(code) && left <= AWS_MAINTENANCE_NEAR_MS && left >= -STALE_MS;
	identity = text_format("%s%s", id[0] ? id : code, near ? AWS_NEAR : "");
	verdict_notice(verdict, NOTICE_ADVICE, "aws", identity, CLOCK_NEVER, reply->arrived_ms,
		       "scheduled maintenance: %s at %s%s", code, at, until);
}

void aws_maintenance_reply(const struct reply *reply, struct verdict *verdict)
{
	auto_json json_t *list = NULL;
	json_t *event;
	size_t i;

	*verdict = (struct verdict){0};
	/* EC2 returns an empty list; imitations of it return 404. */
	if (reply_is_absent(reply)) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	list = reply_json(reply, '[', verdict);
	if (!list)
		return;
	verdict->kind = VERDICT_NEGATIVE;
	json_array_foreach(list, i, event)
	{
		if (!json_is_object(event) || !json_text_or(event, "Code", "")[0]) {
			verdict_set(verdict, VERDICT_UNKNOWN,
				    "answered JSON that is not a list of events");
			return;
		}
		if (event_is_ahead(event))
			add_maintenance(verdict, reply, event);
	}
}
