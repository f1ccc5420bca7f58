/* Percent-encoding, and where a secret may go. */
#include "unit.h"

#include "base/cleanup.h"
#include "storage/http/uri.h"

#include <string.h>

static void encodes_and_decodes(void **state)
{
	static const struct {
		const char *plain, *whole, *path;
	} rows[] = {
		{"", "", ""},
		{"AZaz09-._~", "AZaz09-._~", "AZaz09-._~"},
		{"a/b c", "a%2Fb%20c", "a/b%20c"},
		{"+*:=@!'()%?#&", "%2B%2A%3A%3D%40%21%27%28%29%25%3F%23%26",
		 "%2B%2A%3A%3D%40%21%27%28%29%25%3F%23%26"},
		{"\xC3\xA4\x01\xFF", "%C3%A4%01%FF", "%C3%A4%01%FF"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *whole = uri_encode(rows[i].plain, false);
		auto_free char *path = uri_encode(rows[i].plain, true);
		auto_free char *back = uri_decode(whole, strlen(whole));

		assert_string_equal(whole, rows[i].whole);
		assert_string_equal(path, rows[i].path);
		assert_string_equal(back, rows[i].plain);
	}
}

static void decodes_what_is_no_encoding(void **state)
{
	static const struct {
		const char *text, *plain;
	} rows[] = {{"%", "%"},       {"%4", "%4"},   {"%zz1", "%zz1"},
		    {"%41%4", "A%4"}, {"a+b", "a+b"}, {"%2f", "/"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *plain = uri_decode(rows[i].text, strlen(rows[i].text));

		assert_string_equal(plain, rows[i].plain);
	}
}

static void queries(void **state)
{
	auto_(bytes_release) struct bytes query = {0};

	(void)state;
	assert_string_equal(uri_text(&query), "");
	uri_add(&query, "prefix", "a/b&c");
	uri_add(&query, "flag", "");
	assert_string_equal(uri_text(&query), "prefix=a%2Fb%26c&flag=");
}

static void secrets(void **state)
{
	static const struct {
		const char *url;
		bool keeps;
	} rows[] = {
		{"https://example.com", true},
		{"HTTPS://example.com", true},
		{"http://example.com", false},
		{"http://localhost", true},
		{"http://localhost:80/x", true},
		{"http://LocalHost/", true},
		{"http://127.0.0.1:1", true},
		{"http://[::1]:1/", true},
		{"http://127.9.0.1/", true},
		{"http://127.0.0.2:9000", true},
		{"http://127.example.com", false},
		{"http://128.0.0.1", false},
		{"http://127.0.0.1.example.com", false},
		{"http://localhost.example.com", false},
		{"http://localhost@example.com", false},
		{"http://localhost:80@example.com", false},
		{"http://127.0.0.1:x@example.com/", false},
		{"http://[::1]@example.com", false},
		{"http://localhost/@example.com", true},
		{"http://[::1", false},
		{"ftp://localhost", false},
		{"localhost", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (uri_is_confidential(rows[i].url) != rows[i].keeps)
			fail_msg("%s", rows[i].url);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_and_decodes),
		cmocka_unit_test(decodes_what_is_no_encoding),
		cmocka_unit_test(queries),
		cmocka_unit_test(secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
