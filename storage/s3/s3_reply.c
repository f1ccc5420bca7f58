#include "s3_reply.h"

#include "base/text.h"
#include "storage/aws/aws.h"

#include <string.h>

#define EXPIRED "the credentials have expired"
#define SET_CLOCK "set the clock of this machine"
#define SET_REGION "set AWS_REGION to the bucket's region"
#define LACKS "this store lacks something that is needed"
#define OTHERWISE                                                                  \
	"use another one, or accept that two machines could take one place, with " \
	"REPRIEVE_S3_CONDITIONAL=off"
#define NO_IF_ABSENT "this store refuses \"If-None-Match: *\": " OTHERWISE
#define PERHAPS_NO_IF_ABSENT "if it is \"If-None-Match: *\" that this store refuses, " OTHERWISE
#define SHORTER "the object is shorter than it was"
#define NO_ETAG "without an ETag, " CALL_FOREIGN_REPLY

// clang-format off
static const struct reply_row rows[] = {
	{412, NULL, ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_EXISTS, "it is there already"},
	{STATUS_ANY, "NotImplemented", ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_UNFIT, NO_IF_ABSENT},
	{501, NULL, ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_UNFIT, NO_IF_ABSENT},
	{400, "InvalidArgument", ASKED_PUT_IF_ABSENT, CALL_FAILED, ERR_UNFIT, PERHAPS_NO_IF_ABSENT},
	{404, "NoSuchKey", ASKED_REMOVE, CALL_DONE, ERR_NONE, NULL},
	{416, NULL, ASKED_GET_REST, CALL_DONE, ERR_NONE, NULL},

	/* A code counts more than the status: S3 sends errors with 200 too. Codes are listed in
	 * "Error responses" of the Amazon S3 API Reference; some are other makers'. */
	{STATUS_ANY, "NoSuchKey", 0, CALL_FAILED, ERR_NOT_FOUND, NULL},
	{STATUS_ANY, "NoSuchBucket", 0, CALL_FAILED, ERR_INVALID,
		"make the bucket, or correct its name"},
	{STATUS_ANY, "PreconditionFailed", 0, CALL_FAILED, ERR_FAILED, NULL},
	{STATUS_ANY, "ConditionalRequestConflict", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "OperationAborted", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "AccessDenied", ASKED_LIST, CALL_FAILED, ERR_DENIED,
		"allow s3:ListBucket on the bucket"},
	/* S3 does not tell a caller that may not list what is missing. */
	{STATUS_ANY, "AccessDenied", ASKED_GET, CALL_FAILED, ERR_DENIED,
		"without the permission s3:ListBucket S3 says so also where an object is missing: "
		"allow it, and s3:GetObject"},
	{STATUS_ANY, "AccessDenied", 0, CALL_FAILED, ERR_DENIED,
		"check the policies of the identity and of the bucket"},
	{STATUS_ANY, "SignatureDoesNotMatch", 0, CALL_FAILED, ERR_DENIED,
		"the secret key does not belong to the access key, or a proxy changes requests"},
	{STATUS_ANY, "ExpiredToken", 0, CALL_REFRESH, ERR_DENIED, EXPIRED},
	{STATUS_ANY, "ExpiredTokenException", 0, CALL_REFRESH, ERR_DENIED, EXPIRED},
	{STATUS_ANY, "TokenRefreshRequired", 0, CALL_REFRESH, ERR_DENIED, EXPIRED},
	{STATUS_ANY, "InvalidToken", 0, CALL_REFRESH, ERR_DENIED, NULL},
	{STATUS_ANY, "InvalidAccessKeyId", 0, CALL_REFRESH, ERR_DENIED,
		"there is no such access key here"},
	{STATUS_ANY, "RequestTimeTooSkewed", 0, CALL_SKEWED, ERR_DENIED, SET_CLOCK},
	{STATUS_ANY, "RequestExpired", 0, CALL_SKEWED, ERR_DENIED, SET_CLOCK},
	{STATUS_ANY, "SlowDown", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "ServiceUnavailable", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "TooManyRequests", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "Throttling", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "ThrottlingException", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "RequestLimitExceeded", 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{STATUS_ANY, "InternalError", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "InternalErrors", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "RequestTimeout", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "PriorRequestNotComplete", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "BadDigest", 0, CALL_RETRY, ERR_RETRY, "the bytes were changed on their way"},
	{STATUS_ANY, "XAmzContentChecksumMismatch", 0, CALL_RETRY, ERR_RETRY,
		"the bytes were changed on their way"},
	{STATUS_ANY, "IncompleteBody", 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, "PermanentRedirect", 0, CALL_MOVED, ERR_INVALID,
		"the bucket is in another region"},
	{STATUS_ANY, "TemporaryRedirect", 0, CALL_MOVED, ERR_RETRY, NULL},
	{STATUS_ANY, "AuthorizationHeaderMalformed", 0, CALL_MOVED, ERR_INVALID, SET_REGION},
	{STATUS_ANY, "IllegalLocationConstraintException", 0, CALL_MOVED, ERR_INVALID, SET_REGION},
	{STATUS_ANY, "InvalidRange", 0, CALL_FAILED, ERR_CORRUPT, SHORTER},
	{STATUS_ANY, "QuotaExceeded", 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_ANY, "XMinioStorageFull", 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_ANY, "XMinioAdminBucketQuotaExceeded", 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_ANY, "InvalidObjectState", 0, CALL_FAILED, ERR_DENIED,
		"the object lies in an archive class: restore it there first"},
	{STATUS_ANY, "NotImplemented", 0, CALL_FAILED, ERR_INVALID, LACKS},

	/* Success, unless the body says otherwise or another server has answered. "PutObject" and
	 * "GetObject" of the API Reference have an ETag; whoever reads a list finds out. */
	{STATUS_GOOD, NULL, CAME_ERROR, CALL_FAILED, ERR_FAILED, NULL},
	{STATUS_GOOD, NULL, ASKED_PUT | CAME_UNMARKED, CALL_RETRY, ERR_RETRY, NO_ETAG},
	{STATUS_GOOD, NULL, ASKED_PUT | CAME_PAGE, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	{STATUS_GOOD, NULL, ASKED_GET | CAME_UNMARKED, CALL_RETRY, ERR_RETRY, NO_ETAG},
	{STATUS_GOOD, NULL, ASKED_REMOVE | CAME_PAGE, CALL_RETRY, ERR_RETRY, CALL_FOREIGN_REPLY},
	{200, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{204, NULL, 0, CALL_DONE, ERR_NONE, NULL},
	{206, NULL, 0, CALL_DONE, ERR_NONE, NULL},

	{STATUS_ELSEWHERE, NULL, 0, CALL_MOVED, ERR_INVALID, NULL},
	{401, NULL, 0, CALL_REFRESH, ERR_DENIED, NULL},
	{403, NULL, 0, CALL_FAILED, ERR_DENIED, NULL},
	{404, NULL, 0, CALL_FAILED, ERR_FAILED,
		"it does not say what is missing: is the endpoint right?"},
	{408, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{409, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{416, NULL, 0, CALL_FAILED, ERR_CORRUPT, SHORTER},
	{429, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{501, NULL, 0, CALL_FAILED, ERR_INVALID, LACKS},
	{503, NULL, 0, CALL_SLOW_DOWN, ERR_RETRY, NULL},
	{507, NULL, 0, CALL_FAILED, ERR_NO_SPACE, NULL},
	{STATUS_FAULT, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
	{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_FAILED, NULL},
};
// clang-format on

const struct reply_table s3_replies = {rows, sizeof(rows) / sizeof(*rows), 0};

static void parse_location(const char *location, struct s3_move *move)
{
	const char *host = strstr(location, "://");
	size_t length;

	if (!host)
		return;
	host += 3;
	length = strcspn(host, "/?#");
	if (length && length < sizeof(move->host) && !memchr(host, '@', length))
		text_set(move->host, length + 1, host);
}

/* False where the reply does not say where to. */
static bool read_move(const struct s3_reply *reply, const char *region, struct s3_move *move)
{
	if (reply->region && s3_address_is_region(reply->region))
		text_set(move->region, sizeof(move->region), reply->region);
	else if (s3_address_is_region(region))
		text_set(move->region, sizeof(move->region), region);
	/* A new bucket, whose name the DNS does not know yet everywhere: to another host with the
	 * same request. */
	if (reply->status == 307 && reply->location)
		parse_location(reply->location, move);
	return move->region[0] || move->host[0];
}

enum call_verdict s3_reply_judge(unsigned asked, const struct s3_reply *reply, struct s3_move *move,
				 struct err *err)
{
	struct store_reply store_reply = {.status = reply->status,
					  .facts = asked | (reply->etag ? 0 : CAME_UNMARKED)};
	enum call_verdict verdict;

	*move = (struct s3_move){0};
	/* What is not quite XML may still name its code. */
	store_reply_read_body(&store_reply, reply->body, reply->size, false);
	verdict = store_reply_judge(&s3_replies, &store_reply, err);
	if (verdict == CALL_MOVED && !read_move(reply, store_reply.region, move))
		return CALL_FAILED;
	return verdict;
}
