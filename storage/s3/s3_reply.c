#include "s3_reply.h"

#include "base/text.h"
#include "storage/aws/aws.h"
#include "storage/http/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct s3_error_body {
	bool is_error;
	bool is_page; /* for people: not XML, or XHTML */
	char code[64];
	char message[200];
	char region[64];
	char endpoint[256];
};

/* What one code means. Codes are listed in "Error responses" of the Amazon S3 API Reference; some
 * are other makers'. */
struct error_meaning {
	const char *code;
	enum call_verdict verdict;
	enum err_kind kind;
	const char *hint;
};

// clang-format off
static const struct error_meaning meanings[] = {
	{"NoSuchKey",                   CALL_FAILED,    ERR_NOT_FOUND, NULL},
	{"NoSuchBucket",                CALL_FAILED,    ERR_INVALID,
		"make the bucket, or correct its name"},
	{"PreconditionFailed",          CALL_FAILED,    ERR_FAILED,    NULL},
	{"ConditionalRequestConflict",  CALL_RETRY,     ERR_RETRY,     NULL},
	{"OperationAborted",            CALL_RETRY,     ERR_RETRY,     NULL},
	{"AccessDenied",                CALL_FAILED,    ERR_DENIED,
		"check the policies of the identity and of the bucket"},
	{"SignatureDoesNotMatch",       CALL_FAILED,    ERR_DENIED,
		"the secret key does not belong to the access key, or a proxy changes requests"},
	{"ExpiredToken",                CALL_REFRESH,   ERR_DENIED,
		"the credentials have expired"},
	{"ExpiredTokenException",       CALL_REFRESH,   ERR_DENIED,
		"the credentials have expired"},
	{"TokenRefreshRequired",        CALL_REFRESH,   ERR_DENIED,
		"the credentials have expired"},
	{"InvalidToken",                CALL_REFRESH,   ERR_DENIED,    NULL},
	{"InvalidAccessKeyId",          CALL_REFRESH,   ERR_DENIED,
		"there is no such access key here"},
	{"RequestTimeTooSkewed",        CALL_SKEWED,    ERR_DENIED,
		"set the clock of this machine"},
	{"RequestExpired",              CALL_SKEWED,    ERR_DENIED,
		"set the clock of this machine"},
	{"SlowDown",                    CALL_SLOW_DOWN, ERR_RETRY,     NULL},
	{"ServiceUnavailable",          CALL_SLOW_DOWN, ERR_RETRY,     NULL},
	{"TooManyRequests",             CALL_SLOW_DOWN, ERR_RETRY,     NULL},
	{"Throttling",                  CALL_SLOW_DOWN, ERR_RETRY,     NULL},
	{"ThrottlingException",         CALL_SLOW_DOWN, ERR_RETRY,     NULL},
	{"RequestLimitExceeded",        CALL_SLOW_DOWN, ERR_RETRY,     NULL},
	{"InternalError",               CALL_RETRY,     ERR_RETRY,     NULL},
	{"InternalErrors",              CALL_RETRY,     ERR_RETRY,     NULL},
	{"RequestTimeout",              CALL_RETRY,     ERR_RETRY,     NULL},
	{"PriorRequestNotComplete",     CALL_RETRY,     ERR_RETRY,     NULL},
	{"BadDigest",                   CALL_RETRY,     ERR_RETRY,
		"the bytes were changed on their way"},
	{"XAmzContentChecksumMismatch", CALL_RETRY,     ERR_RETRY,
		"the bytes were changed on their way"},
	{"IncompleteBody",              CALL_RETRY,     ERR_RETRY,     NULL},
	{"PermanentRedirect",           CALL_MOVED,     ERR_INVALID,
		"the bucket is in another region"},
	{"TemporaryRedirect",           CALL_MOVED,     ERR_RETRY,     NULL},
	{"AuthorizationHeaderMalformed",       CALL_MOVED, ERR_INVALID,
		"set AWS_REGION to the bucket's region"},
	{"IllegalLocationConstraintException", CALL_MOVED, ERR_INVALID,
		"set AWS_REGION to the bucket's region"},
	{"InvalidRange",                CALL_FAILED,    ERR_CORRUPT,
		"the object is shorter than it was"},
	{"QuotaExceeded",               CALL_FAILED,    ERR_NO_SPACE,  NULL},
	{"XMinioStorageFull",           CALL_FAILED,    ERR_NO_SPACE,  NULL},
	{"InvalidObjectState",          CALL_FAILED,    ERR_DENIED,
		"the object lies in an archive class: restore it there first"},
	{"NotImplemented",              CALL_FAILED,    ERR_INVALID,
		"this store lacks something that is needed"},
};

static const struct error_meaning by_status[] = {
	{"400", CALL_FAILED,    ERR_FAILED,   NULL},
	{"401", CALL_REFRESH,   ERR_DENIED,   NULL},
	{"403", CALL_FAILED,    ERR_DENIED,   NULL},
	{"404", CALL_FAILED,    ERR_FAILED,
		"it does not say what is missing: is the endpoint right?"},
	{"408", CALL_RETRY,     ERR_RETRY,    NULL},
	{"409", CALL_RETRY,     ERR_RETRY,    NULL},
	{"416", CALL_FAILED,    ERR_CORRUPT,  "the object is shorter than it was"},
	{"429", CALL_SLOW_DOWN, ERR_RETRY,    NULL},
	{"501", CALL_FAILED,    ERR_INVALID,  "this store lacks something that is needed"},
	{"503", CALL_SLOW_DOWN, ERR_RETRY,    NULL},
	{"507", CALL_FAILED,    ERR_NO_SPACE, NULL},
};
// clang-format on

static const struct error_meaning *find_meaning(const struct error_meaning *table, size_t count,
						const char *code)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(table[i].code, code) == 0)
			return &table[i];
	return NULL;
}

static const struct error_meaning *meaning_of(int status, const char *code)
{
	static const struct error_meaning fault = {"", CALL_RETRY, ERR_RETRY, NULL};
	static const struct error_meaning redirect = {"", CALL_MOVED, ERR_INVALID, NULL};
	static const struct error_meaning other = {"", CALL_FAILED, ERR_FAILED, NULL};
	const struct error_meaning *meaning =
		find_meaning(meanings, sizeof(meanings) / sizeof(*meanings), code);
	char digits[16];

	if (meaning)
		return meaning;
	snprintf(digits, sizeof(digits), "%d", status);
	meaning = find_meaning(by_status, sizeof(by_status) / sizeof(*by_status), digits);
	if (meaning)
		return meaning;
	if (status >= 500)
		return &fault;
	return status >= 300 && status < 400 ? &redirect : &other;
}

/* --- the body of an error --- */

/* It goes to a terminal. */
static void set_printable(char *target, size_t capacity, const char *text)
{
	text_set(target, capacity, text);
	text_to_line(target);
}

static void read_element(void *arg, const char *path, const char *text)
{
	struct s3_error_body *body = arg;

	body->is_page = body->is_page || strcasecmp(path, "html") == 0;
	if (strncmp(path, "Error", 5) != 0 || (path[5] && path[5] != '/'))
		return;
	body->is_error = true;
	if (strcmp(path, "Error/Code") == 0)
		set_printable(body->code, sizeof(body->code), text);
	else if (strcmp(path, "Error/Message") == 0)
		set_printable(body->message, sizeof(body->message), text);
	else if (strcmp(path, "Error/Region") == 0)
		set_printable(body->region, sizeof(body->region), text);
	else if (strcmp(path, "Error/Endpoint") == 0)
		set_printable(body->endpoint, sizeof(body->endpoint), text);
}

static void read_error(const struct s3_reply *answer, struct s3_error_body *body)
{
	*body = (struct s3_error_body){0};
	/* Garbage has no code: then the status decides. */
	if (answer->size && xml_read(answer->body, answer->size, read_element, body, NULL) < 0) {
		body->is_error = body->code[0] != '\0';
		body->is_page = true;
	}
}

/* --- where to --- */

static void parse_location(const char *location, struct s3_move *move)
{
	const char *host = strstr(location, "://");
	size_t length;

	if (!host)
		return;
	host += 3;
	length = strcspn(host, "/?#");
	if (length && length < sizeof(move->host) && !memchr(host, '@', length)) {
		memcpy(move->host, host, length);
		move->host[length] = '\0';
	}
}

/* False where the answer does not say where to. */
static bool read_move(const struct s3_reply *answer, const struct s3_error_body *body,
		      struct s3_move *move)
{
	if (answer->region && s3_address_is_region(answer->region))
		text_set(move->region, sizeof(move->region), answer->region);
	else if (s3_address_is_region(body->region))
		text_set(move->region, sizeof(move->region), body->region);
	/* A new bucket, whose name the DNS does not know yet everywhere: to another host with
	 * the same request. */
	if (answer->status == 307 && answer->location)
		parse_location(answer->location, move);
	return move->region[0] || move->host[0];
}

/* --- the verdict --- */

static enum call_verdict set_error(const struct s3_reply *answer, const struct s3_error_body *body,
				   const struct error_meaning *meaning, const char *more,
				   struct err *err)
{
	err_set(err, meaning->kind, "%d%s%s%s%s%s%s%s", answer->status, body->code[0] ? " " : "",
		body->code, body->message[0] ? ": " : "", body->message,
		meaning->hint || more ? " (" : "",
		more            ? more
		: meaning->hint ? meaning->hint
				: "",
		meaning->hint || more ? ")" : "");
	return meaning->verdict;
}

/* What S3 sends has an ETag with each object ("PutObject" and "GetObject" of the API Reference),
 * and nothing for people to read. */
static bool is_foreign_reply(enum s3_operation operation, const struct s3_reply *answer,
			     const struct s3_error_body *body)
{
	switch (operation) {
	case S3_PUT:
	case S3_PUT_IF_ABSENT:
		return !answer->etag || body->is_page;
	case S3_GET:
		return !answer->etag;
	case S3_REMOVE:
		return body->is_page;
	case S3_LIST: /* whoever reads the page finds out */
		break;
	}
	return false;
}

static enum call_verdict judge_good(enum s3_operation operation, const struct s3_reply *answer,
				    const struct s3_error_body *body, struct err *err)
{
	if (!is_foreign_reply(operation, answer, body))
		return CALL_DONE;
	err_set(err, ERR_RETRY, "%d%s: " CALL_FOREIGN_REPLY, answer->status,
		answer->etag ? "" : " without an ETag");
	return CALL_RETRY;
}

/* S3 does not tell a caller that may not list what is missing. */
static const char *explain_denial(enum s3_operation operation, const struct s3_error_body *body)
{
	if (strcmp(body->code, "AccessDenied") != 0)
		return NULL;
	if (operation == S3_LIST)
		return "allow s3:ListBucket on the bucket";
	if (operation == S3_GET)
		return "without the permission s3:ListBucket S3 says so also where an object is "
		       "missing: allow it, and s3:GetObject";
	return NULL;
}

enum call_verdict s3_reply_judge(enum s3_operation operation, const struct s3_reply *answer,
				 struct s3_move *move, struct err *err)
{
	bool is_good = answer->status == 200 || answer->status == 204 || answer->status == 206;
	const struct error_meaning *meaning;
	struct s3_error_body body = {0};
	const char *more;

	*move = (struct s3_move){0};
	/* An object's own bytes may look like anything. */
	if (!is_good || operation != S3_GET)
		read_error(answer, &body);
	if (is_good && !body.is_error)
		return judge_good(operation, answer, &body, err);
	if (answer->status == 404 && operation == S3_REMOVE && strcmp(body.code, "NoSuchKey") == 0)
		return CALL_DONE;
	if (answer->status == 412 && operation == S3_PUT_IF_ABSENT) {
		err_set(err, ERR_EXISTS, "412 %s: it is there already", body.code);
		return CALL_FAILED;
	}
	meaning = meaning_of(answer->status, body.code);
	more = explain_denial(operation, &body);
	if (meaning->verdict == CALL_MOVED && !read_move(answer, &body, move)) {
		set_error(answer, &body, meaning, more, err);
		return CALL_FAILED;
	}
	return set_error(answer, &body, meaning, more, err);
}
