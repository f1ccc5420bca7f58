#include "core/model.h"

#include "unit.h"

/* When SIGTERMs come, in ms after the first, and which of them begin a wish. */
static void test_table(void **state)
{
	static const struct {
		const char *what;
		int64_t after_ms[6];
		const char *begins; /* 'n': new, '-': repeats */
	} rows[] = {
		{"one", {0}, "n"},
		{"timeout: the child, then its group", {0, 0}, "n-"},
		{"the same, three levels deep", {0, 0, 1}, "n--"},
		{"a launcher that takes a while", {0, 400}, "n-"},
		{"just within the second", {0, 999}, "n-"},
		{"just after it", {0, 1000}, "nn"},
		{"impatience", {0, 1200}, "nn"},
		{"impatience of timeout's kind", {0, 0, 5000, 5000}, "n-n-"},
		{"repetitions do not extend a wish", {0, 600, 1200, 1800, 2400}, "n-n-n"},
		{"as often as can be", {0, 300, 600, 900, 1200, 1500}, "n---n-"},
		{"much later", {0, 86400000}, "nn"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stop_wish wish = {0};

		for (size_t j = 0; rows[i].begins[j]; j++)
			if (stop_wish_begins(&wish, 5000 + rows[i].after_ms[j]) !=
			    (rows[i].begins[j] == 'n'))
				fail_msg("%s: signal %zu", rows[i].what, j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
