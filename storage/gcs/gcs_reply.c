#include "gcs_reply.h"

#include <stdlib.h>
#include <string.h>

/* A token that is signed with a clock this wrong is refused. */
#define SKEW_MOST_MS (5 * 60 * 1000)

struct reply_rule {
	int status;
	const char *code; /* NULL: any */
	enum call_verdict verdict;
	enum err_kind kind;
	const char *words; /* NULL: the service's */
};

/* The first that fits. Codes: "HTTP status and error codes for XML" of Google's manual. */
// clang-format off
static const struct reply_rule rules[] = {
	{404, "NoSuchKey", CALL_FAILED, ERR_NOT_FOUND, "there is no such object"},
	{404, "NoSuchBucket", CALL_FAILED, ERR_INVALID, "there is no such bucket"},
	{400, "UserProjectMissing", CALL_FAILED, ERR_INVALID,
		"the bucket is requester-pays: name a project in GOOGLE_CLOUD_QUOTA_PROJECT"},
	/* What arrived is not what was sent: damaged on the way. */
	{400, "BadDigest", CALL_RETRY, ERR_RETRY, NULL},
	{400, "InvalidDigest", CALL_RETRY, ERR_RETRY, NULL},
	{400, "IncompleteBody", CALL_RETRY, ERR_RETRY, NULL},
	{400, "RequestTimeout", CALL_RETRY, ERR_RETRY, NULL},
	{400, "ExpiredToken", CALL_REFRESH, ERR_DENIED, NULL},
	{403, NULL, CALL_FAILED, ERR_DENIED, NULL},
	{405, NULL, CALL_FAILED, ERR_DENIED, NULL},
	{408, NULL, CALL_RETRY, ERR_RETRY, NULL},
	{409, NULL, CALL_RETRY, ERR_RETRY, NULL},
	{416, NULL, CALL_FAILED, ERR_CORRUPT, "the object is shorter than that"},
	{429, NULL, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{503, "SlowDown", CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{507, NULL, CALL_FAILED, ERR_NO_SPACE, NULL},
};
// clang-format on

static enum call_verdict apply_rule(const struct gcs_reply *reply, const struct reply_rule *rule,
				    struct err *err)
{
	const char *words = rule->words ? rule->words : reply->message;

	err_set(err, rule->kind, "%d%s%.64s%s%.200s", reply->status, reply->code[0] ? " " : "",
		reply->code, words[0] ? ": " : "", words);
	return rule->verdict;
}

static enum call_verdict judge_precondition(const struct gcs_reply *reply, struct err *err)
{
	const struct reply_rule exists = {
		.verdict = CALL_FAILED,
		.kind = ERR_EXISTS,
		.words = "it exists already",
	};
	const struct reply_rule changed = {.verdict = CALL_RETRY, .kind = ERR_RETRY};

	return apply_rule(reply, reply->if_absent ? &exists : &changed, err);
}

static enum call_verdict judge_unauthorized(const struct gcs_reply *reply, struct err *err)
{
	bool skewed = llabs((long long)reply->skew_ms) > SKEW_MOST_MS;
	const struct reply_rule rule = {
		.verdict = reply->anonymous ? CALL_FAILED
			   : skewed         ? CALL_SKEWED
					    : CALL_REFRESH,
		.kind = ERR_DENIED,
	};

	return apply_rule(reply, &rule, err);
}

static bool is_foreign_reply(const struct gcs_reply *reply)
{
	return ((reply->is_get || reply->is_put) && !reply->is_tagged) ||
	       (reply->is_put && !reply->is_empty);
}

enum call_verdict gcs_reply_judge(const struct gcs_reply *reply, struct err *err)
{
	const struct reply_rule busy = {.verdict = CALL_RETRY, .kind = ERR_RETRY};
	const struct reply_rule unknown = {.verdict = CALL_FAILED, .kind = ERR_FAILED};
	const struct reply_rule strange = {
		.verdict = CALL_RETRY,
		.kind = ERR_RETRY,
		.words = CALL_FOREIGN_REPLY,
	};

	if (reply->status >= 200 && reply->status < 300)
		return is_foreign_reply(reply) ? apply_rule(reply, &strange, err) : CALL_DONE;
	if (reply->status == 401)
		return judge_unauthorized(reply, err);
	if (reply->status == 412)
		return judge_precondition(reply, err);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].status == reply->status &&
		    (!rules[i].code || strcmp(rules[i].code, reply->code) == 0))
			return apply_rule(reply, &rules[i], err);
	return apply_rule(reply, reply->status >= 500 && reply->status != 501 ? &busy : &unknown,
			  err);
}
