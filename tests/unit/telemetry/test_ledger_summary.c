/* A ledger -> the lines of it that stay. */
#include "telemetry/telemetry.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* "launched@5 notice/stop@7": events with their times, and a notice's kind. Others stand as they
 * are. */
static void write_ledger(const char *events, struct bytes *ledger)
{
	auto_free char *copy = text_copy(events);
	char *rest = copy, *word;
	struct err err;

	while ((word = strsep(&rest, " "))) {
		char *at = strchr(word, '@'), *kind = strchr(word, '/');

		if (!*word)
			continue;
		if (!at) {
			assert_int_equal(bytes_format(ledger, &err, "%s\n", word), 0);
			continue;
		}
		*at = '\0';
		if (kind)
			*kind++ = '\0';
		assert_int_equal(bytes_format(ledger, &err,
					      "{\"event\":\"%s\",\"kind\":\"%s\","
					      "\"monotonic_ms\":%s}\n",
					      word, kind ? kind : "", at + 1),
				 0);
	}
}

static void test_what_stays(void **state)
{
	static const struct {
		const char *ledger, *stays;
	} rows[] = {
		{"", ""},
		{"launched@1", "launched@1"},
		{"claimed@0 launched@1 durable@2 durable@3 child_exited@4",
		 "launched@1 durable@3 child_exited@4"},
		/* vanished: what was seen last is how long it ran at least */
		{"launched@1 durable@2 requested@3 requested@9",
		 "launched@1 durable@2 requested@9"},
		{"launched@1 requested@3 durable@9", "launched@1 durable@9"},
		{"restored@1 notice/advice@2 notice/stop@3 notice/stop@4 ended@5",
		 "restored@1 notice/stop@4 ended@5"},
		{"notice/stop@3 notice/cancelled@4 ended@5", "notice/stop@3 ended@5"},
		/* It holds what was lost, and others follow. */
		{"child_exited@3 ended@4 requeue@5", "child_exited@3 ended@4 requeue@5"},
		{"launched@1 broken {\"event\":\"durable\"} \xff\xfe launched@2", "launched@2"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(bytes_release) struct bytes ledger = {0}, expected = {0}, out = {0};
		struct err err;

		write_ledger(rows[i].ledger, &ledger);
		write_ledger(rows[i].stays, &expected);
		assert_int_equal(ledger_summary(&ledger, &out, &err), 0);
		if (out.size != expected.size ||
		    (out.size > 0 && memcmp(out.data, expected.data, out.size) != 0))
			fail_msg("row %zu: %.*s", i, (int)out.size, (const char *)out.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
