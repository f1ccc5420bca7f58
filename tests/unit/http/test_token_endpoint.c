/* Answers of token services. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/httpd.h"
#include "base/text.h"
#include "err_kind.h"
#include "storage/http/token_endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW 1000000
#define WALL 1700000000000

static void tokens(void **state)
{
	// clang-format off
	static const struct {
		const char *body;
		int64_t life_ms; /* -1: no token */
	} rows[] = {
		{"{\"access_token\":\"t\",\"expires_in\":3599,\"token_type\":\"Bearer\"}", 3599000},
		{"{\"access_token\":\"t\",\"expires_in\":\"3599\",\"token_type\":\"bearer\"}",
			3599000},
		{"{\"access_token\":\"t\",\"expires_on\":\"1700000100\"}", 100000},
		{"{\"access_token\":\"t\",\"expires_on\":1700000100}", 100000},
		{"{\"access_token\":\"t\",\"expires_in\":\"86399\",\"expires_on\":\"1\"}",
			86399000},
		{"{\"access_token\":\"t\",\"expires_on\":\"1600000000\"}", 0},
		{"{\"access_token\":\"t\",\"expires_on\":\"09/14/2017 00:00:00 PM +00:00\"}",
			300000},
		{"{\"access_token\":\"t\"}", 300000},
		{"{\"access_token\":\"t\",\"expires_in\":9000000000000000000}", 604800000},
		{"{\"access_token\":\"t\",\"token_type\":\"mac\"}", -1},
		{"{\"access_token\":\"\"}", -1},
		{"{\"access_token\":\"a\\r\\nb\"}", -1},
		{"{\"access_token\":7}", -1},
		{"{\"error\":\"invalid_grant\"}", -1},
		{"[\"t\"]", -1},
		{"<html>", -1},
		{"", -1},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct credential token = {0};
		struct err err = {0};
		int result = token_endpoint_parse(rows[i].body, strlen(rows[i].body), NOW, WALL,
						  &token, &err);

		if ((result == 0) != (rows[i].life_ms >= 0))
			fail_msg("row %zu: %s", i, err.text);
		if (result == 0)
			assert_int_equal(token.expires_ms, NOW + rows[i].life_ms);
		else
			assert_int_equal(err.kind, ERR_FAILED);
		free(token.text);
	}
}

static void words(void **state)
{
	static const struct {
		const char *body, *words;
	} rows[] = {
		{"{\"error\":\"invalid_grant\",\"error_description\":\"Bad\\r\\nRequest\"}",
		 "Bad  Request"},
		{"{\"error\":{\"code\":403,\"message\":\"Permission denied\"}}",
		 "Permission denied"},
		{"{\"error\":\"invalid_client\"}", "invalid_client"},
		{"{}", ""},
		{"<html>", ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[64];

		token_endpoint_error_text(rows[i].body, strlen(rows[i].body), text, sizeof(text));
		assert_string_equal(text, rows[i].words);
	}
}

/* --- asking --- */

static struct {
	struct httpd *httpd;
	int status;
	unsigned failures, requests; /* the first ones answer with `status` */
	const char *body;
	char said[200];
} service;

static void answer(void *arg, const struct httpd_request *request, struct httpd_reply *reply)
{
	const char *header = httpd_request_header(request, "X-Own");

	(void)arg;
	snprintf(service.said, sizeof(service.said), "%s %s %.*s", request->method,
		 header ? header : "-", (int)request->body_size, (const char *)request->body);
	if (service.requests++ < service.failures)
		httpd_reply_text(reply, service.status, "{\"error\":\"for a reason\"}");
	else
		httpd_reply_text(reply, 200, service.body);
}

static void asking(void **state)
{
	static const struct {
		int status;
		unsigned failures, requests;
		enum err_kind kind;
	} rows[] = {
		{0, 0, 1, ERR_NONE},     {408, 1, 2, ERR_NONE},   {410, 1, 2, ERR_NONE},
		{429, 1, 2, ERR_NONE},   {500, 1, 2, ERR_NONE},   {503, 9, 3, ERR_RETRY},
		{400, 9, 1, ERR_DENIED}, {407, 9, 1, ERR_DENIED}, {409, 9, 1, ERR_DENIED},
		{201, 9, 1, ERR_DENIED}, {499, 9, 1, ERR_DENIED},
	};
	static const char *const headers[] = {"X-Own: mine", NULL};
	auto_free char *url = NULL;
	struct err err = {0};

	(void)state;
	unsetenv("http_proxy");
	assert_int_equal(httpd_start(&(struct httpd_options){.handler = answer}, &service.httpd,
				     &err),
			 0);
	url = text_format("http://127.0.0.1:%u/", httpd_port(service.httpd));
	service.body = "{\"access_token\":\"t\",\"expires_in\":60}";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct token_endpoint endpoint = {
			.name = "the service",
			.method = i % 2 ? "POST" : "GET",
			.url = url,
			.headers = headers,
			.body = i % 2 ? "form" : NULL,
			.metadata = i % 2,
		};
		struct credential token = {0};

		service.requests = 0;
		service.status = rows[i].status;
		service.failures = rows[i].failures;
		err = (struct err){0};
		token_endpoint_get(&endpoint, &token, NULL, &err);
		if (err.kind != rows[i].kind || service.requests != rows[i].requests)
			fail_msg("%d: %s, %u requests: %s", service.status, err_kind_name(err.kind),
				 service.requests, err.text);
		assert_string_equal(service.said, i % 2 ? "POST mine form" : "GET mine ");
		if (err.kind == ERR_NONE)
			assert_string_equal(token.text, "t");
		else
			assert_non_null(strstr(err.text, ": for a reason"));
		if (err.kind != ERR_NONE)
			assert_non_null(strstr(err.text, "the service says "));
		free(token.text);
	}
	service.body = "nothing of use";
	service.failures = 0;
	assert_int_equal(token_endpoint_get(&(struct token_endpoint){.name = "the service",
								     .url = url},
					    &(struct credential){0}, NULL, &err),
			 -1);
	assert_int_equal(err.kind, ERR_FAILED);
	assert_non_null(strstr(err.text, "the service"));
	httpd_stop(service.httpd);
	/* Nobody is there: for a metadata service that is an answer. */
	for (int metadata = 0; metadata < 2; metadata++) {
		const struct token_endpoint endpoint = {
			.name = "the service",
			.url = url,
			.metadata = metadata,
		};

		assert_int_equal(token_endpoint_get(&endpoint, &(struct credential){0}, NULL, &err),
				 -1);
		assert_int_equal(err.kind, metadata ? ERR_DENIED : ERR_RETRY);
		assert_non_null(strstr(err.text, "the service"));
	}
}

static void what_may_be_a_token(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} rows[] = {
		{"ya29.a0-_~+/=", true}, {"x", true},          {NULL, false},  {"", false},
		{"a b", false},          {"a\r\nX: y", false}, {"a\n", false}, {"\x7f", false},
		{"t\xc3\xb6ken", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (bearer_token_is_valid(rows[i].text) != rows[i].valid)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_be_a_token),
		cmocka_unit_test(tokens),
		cmocka_unit_test(words),
		cmocka_unit_test(asking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
