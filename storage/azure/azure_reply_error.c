#include "azure_reply_error.h"

#include <stdlib.h>
#include <string.h>

/* A signature is good for 15 minutes. */
#define SKEW_MOST_MS (10 * 60 * 1000)

struct rule {
	int status;
	const char *code; /* NULL: any */
	enum remote_verdict verdict;
	enum err_kind kind;
	const char *words; /* NULL: the service's */
};

/* The first that fits. Codes: "Blob service error codes" and "Common REST API error codes" of Microsoft's manual. */
// clang-format off
static const struct rule rules[] = {
	{404, "BlobNotFound", REMOTE_FAILED, ERR_NOT_FOUND, "there is no such blob"},
	{404, "ContainerNotFound", REMOTE_FAILED, ERR_INVALID, "there is no such container"},
	{404, "ContainerBeingDeleted", REMOTE_FAILED, ERR_INVALID, NULL},
	{400, "Md5Mismatch", REMOTE_RETRY, ERR_RETRY, NULL},
	{403, "AccountIsDisabled", REMOTE_FAILED, ERR_DENIED, NULL},
	{403, NULL, REMOTE_FAILED, ERR_DENIED, NULL},
	{408, NULL, REMOTE_RETRY, ERR_RETRY, NULL},
	{409, "ContainerBeingDeleted", REMOTE_FAILED, ERR_INVALID, NULL},
	{409, "ContainerDisabled", REMOTE_FAILED, ERR_DENIED, NULL},
	{409, "BlobImmutableDueToPolicy", REMOTE_FAILED, ERR_DENIED, NULL},
	{409, "BlobArchived", REMOTE_FAILED, ERR_DENIED, NULL},
	{409, "SnapshotsPresent", REMOTE_FAILED, ERR_DENIED, NULL},
	{409, "OperationNotAllowedInCurrentState", REMOTE_RETRY, ERR_RETRY, NULL},
	{409, "AccountBeingCreated", REMOTE_RETRY, ERR_RETRY, NULL},
	{412, "LeaseIdMissing", REMOTE_FAILED, ERR_DENIED, NULL},
	{416, NULL, REMOTE_FAILED, ERR_CORRUPT, "the blob is shorter than that"},
	{429, NULL, REMOTE_SLOW_DOWN, ERR_RETRY, NULL},
	{503, NULL, REMOTE_SLOW_DOWN, ERR_RETRY, NULL},
};
// clang-format on

static enum remote_verdict say(
	const struct blob_reply *reply, const struct rule *rule, struct err *err)
{
	const char *words = rule->words ? rule->words : reply->message;

	err_set(err, rule->kind, "%d%s%.64s%s%.200s", reply->status, reply->code[0] ? " " : "",
		reply->code, words[0] ? ": " : "", words);
	return rule->verdict;
}

/* If-None-Match: * is answered with 409; 412 is what other conditions get, and there was no other. */
static bool is_taken(const struct blob_reply *reply)
{
	if (!reply->if_absent)
		return false;
	return (reply->status == 409 && strcmp(reply->code, "BlobAlreadyExists") == 0) ||
	       (reply->status == 412 && strcmp(reply->code, "ConditionNotMet") == 0);
}

/* A signature that is wrong and one that is old get the same code. */
static bool is_skewed(const struct blob_reply *reply)
{
	return (reply->status == 403 || reply->status == 401) &&
	       llabs((long long)reply->skew_ms) > SKEW_MOST_MS;
}

/* "Put Blob" answers 201 and nothing else. */
static bool is_strange(const struct blob_reply *reply)
{
	return !reply->is_identified || (reply->is_put && reply->status != 201);
}

enum remote_verdict blob_reply_judge(const struct blob_reply *reply, struct err *err)
{
	const struct rule taken = {
		.verdict = REMOTE_FAILED, .kind = ERR_EXISTS, .words = "it exists already"};
	const struct rule skewed = {.verdict = REMOTE_SKEWED, .kind = ERR_DENIED};
	const struct rule unauthorized = {
		.verdict = reply->bearer ? REMOTE_REFRESH : REMOTE_FAILED, .kind = ERR_DENIED};
	const struct rule busy = {.verdict = REMOTE_RETRY, .kind = ERR_RETRY};
	const struct rule unknown = {.verdict = REMOTE_FAILED, .kind = ERR_FAILED};
	const struct rule strange = {
		.verdict = REMOTE_RETRY, .kind = ERR_RETRY, .words = REMOTE_STRANGE};

	if (reply->status >= 200 && reply->status < 300)
		return is_strange(reply) ? say(reply, &strange, err) : REMOTE_DONE;
	if (is_taken(reply))
		return say(reply, &taken, err);
	if (is_skewed(reply) && !reply->bearer)
		return say(reply, &skewed, err);
	if (reply->status == 401)
		return say(reply, &unauthorized, err);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].status == reply->status &&
			(!rules[i].code || strcmp(rules[i].code, reply->code) == 0))
			return say(reply, &rules[i], err);
	return say(reply, reply->status >= 500 && reply->status != 501 ? &busy : &unknown, err);
}
