#include "telemetry/telemetry.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void test_lines_come_out_in_their_order(void **state)
{
	struct event_buffer event_buffer = {0};
	auto_(bytes_release) struct bytes part = {0};

	(void)state;
	event_buffer_extract(&event_buffer, &part);
	assert_int_equal(part.size, 0);
	event_buffer_add(&event_buffer, "{\"a\":1}");
	event_buffer_add(&event_buffer, "{\"b\":2}");
	event_buffer_extract(&event_buffer, &part);
	assert_int_equal(part.size, 16);
	assert_memory_equal(part.data, "{\"a\":1}\n{\"b\":2}\n", 16);
	event_buffer_release(&event_buffer);
}

static void test_what_piles_up_is_bounded_and_the_newest_stay(void **state)
{
	struct event_buffer event_buffer = {0};
	auto_(bytes_release) struct bytes part = {0};
	char line[1001];
	unsigned lines = EVENT_BUFFER_MOST / sizeof(line) + 100;

	(void)state;
	memset(line, 'x', 1000);
	line[1000] = '\0';
	for (unsigned i = 0; i < lines; i++)
		event_buffer_add(&event_buffer, line);
	event_buffer_add(&event_buffer, "last");
	assert_true(event_buffer.lines.size <= EVENT_BUFFER_MOST);
	event_buffer_extract(&event_buffer, &part);
	assert_int_equal(bytes_append(&part, "", 1, NULL), 0);
	assert_non_null(
		strstr((char *)part.data, "\nlast\n{\"event\":\"ledger_shortened\",\"lines\":"));
	assert_int_equal(event_buffer.dropped, 0);
	event_buffer_release(&event_buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_come_out_in_their_order),
		cmocka_unit_test(test_what_piles_up_is_bounded_and_the_newest_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
