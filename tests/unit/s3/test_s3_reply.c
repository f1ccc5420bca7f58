/* What S3's answers mean. */
#include "storage/s3/s3.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "err_kind.h"

#include "unit.h"

#include <string.h>

static void test_verdicts(void **state)
{
	// clang-format off
	static const struct {
		unsigned asked;
		int status;
		const char *code; /* NULL: no body; with a '<' in front: the body itself */
		enum call_verdict verdict;
		enum err_kind kind;
	} rows[] = {
		{ASKED_PUT, 200, NULL, CALL_DONE, ERR_NONE},
		{ASKED_GET, 206, "anything", CALL_DONE, ERR_NONE},
		{ASKED_GET, 200, "SlowDown", CALL_DONE, ERR_NONE}, /* the object's own bytes */
		{ASKED_REMOVE, 204, NULL, CALL_DONE, ERR_NONE},
		{ASKED_REMOVE, 404, "NoSuchKey", CALL_DONE, ERR_NONE},
		{ASKED_REMOVE, 404, "NoSuchBucket", CALL_FAILED, ERR_INVALID},
		{ASKED_REMOVE, 404, NULL, CALL_FAILED, ERR_FAILED},
		{ASKED_LIST, 200, "<ListBucketResult/>", CALL_DONE, ERR_NONE},

		/* 200, but no success */
		{ASKED_PUT, 200, "InternalError", CALL_RETRY, ERR_RETRY},
		{ASKED_PUT, 200, "SlowDown", CALL_SLOW_DOWN, ERR_RETRY},
		{ASKED_LIST, 200, "AccessDenied", CALL_FAILED, ERR_DENIED},
		{ASKED_PUT_IF_ABSENT, 200, "SomethingNew", CALL_FAILED, ERR_FAILED},

		{ASKED_PUT_IF_ABSENT, 412, "PreconditionFailed", CALL_FAILED, ERR_EXISTS},
		{ASKED_PUT_IF_ABSENT, 412, NULL, CALL_FAILED, ERR_EXISTS},
		{ASKED_PUT, 412, "PreconditionFailed", CALL_FAILED, ERR_FAILED},
		{ASKED_PUT_IF_ABSENT, 409, "ConditionalRequestConflict", CALL_RETRY, ERR_RETRY},
		{ASKED_PUT_IF_ABSENT, 409, NULL, CALL_RETRY, ERR_RETRY},

		{ASKED_GET, 404, "NoSuchKey", CALL_FAILED, ERR_NOT_FOUND},
		{ASKED_GET, 404, "NoSuchBucket", CALL_FAILED, ERR_INVALID},
		{ASKED_GET, 404, NULL, CALL_FAILED, ERR_FAILED},
		{ASKED_GET, 404, "<html>not here</html>", CALL_FAILED, ERR_FAILED},
		{ASKED_GET, 403, "AccessDenied", CALL_FAILED, ERR_DENIED},
		{ASKED_GET, 403, NULL, CALL_FAILED, ERR_DENIED},
		{ASKED_GET, 403, "SignatureDoesNotMatch", CALL_FAILED, ERR_DENIED},
		{ASKED_GET, 416, "InvalidRange", CALL_FAILED, ERR_CORRUPT},
		{ASKED_GET, 403, "InvalidObjectState", CALL_FAILED, ERR_DENIED},

		{ASKED_PUT, 400, "ExpiredToken", CALL_REFRESH, ERR_DENIED},
		{ASKED_PUT, 403, "ExpiredTokenException", CALL_REFRESH, ERR_DENIED},
		{ASKED_PUT, 400, "InvalidToken", CALL_REFRESH, ERR_DENIED},
		{ASKED_PUT, 403, "InvalidAccessKeyId", CALL_REFRESH, ERR_DENIED},
		{ASKED_PUT, 403, "RequestTimeTooSkewed", CALL_SKEWED, ERR_DENIED},

		{ASKED_PUT, 503, "SlowDown", CALL_SLOW_DOWN, ERR_RETRY},
		{ASKED_PUT, 503, NULL, CALL_SLOW_DOWN, ERR_RETRY},
		{ASKED_PUT, 429, NULL, CALL_SLOW_DOWN, ERR_RETRY},
		{ASKED_PUT, 500, "InternalError", CALL_RETRY, ERR_RETRY},
		{ASKED_PUT, 502, "<html>bad gateway", CALL_RETRY, ERR_RETRY},
		{ASKED_PUT, 504, NULL, CALL_RETRY, ERR_RETRY},
		{ASKED_PUT, 400, "RequestTimeout", CALL_RETRY, ERR_RETRY},
		{ASKED_PUT, 400, "BadDigest", CALL_RETRY, ERR_RETRY},
		{ASKED_PUT, 400, "InvalidArgument", CALL_FAILED, ERR_FAILED},
		{ASKED_PUT, 400, NULL, CALL_FAILED, ERR_FAILED},
		{ASKED_PUT, 501, "NotImplemented", CALL_FAILED, ERR_INVALID},
		{ASKED_PUT_IF_ABSENT, 501, "NotImplemented", CALL_FAILED, ERR_UNFIT},
		{ASKED_PUT_IF_ABSENT, 501, NULL, CALL_FAILED, ERR_UNFIT},
		{ASKED_PUT_IF_ABSENT, 400, "InvalidArgument", CALL_FAILED, ERR_UNFIT},
		{ASKED_PUT, 507, "XMinioStorageFull", CALL_FAILED, ERR_NO_SPACE},
		{ASKED_PUT, 400, "XMinioAdminBucketQuotaExceeded", CALL_FAILED, ERR_NO_SPACE},
		{ASKED_PUT, 403, "QuotaExceeded", CALL_FAILED, ERR_NO_SPACE},

		/* moved, but nobody says where to */
		{ASKED_PUT, 301, "PermanentRedirect", CALL_FAILED, ERR_INVALID},
		{ASKED_PUT, 302, NULL, CALL_FAILED, ERR_INVALID},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *body =
			!rows[i].code ? text_copy("")
			: rows[i].code[0] == '<'
				? text_copy(rows[i].code)
				: text_format("<?xml version=\"1.0\"?><Error><Code>%s</Code>"
					      "<Message>words\n</Message></Error>",
					      rows[i].code);
		const struct s3_reply answer = {
			.status = rows[i].status,
			.etag = "\"x\"",
			.body = body,
			.size = strlen(body),
		};
		struct s3_move move;
		struct err err = {0};
		enum call_verdict verdict = s3_reply_judge(rows[i].asked, &answer, &move, &err);

		if (verdict != rows[i].verdict || err.kind != rows[i].kind)
			fail_msg("row %zu (%d %s): verdict %d, %s: %s", i, rows[i].status,
				 rows[i].code ? rows[i].code : "", verdict, err_kind_name(err.kind),
				 err.text);
		assert_null(strchr(err.text, '\n'));
	}
}

#define PAGE "<html><body><h1>Welcome!</h1></body></html>"

/* 200 from somebody else. */
static void test_strangers(void **state)
{
	static const struct {
		unsigned asked;
		const char *etag, *body;
		enum call_verdict verdict;
	} rows[] = {
		{ASKED_PUT, "\"x\"", "", CALL_DONE},
		{ASKED_PUT, "\"x\"", " \n<?xml version=\"1.0\"?><PutObjectResult/>", CALL_DONE},
		{ASKED_PUT, NULL, "", CALL_RETRY},
		{ASKED_PUT, NULL, PAGE, CALL_RETRY},
		{ASKED_PUT, "\"x\"", PAGE, CALL_RETRY},
		{ASKED_PUT, "\"x\"", "<!DOCTYPE html><HTML>", CALL_RETRY},
		{ASKED_PUT_IF_ABSENT, "\"x\"", "", CALL_DONE},
		{ASKED_PUT_IF_ABSENT, NULL, "", CALL_RETRY},
		{ASKED_PUT_IF_ABSENT, "\"x\"", "Log in", CALL_RETRY},
		{ASKED_GET, "\"x\"", PAGE, CALL_DONE}, /* the object's own bytes */
		{ASKED_GET, NULL, PAGE, CALL_RETRY},
		{ASKED_REMOVE, NULL, "", CALL_DONE},
		{ASKED_REMOVE, NULL, PAGE, CALL_RETRY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct s3_reply answer = {
			.status = 200,
			.etag = rows[i].etag,
			.body = rows[i].body,
			.size = strlen(rows[i].body),
		};
		struct s3_move move;
		struct err err = {0};
		enum call_verdict verdict = s3_reply_judge(rows[i].asked, &answer, &move, &err);

		if (verdict != rows[i].verdict)
			fail_msg("row %zu: verdict %d: %s", i, verdict, err.text);
		if (verdict == CALL_RETRY) {
			assert_int_equal(err.kind, ERR_RETRY);
			assert_non_null(strstr(err.text, "not the store's answer"));
		}
	}
}

static void test_moves(void **state)
{
	// clang-format off
	static const struct {
		int status;
		const char *region, *location, *body, *to_region, *to_host;
	} rows[] = {
		{301, "eu-west-1", NULL, "", "eu-west-1", ""},
		{400, NULL, NULL,
			"<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-2</Region>"
			"</Error>", "eu-west-2", ""},
		{400, "eu-west-3", NULL,
			"<Error><Code>IllegalLocationConstraintException</Code></Error>",
			"eu-west-3", ""},
		{301, "bad region!", NULL,
			"<Error><Code>PermanentRedirect</Code><Region>eu-west-4</Region></Error>",
			"eu-west-4", ""},
		{307, NULL, "https://b.s3-eu-west-1.amazonaws.com/k?x=1",
			"<Error><Code>TemporaryRedirect</Code></Error>", "",
			"b.s3-eu-west-1.amazonaws.com"},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct s3_reply answer = {rows[i].status,   rows[i].region,
						rows[i].location, NULL,
						rows[i].body,     strlen(rows[i].body)};
		struct s3_move move;
		struct err err = {0};

		assert_int_equal(s3_reply_judge(ASKED_PUT, &answer, &move, &err), CALL_MOVED);
		assert_string_equal(move.region, rows[i].to_region);
		assert_string_equal(move.host, rows[i].to_host);
	}
}

static void test_bad_location(void **state)
{
	static const char *const locations[] = {"/relative", "https://user@host/", "https:///x"};

	(void)state;
	for (size_t i = 0; i < sizeof(locations) / sizeof(locations[0]); i++) {
		const struct s3_reply answer = {.status = 307, .location = locations[i]};
		struct s3_move move;
		struct err err = {0};

		assert_int_equal(s3_reply_judge(ASKED_PUT, &answer, &move, &err), CALL_FAILED);
	}
}

static void test_hint(void **state)
{
	static const char body[] = "<Error><Code>AccessDenied</Code></Error>";
	const struct s3_reply answer = {.status = 403, .body = body, .size = strlen(body)};
	struct s3_move move;
	struct err err = {0};

	(void)state;
	s3_reply_judge(ASKED_GET, &answer, &move, &err);
	assert_non_null(strstr(err.text, "s3:ListBucket"));
	s3_reply_judge(ASKED_LIST, &answer, &move, &err);
	assert_non_null(strstr(err.text, "allow s3:ListBucket"));
	s3_reply_judge(ASKED_PUT, &answer, &move, &err);
	assert_null(strstr(err.text, "s3:ListBucket"));
}

static void test_servers_that_decide_and_put_in_one_step(void **state)
{
	static const struct {
		const char *server, *request_id;
		bool atomic;
	} rows[] = {
		{"AmazonS3", "4442587FB7D0A2F9", true},
		{"MinIO", "18ECC80820C42A60", true},
		{"SeaweedFS 8000GB 4.48", "18ECC80820C42A6095F73F3D", true},
		{"cloudflare", NULL, true},
		/* radosgw; Swift's s3api has two parts. */
		{NULL, "tx00000000000000000000a-0056a5f6a6-1063-default", true},
		{NULL, "tx2c2d1b8d0a4d4f6c9a0d6-0056a5f6a6", false},
		{"nginx", "4442587FB7D0A2F9", false},
		{"Werkzeug/3.1 MinIO", NULL, false},
		{NULL, NULL, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(s3_server_is_atomic(rows[i].server, rows[i].request_id),
				 rows[i].atomic);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_servers_that_decide_and_put_in_one_step),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_bad_location),
		cmocka_unit_test(test_hint),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
