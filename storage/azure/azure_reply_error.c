#include "azure_reply_error.h"

#include <stdlib.h>
#include <string.h>

/* A signature is good for 15 minutes. */
#define SKEW_MOST_MS (10 * 60 * 1000)

struct reply_rule {
	int status;
	const char *code; /* NULL: any */
	enum call_verdict verdict;
	enum err_kind kind;
	const char *words; /* NULL: the service's */
};

/* The first that fits. Codes: "Blob service error codes" and "Common REST API error codes" of
 * Microsoft's manual. */
// clang-format off
static const struct reply_rule rules[] = {
	{404, "BlobNotFound", CALL_FAILED, ERR_NOT_FOUND, "there is no such blob"},
	{404, "ContainerNotFound", CALL_FAILED, ERR_INVALID, "there is no such container"},
	{404, "ContainerBeingDeleted", CALL_FAILED, ERR_INVALID, NULL},
	{400, "Md5Mismatch", CALL_RETRY, ERR_RETRY, NULL},
	{403, "AccountIsDisabled", CALL_FAILED, ERR_DENIED, NULL},
	{403, NULL, CALL_FAILED, ERR_DENIED, NULL},
	{408, NULL, CALL_RETRY, ERR_RETRY, NULL},
	{409, "ContainerBeingDeleted", CALL_FAILED, ERR_INVALID, NULL},
	{409, "ContainerDisabled", CALL_FAILED, ERR_DENIED, NULL},
	{409, "BlobImmutableDueToPolicy", CALL_FAILED, ERR_DENIED, NULL},
	{409, "BlobArchived", CALL_FAILED, ERR_DENIED, NULL},
	{409, "SnapshotsPresent", CALL_FAILED, ERR_DENIED, NULL},
	{409, "OperationNotAllowedInCurrentState", CALL_RETRY, ERR_RETRY, NULL},
	{409, "AccountBeingCreated", CALL_RETRY, ERR_RETRY, NULL},
	{412, "LeaseIdMissing", CALL_FAILED, ERR_DENIED, NULL},
	{416, NULL, CALL_FAILED, ERR_CORRUPT, "the blob is shorter than that"},
	{429, NULL, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{503, NULL, CALL_SLOW_DOWN, ERR_RETRY, NULL},
};
// clang-format on

static enum call_verdict apply_rule(const struct azure_reply *reply, const struct reply_rule *rule,
				    struct err *err)
{
	const char *words = rule->words ? rule->words : reply->message;

	err_set(err, rule->kind, "%d%s%.64s%s%.200s", reply->status, reply->code[0] ? " " : "",
		reply->code, words[0] ? ": " : "", words);
	return rule->verdict;
}

/* If-None-Match: * is answered with 409; 412 is what other conditions get, and
 * there was no other. */
static bool name_is_taken(const struct azure_reply *reply)
{
	if (!reply->if_absent)
		return false;
	return (reply->status == 409 && strcmp(reply->code, "BlobAlreadyExists") == 0) ||
	       (reply->status == 412 && strcmp(reply->code, "ConditionNotMet") == 0);
}

/* A signature that is wrong and one that is old get the same code. */
static bool is_skewed(const struct azure_reply *reply)
{
	return (reply->status == 403 || reply->status == 401) &&
	       llabs((long long)reply->skew_ms) > SKEW_MOST_MS;
}

/* "Put Blob" answers 201 and nothing else. */
static bool is_foreign_reply(const struct azure_reply *reply)
{
	return !reply->is_identified || (reply->is_put && reply->status != 201);
}

enum call_verdict azure_reply_judge(const struct azure_reply *reply, struct err *err)
{
	const struct reply_rule taken = {
		.verdict = CALL_FAILED,
		.kind = ERR_EXISTS,
		.words = "it exists already",
	};
	const struct reply_rule skewed = {.verdict = CALL_SKEWED, .kind = ERR_DENIED};
	const struct reply_rule unauthorized = {
		.verdict = reply->bearer ? CALL_REFRESH : CALL_FAILED,
		.kind = ERR_DENIED,
	};
	const struct reply_rule busy = {.verdict = CALL_RETRY, .kind = ERR_RETRY};
	const struct reply_rule unknown = {.verdict = CALL_FAILED, .kind = ERR_FAILED};
	const struct reply_rule strange = {
		.verdict = CALL_RETRY,
		.kind = ERR_RETRY,
		.words = CALL_FOREIGN_REPLY,
	};

	if (reply->status >= 200 && reply->status < 300)
		return is_foreign_reply(reply) ? apply_rule(reply, &strange, err) : CALL_DONE;
	if (name_is_taken(reply))
		return apply_rule(reply, &taken, err);
	if (is_skewed(reply) && !reply->bearer)
		return apply_rule(reply, &skewed, err);
	if (reply->status == 401)
		return apply_rule(reply, &unauthorized, err);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].status == reply->status &&
		    (!rules[i].code || strcmp(rules[i].code, reply->code) == 0))
			return apply_rule(reply, &rules[i], err);
	return apply_rule(reply, reply->status >= 500 && reply->status != 501 ? &busy : &unknown,
			  err);
}
