/* The error documents of the services, what is none, and the judge. The stores' own tables are
 * tested beside them. */
#include "unit.h"

#include "storage/http/store_reply.h"

#include <string.h>

static void reads_error_documents(void **state)
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
		struct store_reply reply = {.status = 400};

		store_reply_read_body(&reply, rows[i].body, strlen(rows[i].body), true);
		assert_string_equal(reply.code, rows[i].code);
		assert_string_equal(reply.message, rows[i].message);
	}
}

/* What a body is, besides an error. */
static void tells_what_came(void **state)
{
	static const struct {
		int status;
		unsigned asked;
		const char *body;
		bool whole;
		unsigned came;
		const char *code;
	} rows[] = {
		{200, ASKED_LIST, "", true, 0, ""},
		{200, ASKED_LIST, "<List/>", true, CAME_BODY, ""},
		{200, ASKED_PUT, "<Error/>", true, CAME_BODY | CAME_ERROR, ""},
		{200, ASKED_GET, "<Error><Code>A</Code></Error>", true, CAME_BODY, ""},
		{404, ASKED_GET, "<Error><Code>A</Code></Error>", true, CAME_BODY | CAME_ERROR,
		 "A"},
		{200, ASKED_PUT, "<HTML></HTML>", true, CAME_BODY | CAME_PAGE, ""},
		{200, ASKED_PUT, "Log in", true, CAME_BODY | CAME_PAGE, ""},
		{400, ASKED_PUT, "<Error><Code>A</Code>", true, CAME_BODY | CAME_PAGE, ""},
		{400, ASKED_PUT, "<Error><Code>A</Code>", false, CAME_BODY | CAME_PAGE | CAME_ERROR,
		 "A"},
		{400, ASKED_PUT, "<Error><Code>A", false, CAME_BODY | CAME_PAGE, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store_reply reply = {.status = rows[i].status, .facts = rows[i].asked};

		store_reply_read_body(&reply, rows[i].body, strlen(rows[i].body), rows[i].whole);
		if (reply.facts != (rows[i].asked | rows[i].came))
			fail_msg("row %zu: %#x", i, reply.facts);
		assert_string_equal(reply.code, rows[i].code);
	}
}

/* The first row that fits, and its sentence. */
static void judges(void **state)
{
	static const struct reply_row table_rows[] = {
		{404, "Gone", ASKED_REMOVE, CALL_DONE, ERR_NONE, NULL},
		{404, "Gone", 0, CALL_FAILED, ERR_NOT_FOUND, NULL},
		{401, NULL, SENT_SKEWED, CALL_SKEWED, ERR_DENIED, "set the clock"},
		{STATUS_ELSEWHERE, NULL, 0, CALL_MOVED, ERR_INVALID, NULL},
		{STATUS_GOOD, NULL, 0, CALL_DONE, ERR_NONE, NULL},
		{STATUS_FAULT, NULL, 0, CALL_RETRY, ERR_RETRY, NULL},
		{STATUS_ANY, NULL, 0, CALL_FAILED, ERR_FAILED, "look"},
	};
	static const struct reply_table table = {table_rows,
						 sizeof(table_rows) / sizeof(table_rows[0]), 1000};
	static const struct {
		struct store_reply reply;
		size_t row;
		const char *text;
	} rows[] = {
		{{.status = 404, .code = "Gone", .facts = ASKED_REMOVE}, 0, ""},
		{{.status = 404, .code = "Gone", .facts = ASKED_GET}, 1, "404 Gone"},
		{{.status = 404, .code = "Other", .message = "Words."},
		 6,
		 "404 Other: Words. (look)"},
		{{.status = 404}, 6, "404: look"},
		{{.status = 401, .skew_ms = 1001, .message = "No."}, 2, "401: No. (set the clock)"},
		{{.status = 401, .skew_ms = -1001}, 2, "401: set the clock"},
		{{.status = 401, .skew_ms = 1000}, 6, "401: look"},
		{{.status = 299}, 4, ""},
		{{.status = 300}, 3, "300"},
		{{.status = 499}, 6, "499: look"},
		{{.status = 500}, 5, "500"},
		{{.status = 600, .message = "Words."}, 5, "600: Words."},
		{{.status = 0}, 6, "0: look"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};

		assert_int_equal(store_reply_find_row(&table, &rows[i].reply), rows[i].row);
		assert_int_equal(store_reply_judge(&table, &rows[i].reply, &err),
				 table_rows[rows[i].row].verdict);
		assert_int_equal(err.kind, table_rows[rows[i].row].kind);
		assert_string_equal(err.text, rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_error_documents),
		cmocka_unit_test(tells_what_came),
		cmocka_unit_test(judges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
