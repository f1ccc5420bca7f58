/* Pages of ListObjectsV2 and, as the same reader takes them, of Azure's List Blobs. */
#include "storage/azure/azure.h"
#include "storage/backend/bucket_listing.h"

#include "base/cleanup.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define PAGE(inner)                                                    \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult " \
	"xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" inner "</ListBucketResult>"
#define ITEM(key, size) \
	"<Contents><Key>" key "</Key><Size>" size "</Size><ETag>&quot;x&quot;</ETag></Contents>"
#define URL "<EncodingType>url</EncodingType>"
#define BLOBS(inner, end)                                                            \
	"\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults " \
	"ServiceEndpoint=\"x\"><Prefix>p/</Prefix><Blobs>" inner "</Blobs>" end      \
	"</EnumerationResults>"
#define BLOB(name, size)                                               \
	"<Blob><Name>" name "</Name><Properties><Content-Length>" size \
	"</Content-Length><ResourceType>file</ResourceType></Properties></Blob>"

static int read_page(const char *page, const char *prefix, struct store_listing *listing,
		     char **next, struct err *err)
{
	return strstr(page, "<EnumerationResults")
		       ? azure_listing_read(page, strlen(page), prefix, listing, next, err)
		       : bucket_listing_read(page, strlen(page), prefix, listing, next, err);
}

static void test_pages(void **state)
{
	// clang-format off
	static const struct {
		const char *page, *prefix, *keys, *next;
	} rows[] = {
		{PAGE("<IsTruncated>false</IsTruncated>"), "p/", "", NULL},
		{PAGE(ITEM("p/a", "1") ITEM("p/b/c", "22")), "p/", "a:1 b/c:22 ", NULL},
		{PAGE(ITEM("a", "18446744073709")), "", "a:18446744073709 ", NULL},
		{PAGE(ITEM("p/a", "1") "<CommonPrefixes><Prefix>p/b/</Prefix></CommonPrefixes>"),
			"p/", "a:1 b/:0 ", NULL},
		/* an empty object that somebody's browser made for a folder, and
		 * one for the prefix itself */
		{PAGE(ITEM("p/", "0") ITEM("p/d/", "0") ITEM("p/e", "5")), "p/", "e:5 ", NULL},
		{PAGE("<IsTruncated>true</IsTruncated><NextContinuationToken>1/&amp;"
			"=</NextContinuationToken>" ITEM("p/a", "1")),
			"p/", "a:1 ", "1/&="},
		{PAGE("<IsTruncated>true</IsTruncated><NextContinuationToken>a"
			"</NextContinuationToken>" ITEM("p/a", "1")), "p/", "a:1 ", "a"},
		/* a token on the last page means nothing */
		{PAGE("<NextContinuationToken>x</NextContinuationToken><IsTruncated>false</"
			"IsTruncated>"), "p/", "", NULL},
		/* the encoding, told before or behind */
		{PAGE(URL ITEM("my%20p/%C3%BC%2B1", "1")), "my p/", "\xc3\xbc+1:1 ", NULL},
		{PAGE(ITEM("my+p/a%2Bb", "1") URL), "my p/", "a+b:1 ", NULL},
		{PAGE(ITEM("a+p/b", "1") URL), "a+p/", "b:1 ", NULL},
		{PAGE(ITEM("p/%41", "1")), "p/", "%41:1 ", NULL},
		/* The last one counts. */
		{PAGE("<Contents><Key>p/a</Key><Key>p/b</Key><Size>1</Size><Size>2</Size></Contents>"),
		 "p/", "b:2 ", NULL},
		{BLOBS(BLOB("p/a&amp;b", "5") "<BlobPrefix><Name>p/x/</Name></BlobPrefix><Blob>"
			"<Name>p/d</Name><Properties><Content-Length>0</Content-Length><ResourceType>"
			"directory</ResourceType></Properties></Blob>" BLOB("p/", "0")
			BLOB("p/folder/", "0"), "<NextMarker>2!8</NextMarker>"),
			"p/", "a&b:5 x/:0 ", "2!8"},
		{BLOBS(BLOB("p/z", "18446744073"), "<NextMarker />"), "p/", "z:18446744073 ", NULL},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(store_listing_release) struct store_listing listing = {0};
		auto_(bytes_release) struct bytes keys = {0};
		auto_free char *next = NULL;
		struct err err = {0};

		if (read_page(rows[i].page, rows[i].prefix, &listing, &next, &err) < 0)
			fail_msg("row %zu: %s", i, err.text);
		for (size_t j = 0; j < listing.count; j++)
			bytes_format(&keys, NULL, "%s:%llu ", listing.items[j].key,
				     (unsigned long long)listing.items[j].size);
		bytes_append(&keys, "", 1, NULL);
		assert_string_equal((const char *)keys.data, rows[i].keys);
		assert_int_equal(next != NULL, rows[i].next != NULL);
		if (next)
			assert_string_equal(next, rows[i].next);
	}
}

static void test_dates(void **state)
{
	static const char *const pages[] = {
		PAGE("<Contents><Key>a</Key><LastModified>2026-04-11T22:26:58.000Z</LastModified>"
		     "<Size>1</Size></Contents>" ITEM("b", "1") "<Contents><Key>c</"
								"Key><LastModified>once</"
								"LastModified><Size>1</Size>"
								"</Contents>"),
		BLOBS("<Blob><Name>a</Name><Properties><Last-Modified>Sat, 11 Apr 2026 22:26:58 "
		      "GMT</Last-Modified><Content-Length>1</Content-Length></Properties></"
		      "Blob>" BLOB("b", "1") BLOB("c", "1"),
		      ""),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		auto_(store_listing_release) struct store_listing listing = {0};
		auto_free char *next = NULL;
		struct err err = {0};

		assert_int_equal(read_page(pages[i], "", &listing, &next, &err), 0);
		assert_int_equal(listing.count, 3);
		assert_int_equal(listing.items[0].modified_ms, 1775946418000);
		assert_int_equal(listing.items[1].modified_ms, 0);
		assert_int_equal(listing.items[2].modified_ms, 0);
	}
}

static void test_refused(void **state)
{
	static const char *const pages[] = {
		"",
		"<html/>",
		"<Error><Code>x</Code></Error>",
		"<ListBucketResult>",
		PAGE("<IsTruncated>true</IsTruncated>"),
		PAGE("<Contents><Key>p/a</Key></Contents>"),
		PAGE("<Contents><Size>1</Size></Contents>"),
		PAGE(ITEM("p/a", "-1")),
		PAGE(ITEM("p/a", "many")),
		PAGE(ITEM("elsewhere", "1")),
		BLOBS("<Blob><Name>p/a</Name></Blob>", ""),
		BLOBS("<Blob><Properties><Content-Length>1</Content-Length></Properties></Blob>",
		      ""),
		BLOBS(BLOB("p/a", "-1"), ""),
		BLOBS(BLOB("p/a", "1") BLOB("q/a", "1"), ""),
		"<EnumerationResults><Blobs>" BLOB("p/a", "1"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		auto_(store_listing_release) struct store_listing listing = {0};
		auto_free char *next = NULL;
		struct err err = {0};

		if (read_page(pages[i], "p/", &listing, &next, &err) == 0)
			fail_msg("accepted: %s", pages[i]);
		assert_int_equal(err.kind, ERR_CORRUPT);
		assert_int_equal(listing.count, 0);
	}
}

static void test_what_is_found_in_a_list(void **state)
{
	static const char *const keys[] = {"p/a", "p/b", "p/c"};

	(void)state;
	for (size_t count = 0; count <= 3; count++) {
		auto_(store_listing_release) struct store_listing listing = {0};

		for (size_t i = 0; i < count; i++)
			store_listing_add(&listing, keys[i], i);
		store_listing_sort(&listing);
		for (size_t i = 0; i < 3; i++) {
			const struct store_object *found = store_listing_find(&listing, keys[i]);

			assert_int_equal(found != NULL, i < count);
			assert_true(!found || found->size == i);
		}
		assert_null(store_listing_find(&listing, "p/"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_dates),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_what_is_found_in_a_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
