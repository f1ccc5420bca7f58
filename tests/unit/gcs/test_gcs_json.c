/* The JSON API: URLs, the body of an upload, listings and replies. */
#include "unit.h"

#include "base/cleanup.h"
#include "err_kind.h"
#include "storage/gcs/gcs.h"

#include <stdlib.h>
#include <string.h>

static void urls(void **state)
{
	static const struct {
		unsigned asked;
		const char *key, *query, *url;
	} rows[] = {
		// clang-format off
		{ASKED_PUT, "a b/c+d", "",
			"http://h/upload/storage/v1/b/snaps/o?uploadType=media&name=a%20b%2Fc%2Bd"},
		{ASKED_PUT_IF_ABSENT, "k", "",
			"http://h/upload/storage/v1/b/snaps/o?uploadType=multipart&name=k"
			"&ifGenerationMatch=0"},
		{ASKED_GET, "a/b", "", "http://h/storage/v1/b/snaps/o/a%2Fb?alt=media"},
		{ASKED_GET_REST, "a/b", "", "http://h/storage/v1/b/snaps/o/a%2Fb?alt=media"},
		{ASKED_REMOVE, "a/b", "", "http://h/storage/v1/b/snaps/o/a%2Fb"},
		{ASKED_LIST, NULL, "prefix=x", "http://h/storage/v1/b/snaps/o?prefix=x"},
		// clang-format on
	};
	const struct gcs_address address = {.bucket = "snaps",
					    .prefix = "",
					    .endpoint = "http://h"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *url =
			gcs_json_url(&address, rows[i].asked, rows[i].key, rows[i].query);

		assert_string_equal(url, rows[i].url);
	}
}

static void body_of_a_put(void **state)
{
	static const char expected[] =
		"--B\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
		"{\"crc32c\": \"4waSgw==\"}\r\n--B\r\n"
		"Content-Type: application/octet-stream\r\n\r\n"
		"1\0003\r\n--B--\r\n";
	auto_(bytes_release) struct bytes body = {0};

	(void)state;
	gcs_json_add_body(&body, "B", "4waSgw==", "1\0003", 3);
	assert_int_equal(body.size, sizeof(expected) - 1);
	assert_memory_equal(body.data, expected, body.size);
}

static void page_query(void **state)
{
	auto_(bytes_release) struct bytes first = {0}, next = {0};

	(void)state;
	gcs_json_add_page_query(&first, "p/", STORE_ALL, NULL);
	assert_string_equal(uri_text(&first), "prefix=p%2F");
	gcs_json_add_page_query(&next, "p/", STORE_LEVEL, "t=");
	assert_string_equal(uri_text(&next), "prefix=p%2F&delimiter=%2F&pageToken=t%3D");
}

static void a_page(void **state)
{
	static const char text[] =
		"{\"kind\":\"storage#objects\",\"nextPageToken\":\"more\",\"prefixes\":[\"p/d/\"],"
		"\"items\":[{\"name\":\"p/"
		"a\",\"size\":\"12\",\"updated\":\"2026-04-11T22:05:00Z\"},"
		"{\"name\":\"p/b\",\"size\":3},{\"name\":\"p/folder/\",\"size\":\"0\"}]}";
	auto_(store_listing_release) struct store_listing listing = {0};
	auto_free char *next = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(gcs_json_read_page(text, strlen(text), "p/", &listing, &next, &err), 0);
	store_listing_sort(&listing);
	assert_int_equal(listing.count, 3);
	assert_string_equal(listing.items[0].key, "a");
	assert_int_equal(listing.items[0].size, 12);
	assert_true(listing.items[0].modified_ms > 0);
	assert_int_equal(listing.items[1].size, 3);
	assert_int_equal(listing.items[1].modified_ms, 0);
	assert_string_equal(listing.items[2].key, "d/");
	assert_string_equal(next, "more");
}

static void pages_that_are_none(void **state)
{
	static const char *const texts[] = {
		"",
		"<html>",
		"[]",
		"{}",
		"{\"kind\":\"storage#buckets\"}",
		"{\"kind\":\"storage#objects\",\"items\":[{\"size\":\"1\"}]}",
		"{\"kind\":\"storage#objects\",\"items\":[{\"name\":\"p/a\"}]}",
		"{\"kind\":\"storage#objects\",\"items\":[{\"name\":\"p/a\",\"size\":\"-1\"}]}",
		"{\"kind\":\"storage#objects\",\"items\":[{\"name\":\"p/a\",\"size\":-1}]}",
		("{\"kind\":\"storage#objects\",\"items\":[{\"name\":\"p/a\",\"size\":\"1\"},"
		 "{\"name\":\"q/a\",\"size\":\"1\"}]}"),
		"{\"kind\":\"storage#objects\",\"prefixes\":[\"q/\"]}",
		"{\"kind\":\"storage#objects\",\"prefixes\":[1]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		auto_(store_listing_release) struct store_listing listing = {0};
		struct err err = {0};
		char *next;

		if (gcs_json_read_page(texts[i], strlen(texts[i]), "p/", &listing, &next, &err) ==
		    0)
			fail_msg("%s", texts[i]);
		assert_int_equal(err.kind, ERR_CORRUPT);
		assert_int_equal(listing.count, 0);
		assert_null(next);
	}
}

#define ERROR_JSON(code, reason)                                                                  \
	"{\"error\":{\"code\":" #code ",\"message\":\"Words.\",\"errors\":[{\"reason\":\"" reason \
	"\"}]}}"

static void replies(void **state)
{
	static const struct {
		unsigned asked;
		int status;
		const char *body;
		enum call_verdict verdict;
		enum err_kind kind;
		const char *words;
		bool emulated;
	} rows[] = {
		// clang-format off
		{ASKED_PUT, 200, "{\"name\":\"k\"}", CALL_DONE, ERR_NONE, "", false},
		{ASKED_PUT, 200, "{\"name\":\"k\",\"crc32c\":\"sum\"}", CALL_DONE, ERR_NONE, "", false},
		{ASKED_PUT, 200, "{\"name\":\"k\",\"crc32c\":\"other\"}", CALL_RETRY, ERR_RETRY, "damaged", false},
		{ASKED_PUT, 200, "<html>Log in</html>", CALL_RETRY, ERR_RETRY, "", false},
		{ASKED_PUT, 200, "", CALL_RETRY, ERR_RETRY, "", true},
		{ASKED_PUT_IF_ABSENT, 412, ERROR_JSON(412, "conditionNotMet"), CALL_FAILED, ERR_EXISTS, "", false},
		{ASKED_PUT_IF_ABSENT, 404, ERROR_JSON(404, "notFound"), CALL_FAILED, ERR_INVALID, "Words.", false},
		{ASKED_PUT, 404, "<html>", CALL_FAILED, ERR_INVALID, "must speak the JSON API", true},
		{ASKED_PUT, 404, "<html>", CALL_FAILED, ERR_FAILED, "", false},
		{ASKED_PUT, 503, ERROR_JSON(503, "backendError"), CALL_RETRY, ERR_RETRY, "backendError", false},
		{ASKED_GET, 200, "<html>", CALL_DONE, ERR_NONE, "", true},
		{ASKED_GET, 200, "<html>", CALL_RETRY, ERR_RETRY, "", false},
		{ASKED_GET, 206, "{", CALL_DONE, ERR_NONE, "", true},
		{ASKED_GET, 404, ERROR_JSON(404, "notFound"), CALL_FAILED, ERR_NOT_FOUND, "", true},
		{ASKED_GET, 404, "Not Found", CALL_FAILED, ERR_NOT_FOUND, "", true},
		{ASKED_GET, 404, "Not Found", CALL_FAILED, ERR_FAILED, "", false},
		{ASKED_GET, 404, "No such object: b/k", CALL_FAILED, ERR_NOT_FOUND, "", false},
		{ASKED_GET, 404, "The specified bucket does not exist.", CALL_FAILED, ERR_INVALID, "no such bucket", false},
		{ASKED_GET, 404, "", CALL_FAILED, ERR_FAILED, "", false},
		{ASKED_GET_REST, 416, "", CALL_DONE, ERR_NONE, "", false},
		{ASKED_LIST, 404, ERROR_JSON(404, "notFound"), CALL_FAILED, ERR_INVALID, "no such bucket", false},
		{ASKED_REMOVE, 204, "", CALL_DONE, ERR_NONE, "", false},
		{ASKED_REMOVE, 404, ERROR_JSON(404, "notFound"), CALL_DONE, ERR_NONE, "", true},
		{ASKED_REMOVE, 404, ERROR_JSON(404, "No such object"), CALL_DONE, ERR_NONE, "", false},
		{ASKED_REMOVE, 403, ERROR_JSON(403, "forbidden"), CALL_FAILED, ERR_DENIED, "forbidden", false},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(bytes_release) struct bytes text = {0};
		struct http_response response = {.status = rows[i].status};
		struct store_reply reply;
		struct err err = {0};
		enum call_verdict verdict;

		bytes_append(&text, rows[i].body, strlen(rows[i].body), NULL);
		response.body = text;
		gcs_json_read_reply(&reply, &response, rows[i].asked, 0, "sum", rows[i].emulated);
		verdict = store_reply_judge(&gcs_replies, &reply, &err);
		if (verdict != rows[i].verdict || err.kind != rows[i].kind ||
		    !strstr(err.text, rows[i].words))
			fail_msg("row %zu: verdict %d, %s: %s", i, (int)verdict,
				 err_kind_name(err.kind), err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls),
		cmocka_unit_test(body_of_a_put),
		cmocka_unit_test(page_query),
		cmocka_unit_test(a_page),
		cmocka_unit_test(pages_that_are_none),
		cmocka_unit_test(replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
