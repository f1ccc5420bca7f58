/* XML as the stores send it, and such as nobody should. */
#include "storage/http/xml.h"

#include "base/text.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void collect(void *arg, const char *path, const char *text)
{
	bytes_format(arg, NULL, "%s=%s;", path, text);
}

static char *read_all(const char *document, struct err *err)
{
	struct bytes seen = {0};
	int result = xml_read(document, strlen(document), collect, &seen, err);

	bytes_append(&seen, "", 1, NULL);
	if (result == 0)
		return (char *)seen.data;
	bytes_release(&seen);
	return NULL;
}

static void test_documents(void **state)
{
	static const struct {
		const char *document, *seen;
	} rows[] = {
		{"<a><b>1</b><b>2</b></a>", "a/b=1;a/b=2;a=;"},
		{" \r\n\t <?xml version=\"1.0\"?>\n<a>\n  <b/>\n</a>\n", "a/b=;a=;"},
		{"<a xmlns=\"http://x/\"><y:b xmlns:y=\"u\">&quot;e&amp;&#65;&quot;</y:b></a>",
		 "a/b=\"e&A\";a=;"},
		{"<a><b> x y </b></a>", "a/b= x y ;a=;"},
		{"<a><b><![CDATA[<c>]]></b></a>", "a/b=<c>;a=;"},
		{"<?xml version=\"1.0\" encoding=\"UTF-8\"?><a>\xc3\xbc</a>", "a=\xc3\xbc;"},
		{"<a>one<b>two</b>three</a>", "a/b=two;a=onethree;"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		char *seen = read_all(rows[i].document, &err);

		if (!seen)
			fail_msg("row %zu: %s", i, err.text);
		assert_string_equal(seen, rows[i].seen);
		free(seen);
	}
}

static void test_refused(void **state)
{
	static const char *const documents[] = {
		"",
		"   \n",
		"garbage",
		"{\"json\": 1}",
		"<a>",
		"<a><b></a>",
		"<a></a><b></b>",
		"<a>&unknown;</a>",
		"<a>\xff</a>",
		"<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
		"<!DOCTYPE html><html></html>",
		"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></"
		"a></a></a>"
		"</a></a></a></a></a></a></a>",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		struct err err = {0};
		char *seen = read_all(documents[i], &err);

		if (seen)
			fail_msg("accepted: %s", documents[i]);
		assert_int_equal(err.kind, ERR_CORRUPT);
	}
}

static void test_long_text(void **state)
{
	struct bytes document = {0};
	struct err err = {0};

	(void)state;
	bytes_append(&document, "<a>", 3, NULL);
	for (int i = 0; i < 70000; i++)
		bytes_append(&document, "x", 1, NULL);
	bytes_append(&document, "</a>", 5, NULL);
	assert_null(read_all((const char *)document.data, &err));
	assert_int_equal(err.kind, ERR_CORRUPT);
	bytes_release(&document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documents),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
