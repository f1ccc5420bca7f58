/* The error documents of the services, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "storage/http/error_body.h"

#include <string.h>

static void table(void **state)
{
	static const struct {
		const char *body, *code, *message;
	} rows[] = {
		{"<?xml version='1.0' encoding='UTF-8'?><Error><Code>NoSuchKey</Code><Message>The "
		 "specified key does not exist.</Message><Details>x</Details></Error>",
		 "NoSuchKey", "The specified key does not exist."},
		{"\xEF\xBB\xBF<?xml version=\"1.0\" "
		 "encoding=\"utf-8\"?><Error><Code>BlobNotFound</Code>"
		 "<Message>Not there.\nRequestId:1\nTime:2</Message></Error>",
		 "BlobNotFound", "Not there."},
		{"<Error><Code>A</Code><Message>a&lt;b\tc</Message></Error>", "A", "a<b c"},
		{"<Error><Code>A\nB</Code></Error>", "A B", ""},
		{"<Error><Code>A</Code>", "", ""},
		{"<html><body>Code</body></html>", "", ""},
		{"{\"error\":{\"code\":\"A\"}}", "", ""},
		{"", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error_body error;

		error_body_read(rows[i].body, strlen(rows[i].body), &error);
		assert_string_equal(error.code, rows[i].code);
		assert_string_equal(error.message, rows[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
