/* Answers of token services. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "storage/http/token_endpoint.h"

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
		struct bearer_token token = {0};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
