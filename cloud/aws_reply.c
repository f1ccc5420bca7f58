#include "reply.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
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

/* EC2's 404 is an XHTML page; other clouds reply with JSON or with a header of their own. */
static bool reply_is_negative(const struct reply *reply)
{
	return reply->status == 404 && !reply->flavor && reply_first_char(reply) != '{';
}

static json_t *parse_object(const struct reply *reply, struct verdict *verdict)
{
	json_t *object = NULL;

	if (reply->status != 200 || reply->flavor || reply_first_char(reply) != '{')
		verdict_unexpected(verdict, reply);
	else if (!(object = json_parse(reply->body, reply->size, NULL)))
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 with broken JSON");
	return object;
}

void aws_action_reply(const struct reply *reply, struct verdict *verdict)
{
	static const char *const actions[] = {"terminate", "stop", "hibernate", NULL};
	auto_json json_t *object = NULL;
	const char *action;
	int64_t when, left = AWS_NOTICE_GUESSED_MS;
	char at[32] = "a time that was not told";
	bool guessed = true;

	if (reply_is_negative(reply)) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	object = parse_object(reply, verdict);
	if (!object)
		return;
	action = json_text_or(object, "action", NULL);
	if (!text_is_one_of(action, actions)) {
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 without a known action");
		return;
	}
	if (datetime_parse(json_text_or(object, "time", ""), &when)) {
		guessed = false;
		left = when - reply->arrived_wall_ms;
		datetime_iso(when, at);
		if (left < -AWS_STALE_MS) {
			verdict_set(verdict, VERDICT_NEGATIVE, "an old notice for %s is left over",
				    at);
			return;
		}
		if (left < 0)
			left = 0;
		if (left > AWS_NOTICE_MOST_MS)
			left = AWS_NOTICE_MOST_MS;
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
		       reply->arrived_ms, "spot %s at %s", action, at);
	verdict->notice.guessed = guessed;
}

void aws_rebalance_reply(const struct reply *reply, struct verdict *verdict)
{
	auto_json json_t *object = NULL;
	int64_t when;
	char at[32];

	if (reply_is_negative(reply)) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	object = parse_object(reply, verdict);
	if (!object)
		return;
	if (!datetime_parse(json_text_or(object, "noticeTime", ""), &when)) {
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 without a noticeTime");
		return;
	}
	verdict_notice(verdict, NOTICE_ADVICE, "aws", "rebalance", CLOCK_NEVER, reply->arrived_ms,
		       "rebalance recommended at %s", datetime_iso(when, at));
}
