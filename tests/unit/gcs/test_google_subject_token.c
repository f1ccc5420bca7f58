/* Another issuer's token: from a file or an address. */
#include "storage/gcs/google_credentials.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/httpd.h"
#include "base/json.h"
#include "base/text.h"
#include "err_kind.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct err err;

static void check_token(const struct google_account *account, const char *expected)
{
	auto_free char *token = NULL;

	err = (struct err){0};
	if (google_subject_token_get(account, &token, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(token, expected);
}

static void check_fails(const struct google_account *account, enum err_kind kind, const char *said)
{
	char *token = NULL;

	err = (struct err){0};
	assert_int_equal(google_subject_token_get(account, &token, NULL, &err), -1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
