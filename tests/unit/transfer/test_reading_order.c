/* In which order the chunks of many files are read. */
#include "storage/transfer/reading_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FILES_MOST 4

/* "a3b0": chunk 3 of the first file, chunk 0 of the second. */
static void write_order(struct reading_order *order, char *text)
{
	size_t file;

	text[0] = 0;
	while (reading_order_next(order, &file))
		text += sprintf(text, "%c%zu", (char)('a' + file), reading_order_take(order, file));
}

static void test_order(void **state)
{
	static const struct {
		const char *name;
		struct {
			size_t first, end, sent_early;
		} files[FILES_MOST];
		size_t count;
		const char *order;
	} rows[] = {
		{"none", {{0}}, 0, ""},
		{"nothing sent early", {{0, 3, 0}, {0, 2, 0}}, 2, "a0a1a2b0b1"},
		{"what is to be sent first", {{0, 3, 2}}, 1, "a2a0a1"},
		{"of all files", {{0, 3, 2}, {0, 2, 1}, {0, 2, 0}}, 3, "a2b1c0c1a0a1b0"},
		{"all was sent early", {{0, 2, 2}, {0, 2, 0}}, 2, "b0b1a0a1"},
		{"shorter than what was sent", {{0, 2, 3}, {0, 1, 0}}, 2, "a0a1b0"},
		{"a part of a file", {{4, 6, 0}, {2, 3, 0}}, 2, "a4a5b2"},
		{"a part of a part", {{4, 8, 6}}, 1, "a6a7a4a5"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct reading_order order;
		char text[100];

		reading_order_init(&order, FILES_MOST);
		for (size_t j = 0; j < rows[i].count; j++)
			reading_order_add(&order, rows[i].files[j].first, rows[i].files[j].end,
					  rows[i].files[j].sent_early);
		write_order(&order, text);
		if (strcmp(text, rows[i].order) != 0)
			fail_msg("%s: %s instead of %s", rows[i].name, text, rows[i].order);
		reading_order_release(&order);
	}
}

static void test_once_more(void **state)
{
	struct reading_order order;
	char text[100];
	size_t file;

	(void)state;
	reading_order_init(&order, 2);
	reading_order_add(&order, 0, 2, 1);
	reading_order_add(&order, 0, 2, 0);
	write_order(&order, text);
	assert_string_equal(text, "a1b0b1a0");
	reading_order_again(&order, 0);
	write_order(&order, text);
	assert_string_equal(text, "a1a0");
	/* Both, and while chunks of others are left. */
	reading_order_again(&order, 0);
	reading_order_again(&order, 1);
	write_order(&order, text);
	assert_string_equal(text, "b0b1a1a0");
	assert_false(reading_order_next(&order, &file));
	reading_order_release(&order);
}

/* A file may have to be read again while it waits for that: it is found by its own turn then. */
static void test_twice_before_its_turn(void **state)
{
	struct reading_order order;
	char text[100];
	size_t file;

	(void)state;
	reading_order_init(&order, 3);
	for (int i = 0; i < 3; i++)
		reading_order_add(&order, 0, 1, 0);
	for (int i = 0; i < 20; i++)
		for (size_t j = 0; j < 3; j++)
			reading_order_again(&order, j);
	assert_int_equal(order.again_count, 3);
	write_order(&order, text);
	assert_string_equal(text, "a0b0c0");
	for (size_t j = 0; j < 3; j++)
		reading_order_again(&order, j);
	write_order(&order, text);
	assert_string_equal(text, "c0b0a0");
	assert_false(reading_order_next(&order, &file));
	reading_order_release(&order);
}

static void test_nothing_more_of_a_file(void **state)
{
	struct reading_order order;
	char text[100];
	size_t file;

	(void)state;
	reading_order_init(&order, 2);
	reading_order_add(&order, 0, 3, 1);
	reading_order_add(&order, 0, 1, 0);
	assert_true(reading_order_next(&order, &file));
	assert_int_equal(file, 0);
	reading_order_skip(&order, file);
	write_order(&order, text);
	assert_string_equal(text, "b0");
	reading_order_release(&order);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_once_more),
		cmocka_unit_test(test_twice_before_its_turn),
		cmocka_unit_test(test_nothing_more_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
