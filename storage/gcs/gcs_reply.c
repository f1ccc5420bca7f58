#include "gcs_reply.h"

#include <stdlib.h>
#include <string.h>

/* A token that is signed with a clock this wrong is refused. */
#define SKEW_MOST_MS (5 * 60 * 1000)

struct rule {
	int status;
	const char *code; /* NULL: any */
	enum remote_verdict verdict;
	enum err_kind kind;
	const char *words; /* NULL: the service's */
};

/* The first that fits. Codes: "HTTP status and error codes for XML" of Google's manual. */
// clang-format off
static const struct rule rules[] = {
	{404, "NoSuchKey", REMOTE_FAILED, ERR_NOT_FOUND, "there is no such object"},
	{404, "NoSuchBucket", REMOTE_FAILED, ERR_INVALID, "there is no such bucket"},
	{400, "UserProjectMissing", REMOTE_FAILED, ERR_INVALID, "the bucket is requester-pays: name a project in GOOGLE_CLOUD_QUOTA_PROJECT"},
	/* What arrived is not what was sent: damaged on the way. */
	{400, "BadDigest", REMOTE_RETRY, ERR_RETRY, NULL},
	{400, "InvalidDigest", REMOTE_RETRY, ERR_RETRY, NULL},
	{400, "IncompleteBody", REMOTE_RETRY, ERR_RETRY, NULL},
	{400, "RequestTimeout", REMOTE_RETRY, ERR_RETRY, NULL},
	{400, "ExpiredToken", REMOTE_REFRESH, ERR_DENIED, NULL},
	{403, NULL, REMOTE_FAILED, ERR_DENIED, NULL},
	{405, NULL, REMOTE_FAILED, ERR_DENIED, NULL},
	{408, NULL, REMOTE_RETRY, ERR_RETRY, NULL},
	{409, NULL, REMOTE_RETRY, ERR_RETRY, NULL},
	{416, NULL, REMOTE_FAILED, ERR_CORRUPT, "the object is shorter than that"},
	{429, NULL, REMOTE_SLOW_DOWN, ERR_RETRY, NULL},
	{503, "SlowDown", REMOTE_SLOW_DOWN, ERR_RETRY, NULL},
	{507, NULL, REMOTE_FAILED, ERR_NO_SPACE, NULL},
};
// clang-format on

static enum remote_verdict say(
	const struct gcs_reply *reply, const struct rule *rule, struct err *err)
{
	const char *words = rule->words ? rule->words : reply->message;

	err_set(err, rule->kind, "%d%s%.64s%s%.200s", reply->status, reply->code[0] ? " " : "",
		reply->code, words[0] ? ": " : "", words);
	return rule->verdict;
}

static enum remote_verdict judge_precondition(const struct gcs_reply *reply, struct err *err)
{
	const struct rule exists = {
		.verdict = REMOTE_FAILED, .kind = ERR_EXISTS, .words = "it exists already"};
	const struct rule changed = {.verdict = REMOTE_RETRY, .kind = ERR_RETRY};

	return say(reply, reply->if_absent ? &exists : &changed, err);
}

static enum remote_verdict judge_unauthorized(const struct gcs_reply *reply, struct err *err)
{
	bool skewed = llabs((long long)reply->skew_ms) > SKEW_MOST_MS;
	const struct rule rule = {
		.verdict = reply->anonymous ? REMOTE_FAILED
			   : skewed         ? REMOTE_SKEWED
					    : REMOTE_REFRESH,
		.kind = ERR_DENIED,
	};

	return say(reply, &rule, err);
}

static bool is_strange(const struct gcs_reply *reply)
{
	return ((reply->is_get || reply->is_put) && !reply->is_tagged) ||
	       (reply->is_put && !reply->is_empty);
}

enum remote_verdict gcs_reply_judge(const struct gcs_reply *reply, struct err *err)
{
	const struct rule busy = {.verdict = REMOTE_RETRY, .kind = ERR_RETRY};
	const struct rule unknown = {.verdict = REMOTE_FAILED, .kind = ERR_FAILED};
	const struct rule strange = {
		.verdict = REMOTE_RETRY, .kind = ERR_RETRY, .words = REMOTE_STRANGE};

	if (reply->status >= 200 && reply->status < 300)
		return is_strange(reply) ? say(reply, &strange, err) : REMOTE_DONE;
	if (reply->status == 401)
		return judge_unauthorized(reply, err);
	if (reply->status == 412)
		return judge_precondition(reply, err);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].status == reply->status &&
			(!rules[i].code || strcmp(rules[i].code, reply->code) == 0))
			return say(reply, &rules[i], err);
	return say(reply, reply->status >= 500 && reply->status != 501 ? &busy : &unknown, err);
}
