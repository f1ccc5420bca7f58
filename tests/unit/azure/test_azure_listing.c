/* Pages of Azure's List Blobs, and what is none. */
#include "unit.h"

#include "base/cleanup.h"
#include "storage/azure/azure.h"

#include <stdlib.h>
#include <string.h>

#define BLOB(name, size)                                               \
	"<Blob><Name>" name "</Name><Properties><Content-Length>" size \
	"</Content-Length><ResourceType>file</ResourceType></Properties></Blob>"
#define PAGE(blobs, marker)                                                          \
	"\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults " \
	"ServiceEndpoint=\"x\"><Prefix>p/</Prefix><Blobs>" blobs "</Blobs>" marker   \
	"</EnumerationResults>"

static int read_page(const char *page, struct store_listing *listing, char **next, struct err *err)
{
	return azure_listing_read(page, strlen(page), "p/", listing, next, err);
}

static void pages(void **state)
{
	auto_(store_listing_release) struct store_listing listing = {0};
	auto_free char *next = NULL, *last = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(
		read_page(PAGE(BLOB("p/a&amp;b",
				    "5") "<BlobPrefix><Name>p/x/</Name></BlobPrefix>"
					 "<Blob><Name>p/d</Name><Properties><Content-Length>0</"
					 "Content-Length>"
					 "<ResourceType>directory</ResourceType></Properties></"
					 "Blob>" BLOB("p/", "0") BLOB("p/folder/", "0"),
			       "<NextMarker>2!8</NextMarker>"),
			  &listing, &next, &err),
		0);
	assert_string_equal(next, "2!8");
	assert_int_equal(read_page(PAGE(BLOB("p/z", "18446744073"), "<NextMarker />"), &listing,
				   &last, &err),
			 0);
	assert_null(last);
	store_listing_sort(&listing);
	assert_int_equal(listing.count, 3);
	assert_string_equal(listing.items[0].key, "a&b");
	assert_int_equal(listing.items[0].size, 5);
	assert_string_equal(listing.items[1].key, "x/");
	assert_int_equal(listing.items[2].size, 18446744073);
}

/* By what is swept. */
static void dates(void **state)
{
	auto_(store_listing_release) struct store_listing listing = {0};
	auto_free char *next = NULL;
	struct err err = {0};

	(void)state;
	assert_int_equal(
		read_page(PAGE("<Blob><Name>p/a</Name><Properties><Last-Modified>Sat, 11 Apr 2026 "
			       "22:26:58 GMT</Last-Modified><Content-Length>1</Content-Length>"
			       "</Properties></Blob>" BLOB("p/b", "1"),
			       ""),
			  &listing, &next, &err),
		0);
	assert_int_equal(listing.items[0].modified_ms, 1775946418000);
	assert_int_equal(listing.items[1].modified_ms, 0);
}

static void no_pages(void **state)
{
	static const char *const rows[] = {
		"",
		"<html><body>Log in</body></html>",
		"<?xml version=\"1.0\"?><Error><Code>X</Code></Error>",
		PAGE("<Blob><Name>p/a</Name></Blob>", ""),
		PAGE("<Blob><Properties><Content-Length>1</Content-Length></Properties></Blob>",
		     ""),
		PAGE(BLOB("p/a", "-1"), ""),
		PAGE(BLOB("p/a", "1") BLOB("q/a", "1"), ""),
		"<EnumerationResults><Blobs>" BLOB("p/a", "1"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(store_listing_release) struct store_listing listing = {0};
		auto_free char *next = NULL;
		struct err err = {0};

		if (read_page(rows[i], &listing, &next, &err) != -1 || err.kind != ERR_CORRUPT)
			fail_msg("row %zu is taken for a page", i);
		assert_int_equal(listing.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages),
		cmocka_unit_test(dates),
		cmocka_unit_test(no_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
