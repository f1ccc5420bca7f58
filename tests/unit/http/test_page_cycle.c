/* Lists that end, and lists that go in circles. */
#include "storage/http/store_reply.h"

#include "base/cleanup.h"

#include "unit.h"

#include <stdio.h>

/* Pages turned until the circle is found: `lead` pages that come once, then `length` that come
 * again and again. 0: not found. */
static size_t find(size_t lead, size_t length, size_t most)
{
	auto_(page_cycle_release) struct page_cycle pages = {0};
	struct err err = {0};

	for (size_t i = 0; i < most; i++) {
		char token[32];

		snprintf(token, sizeof(token), "token %zu",
			 i < lead || !length ? i : lead + (i - lead) % length);
		if (page_cycle_check(&pages, token, &err) < 0) {
			assert_int_equal(err.kind, ERR_FAILED);
			return i;
		}
	}
	return 0;
}

static void circles(void **state)
{
	(void)state;
	assert_int_equal(find(0, 1, 10), 1);
	for (size_t lead = 0; lead < 40; lead++)
		for (size_t length = 1; length < 40; length++) {
			size_t found = find(lead, length, 1000);

			assert_true(found >= lead + length);
			assert_true(found <= 3 * (lead + length));
		}
}

static void long_lists(void **state)
{
	(void)state;
	assert_int_equal(find(0, 0, 100000), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(circles),
		cmocka_unit_test(long_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
