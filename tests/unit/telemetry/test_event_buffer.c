#include "telemetry/event_buffer.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_lines_come_out_in_their_order(void **state)
{
	struct ledger ledger = {0};
	auto_(bytes_release) struct bytes part = {0};

	(void)state;
	ledger_take(&ledger, &part);
	assert_int_equal(part.size, 0);
	ledger_add(&ledger, "{\"a\":1}");
	ledger_add(&ledger, "{\"b\":2}");
	ledger_take(&ledger, &part);
	assert_int_equal(part.size, 16);
	assert_memory_equal(part.data, "{\"a\":1}\n{\"b\":2}\n", 16);
	ledger_release(&ledger);
}

static void test_what_could_not_be_written_comes_first(void **state)
{
	struct ledger ledger = {0};
	auto_(bytes_release) struct bytes part = {0};

	(void)state;
	ledger_add(&ledger, "1");
	ledger_take(&ledger, &part);
	ledger_add(&ledger, "2");
	ledger_return(&ledger, &part);
	assert_null(part.data);
	ledger_take(&ledger, &part);
	assert_int_equal(part.size, 4);
	assert_memory_equal(part.data, "1\n2\n", 4);
	ledger_release(&ledger);
}

static void test_what_piles_up_is_bounded_and_the_newest_stay(void **state)
{
	struct ledger ledger = {0};
	auto_(bytes_release) struct bytes part = {0};
	char line[1001];
	unsigned lines = LEDGER_MOST / sizeof(line) + 100;

	(void)state;
	memset(line, 'x', 1000);
	line[1000] = '\0';
	for (unsigned i = 0; i < lines; i++)
		ledger_add(&ledger, line);
	ledger_add(&ledger, "last");
	assert_true(ledger.lines.size <= LEDGER_MOST);
	ledger_take(&ledger, &part);
	assert_int_equal(bytes_append(&part, "", 1, NULL), 0);
	assert_non_null(
		strstr((char *)part.data, "\nlast\n{\"event\":\"ledger_shortened\",\"lines\":"));
	assert_int_equal(ledger.dropped, 0);
	ledger_release(&ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_come_out_in_their_order),
		cmocka_unit_test(test_what_could_not_be_written_comes_first),
		cmocka_unit_test(test_what_piles_up_is_bounded_and_the_newest_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
