/* Answers of sources of credentials. */
#include "storage/aws/aws_credentials.h"

#include "base/cleanup.h"

#include "unit.h"

#include <string.h>

#define KEYS "\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"hushhush\""

static void test_json(void **state)
{
	static const struct {
		const char *body;
		enum err_kind kind;
		const char *token;
		int64_t expires_ms;
	} rows[] = {
		{"{" KEYS "}", ERR_NONE, NULL, CLOCK_NEVER},
		{"{\"Version\":1," KEYS
		 ",\"SessionToken\":\"T\",\"Expiration\":\"1970-01-01T00:00:09Z\"}",
		 ERR_NONE, "T", 9000},
		{"{\"Code\":\"Success\"," KEYS
		 ",\"Token\":\"T\",\"Expiration\":\"1970-01-01T00:00:09Z\"}",
		 ERR_NONE, "T", 9000},
		{"{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"no\\nway\"}", ERR_DENIED,
		 NULL, 0},
		{"{\"AccessKeyId\":\"AK\"}", ERR_FAILED, NULL, 0},
		{"{\"AccessKeyId\":\"AK\",\"SecretAccessKey\":\"a\\r\\nX: hushhush\"}", ERR_FAILED,
		 NULL, 0},
		{"{" KEYS ",\"Expiration\":\"tomorrow\"}", ERR_FAILED, NULL, 0},
		{"[]", ERR_FAILED, NULL, 0},
		{"", ERR_FAILED, NULL, 0},
		{"<html>hushhush</html>", ERR_FAILED, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(credential_clear) struct credential credentials = {0};
		struct err err = {0};
		int result = aws_reply_json(rows[i].body, strlen(rows[i].body), &credentials, &err);

		assert_int_equal(err.kind, rows[i].kind);
		assert_null(strstr(err.text, "hush"));
		assert_null(strchr(err.text, '\n'));
		if (result < 0)
			continue;
		assert_string_equal(credentials.access_key, "AK");
		assert_string_equal(credentials.secret_key, "hushhush");
		assert_int_equal(credentials.session_token != NULL, rows[i].token != NULL);
		assert_int_equal(credentials.expires_ms, rows[i].expires_ms);
	}
}

static void test_sts(void **state)
{
	static const char body[] =
		"<AssumeRoleResponse "
		"xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleResult>"
		"<Credentials><AccessKeyId>AK</AccessKeyId><SecretAccessKey>SK</SecretAccessKey>"
		"<SessionToken>a+b/c==</SessionToken><Expiration>1970-01-01T00:00:09Z</"
		"Expiration></Credentials>"
		"</AssumeRoleResult></AssumeRoleResponse>";
	auto_(credential_clear) struct credential credentials = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(aws_reply_sts(body, strlen(body), &credentials, &err), 0);
	assert_string_equal(credentials.session_token, "a+b/c==");
	assert_int_equal(credentials.expires_ms, 9000);
	assert_int_equal(aws_reply_sts("<a/>", 4, &credentials, &err), -1);
}

static void test_sts_verdicts(void **state)
{
	static const struct {
		int status;
		const char *code, *message;
		enum call_verdict verdict;
		enum err_kind kind;
	} rows[] = {
		{200, "", "", CALL_DONE, ERR_NONE},
		{403, "AccessDenied", "no", CALL_FAILED, ERR_DENIED},
		{400, "ExpiredTokenException", "old", CALL_FAILED, ERR_DENIED},
		{400, "IDPCommunicationError", "later", CALL_RETRY, ERR_RETRY},
		{500, "", "", CALL_RETRY, ERR_RETRY},
		{503, "ServiceUnavailable", "", CALL_RETRY, ERR_RETRY},
		{400, "Throttling", "", CALL_SLOW_DOWN, ERR_RETRY},
		{403, "SignatureDoesNotMatch", "Signature expired", CALL_FAILED, ERR_DENIED},
		{400, "RequestExpired", "", CALL_SKEWED, ERR_DENIED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *body =
			text_format("<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></"
				    "Error></ErrorResponse>",
				    rows[i].code, rows[i].message);
		struct store_reply reply = {.status = rows[i].status};
		enum call_verdict verdict;
		struct err err = {0};

		store_reply_read_body(&reply, body, strlen(body), true);
		assert_int_equal(store_reply_judge(&aws_sts_replies, &reply, &err),
				 rows[i].verdict);
		assert_int_equal(err.kind, rows[i].kind);
		/* With a clock that is wrong by an hour. */
		reply.skew_ms = 3600 * 1000;
		verdict = store_reply_judge(&aws_sts_replies, &reply, &err);
		assert_int_equal(verdict, strcmp(rows[i].code, "SignatureDoesNotMatch") == 0
						  ? CALL_SKEWED
						  : rows[i].verdict);
	}
}

static void test_uris(void **state)
{
	static const struct {
		const char *uri;
		bool allowed;
	} rows[] = {
		{"http://169.254.170.2/v2/x", true},
		{"http://169.254.170.23/v1/credentials", true},
		{"http://[fd00:ec2::23]/v1/credentials", true},
		{"http://localhost:8080/x", true},
		{"http://127.0.0.1:8080/x", true},
		{"http://127.9.9.9/x", true},
		{"http://[::1]:80/x", true},
		{"https://anywhere.example/x", true},
		{"http://anywhere.example/x", false},
		{"http://169.254.169.254/x", false},
		{"http://127.0.0.1.example.com/x", false},
		{"http://169.254.170.2@evil.example/x", false},
		{"http://localhost.evil.example/x", false},
		{"https://", false},
		{"http://169.254.170.2/x\r\nHost: y", false},
		{"ftp://127.0.0.1/x", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (aws_reply_uri_is_allowed(rows[i].uri) != rows[i].allowed)
			fail_msg("%s", rows[i].uri);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_sts),
		cmocka_unit_test(test_sts_verdicts),
		cmocka_unit_test(test_uris),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
