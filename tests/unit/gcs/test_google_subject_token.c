/* Another issuer's token: from a file, an address, a program, or signed with AWS's credentials. */
#include "storage/gcs/google_source_aws.h"
#include "storage/gcs/google_subject_token.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/httpd.h"
#include "base/json.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WALL_MS 1775944800000

static struct err err;

static void check_token(const struct google_account *account, const char *expected)
{
	auto_free char *token = NULL;

	err = (struct err){0};
	if (google_subject_token_get(account, WALL_MS, &token, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(token, expected);
}

static void check_fails(const struct google_account *account, enum err_kind kind, const char *said)
{
	char *token = NULL;

	err = (struct err){0};
	assert_int_equal(google_subject_token_get(account, WALL_MS, &token, NULL, &err), -1);
	if (err.kind != kind || !strstr(err.text, said))
		fail_msg("%s: %s", err_kind_name(err.kind), err.text);
	assert_null(token);
}

/* --- from an address --- */

static char headers_seen[200];

static void answer(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *first = httpd_request_header(request, "X-First");
	const char *second = httpd_request_header(request, "X-Second");

	(void)arg;
	snprintf(headers_seen, sizeof(headers_seen), "%s %s %s", request->method,
		 first ? first : "-", second ? second : "-");
	httpd_reply_text(reply, strcmp(request->path, "/gone") == 0 ? 404 : 200,
			 "{\"id\": \"from-there\", \"n\": 5}");
}

static void test_address(void **state)
{
	struct httpd *httpd;
	auto_free char *url = NULL, *gone = NULL;
	auto_json json_t *headers =
		json_pack("{s:s, s:i, s:s}", "X-First", "one", "X-Number", 7, "X-Second", "two");
	struct google_account account = {.subject_field = "id"};

	(void)state;
	assert_int_equal(httpd_start(&(struct httpd_options){.handler = answer}, &httpd, &err), 0);
	url = text_format("http://127.0.0.1:%u/subject", httpd_port(httpd));
	gone = text_format("http://127.0.0.1:%u/gone", httpd_port(httpd));
	account.url = url;
	check_token(&account, "from-there");
	assert_string_equal(headers_seen, "GET - -");
	account.url_headers = headers;
	check_token(&account, "from-there");
	assert_string_equal(headers_seen, "GET one two");
	account.subject_field = "n";
	check_fails(&account, ERR_FAILED, "");
	account.url = gone;
	check_fails(&account, ERR_DENIED, "the source of the subject token says 404");
	httpd_stop(httpd);
}

/* --- from a file --- */

static void test_file(void **state)
{
	char path[] = "/tmp/reprieve-test-XXXXXX";
	int fd = mkstemp(path);
	struct google_account account = {.file = path};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "abc\n", 4), 4);
	close(fd);
	check_token(&account, "abc");
	assert_int_equal(file_write(path, "a b", 3, &err), 0);
	check_fails(&account, ERR_FAILED, path);
	assert_int_equal(unlink(path), 0);
	check_fails(&account, ERR_NOT_FOUND, "the subject token");
}

/* --- from a program --- */

static void test_program(void **state)
{
	static const struct {
		const char *command, *token;
		enum err_kind fails;
		const char *said;
	} rows[] = {
		{"echo "
		 "'{\"version\":1,\"success\":true,\"token_type\":\"t\",\"id_token\":\"abc\"}'",
		 "abc", ERR_NONE, NULL},
		{"echo '{\"version\":1,\"success\":true,\"token_type\":\"x:saml2\","
		 "\"saml_response\":\"def\",\"id_token\":\"abc\"}'",
		 "def", ERR_NONE, NULL},
		{"echo '{\"version\":1,\"success\":true,\"id_token\":\"'$GOOGLE_EXTERNAL_ACCOUNT_"
		 "AUDIENCE.$GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE.$GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE"
		 "'\"}'",
		 "pool.jwt.0", ERR_NONE, NULL},
		{"echo '{\"version\":1,\"success\":true,\"id_token\":\"abc\","
		 "\"expiration_time\":1775944801}'",
		 "abc", ERR_NONE, NULL},
		{"echo '{\"version\":1,\"success\":true,\"id_token\":\"abc\","
		 "\"expiration_time\":1775944800}'",
		 NULL, ERR_RETRY, "has expired"},
		{"echo '{\"version\":2,\"success\":true,\"id_token\":\"abc\"}'", NULL, ERR_FAILED,
		 "version"},
		{"echo '{\"version\":1,\"success\":false,\"message\":\"no\\u000away\"}'; exit 1",
		 NULL, ERR_DENIED, "it says: no way"},
		{"echo '{\"version\":1}'", NULL, ERR_DENIED, "it says: no reason"},
		{"echo '{\"version\":1,\"success\":true}'", NULL, ERR_FAILED, "printed no token"},
		{"exit 3", NULL, ERR_DENIED, "it failed and printed nothing"},
	};
	struct google_account account = {
		.audience = "pool",
		.subject_type = "jwt",
		.command_ms = 30000,
	};

	(void)state;
	setenv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "1", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		account.command = rows[i].command;
		if (rows[i].token)
			check_token(&account, rows[i].token);
		else
			check_fails(&account, rows[i].fails, rows[i].said);
	}
	setenv("GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES", "0", 1);
	account.command = rows[0].command;
	check_fails(&account, ERR_DENIED, "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1");
}

/* --- signed with AWS's credentials --- */

#define VERIFY "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"

static char *decoded(const char *token)
{
	char *text = text_copy(token), *out = text;
	unsigned byte;

	for (const char *in = token; *in; in++) {
		if (*in == '%' && sscanf(in + 1, "%2x", &byte) == 1) {
			*out++ = (char)byte;
			in += 2;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return text;
}

static void check_request(const char *token, const char *session)
{
	auto_free char *text = decoded(token);
	auto_json json_t *request = json_parse(text, strlen(text), NULL);
	json_t *list = json_object_get(request, "headers"), *item;
	static const char *const names[] = {"Authorization", "host", "x-amz-date",
					    "x-goog-cloud-target-resource", "x-amz-security-token"};
	size_t i;

	assert_string_equal(json_text_or(request, "method", ""), "POST");
	assert_string_equal(json_text_or(request, "url", ""),
			    "https://sts.eu-west-1.amazonaws.com?Action=GetCallerIdentity&Version="
			    "2011-06-15");
	assert_int_equal(json_array_size(list), session ? 5 : 4);
	json_array_foreach(list, i, item)
		assert_string_equal(json_text_or(item, "key", ""), names[i]);
	assert_non_null(strstr(text, "Credential=AK/20260411/eu-west-1/sts/aws4_request"));
	assert_non_null(strstr(text, "SignedHeaders=host;"));
	assert_string_equal(json_text_or(json_array_get(list, 1), "value", ""),
			    "sts.eu-west-1.amazonaws.com");
	assert_string_equal(json_text_or(json_array_get(list, 2), "value", ""), "20260411T220000Z");
	assert_string_equal(json_text_or(json_array_get(list, 3), "value", ""), "//pool");
	if (session)
		assert_string_equal(json_text_or(json_array_get(list, 4), "value", ""), session);
}

static void test_aws(void **state)
{
	struct google_account account = {.aws_url = VERIFY, .audience = "//pool"};
	auto_free char *token = NULL;

	(void)state;
	setenv("AWS_ACCESS_KEY_ID", "AK", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "SK", 1);
	setenv("AWS_REGION", "eu-west-1", 1);
	setenv("AWS_CONFIG_FILE", "/nonexistent", 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
	unsetenv("AWS_SESSION_TOKEN");
	assert_int_equal(google_subject_token_get(&account, WALL_MS, &token, NULL, &err), 0);
	check_request(token, NULL);
	free(steal(&token));
	setenv("AWS_SESSION_TOKEN", "session", 1);
	assert_int_equal(google_subject_token_get(&account, WALL_MS, &token, NULL, &err), 0);
	check_request(token, "session");
	account.aws_url = "http://sts.{region}.amazonaws.com";
	check_fails(&account, ERR_INVALID, "is no https:// address");
	account.aws_url = VERIFY;
	unsetenv("AWS_REGION");
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	check_fails(&account, ERR_DENIED, "set AWS_REGION");
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	unsetenv("AWS_SESSION_TOKEN");
	check_fails(&account, ERR_DENIED, "AWS credentials");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_aws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
