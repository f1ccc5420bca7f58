/* The text that SharedKey signs: Microsoft's printed example, and what each part does to it. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "storage/azure/azure.h"

static const char *const container_headers[] = {"x-ms-date: Fri, 26 Jun 2015 23:39:12 GMT",
						"x-ms-version: 2015-02-21", NULL};

/* "Authorize with Shared Key" prints the text; the signature is of Python's hmac with the
 * emulator's public key. */
static void printed_example(void **state)
{
	const struct azure_shared_key_request request = {
		.method = "GET",
		.account = "myaccount",
		.path = "/mycontainer",
		.query = "comp=metadata&restype=container&timeout=20",
		.headers = container_headers,
	};
	auto_(bytes_release) struct bytes key = {0};
	auto_free char *text = azure_shared_key_text(&request), *header = NULL;

	(void)state;
	assert_string_equal(text,
			    "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
			    "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\n"
			    "restype:container\ntimeout:20");
	assert_true(base64_decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/"
				  "K1SZFPTOtr/KBHBeksoGMGw==",
				  &key));
	header = azure_shared_key_sign(&request, &key);
	assert_string_equal(header,
			    "SharedKey myaccount:1u9lui2jDxj0+fpbHjQ5m5NnastJRSYM+PSmfi8TXx4=");
}

static void each_part_has_its_place(void **state)
{
	static const char *const headers[] = {
		"x-ms-blob-type: BlockBlob",
		"x-ms-date: D",
		NULL,
	};
	const struct azure_shared_key_request request = {
		.method = "PUT",
		.account = "acct",
		.path = "/acct/box/a%20b",
		.query = "comp=list&prefix=x%2Fy",
		.headers = headers,
		.if_absent = true,
		.content_length = 65,
	};
	auto_free char *text = azure_shared_key_text(&request);

	(void)state;
	assert_string_equal(text, "PUT\n\n\n65\n\n\n\n\n\n*\n\n\n"
				  "x-ms-blob-type:BlockBlob\nx-ms-date:D\n"
				  "/acct/acct/box/a%20b\ncomp:list\nprefix:x/y");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printed_example),
		cmocka_unit_test(each_part_has_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
