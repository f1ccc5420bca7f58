#include "restore/restore.h"

#include "unit.h"

#define MARGIN PREDECESSOR_WAIT_MARGIN_MS
#define MOST PREDECESSOR_WAIT_MOST_MS
#define SILENCE PREDECESSOR_HEARTBEAT_TIMEOUT_MS

static void test_table(void **state)
{
	static const struct {
		struct drain_state seen;
		int64_t left_ms;
	} rows[] = {
		/* nobody, or nobody who said a word */
		{{0}, 0},
		{{.left_ms = 20000}, 0},
		/* it saves */
		{{.attempt = 1, .announcement = 1, .left_ms = 20000}, 20000 + MARGIN},
		{{.attempt = 1, .announcement = 1, .left_ms = 20000, .age_ms = 1500},
		 18500 + MARGIN},
		{{.attempt = 1, .announcement = 1, .left_ms = 20000, .age_ms = 19999}, 1 + MARGIN},
		/* it is through, whatever it said */
		{{.attempt = 1, .announcement = 1, .left_ms = 20000, .ended = true}, 0},
		{{.attempt = 1, .ended = true}, 0},
		/* its machine is gone */
		{{.attempt = 1, .announcement = 1, .left_ms = 20000, .age_ms = 20000}, 0},
		{{.attempt = 1, .announcement = 1, .left_ms = 20000, .age_ms = INT64_MAX}, 0},
		{{.attempt = 1, .announcement = 1, .left_ms = 0}, 0},
		/* it has taken it back, or what it said cannot be read */
		{{.attempt = 1, .announcement = 2, .left_ms = -1}, 0},
		{{.attempt = 1, .announcement = 2, .left_ms = INT64_MIN, .age_ms = 1}, 0},
		/* a word is not believed for ever */
		{{.attempt = 1, .announcement = 1, .left_ms = MOST}, MOST + MARGIN},
		{{.attempt = 1, .announcement = 1, .left_ms = MOST + 1}, MOST + MARGIN},
		{{.attempt = 1, .announcement = 1, .left_ms = INT64_MAX}, MOST + MARGIN},
		{{.attempt = 1, .announcement = 1, .left_ms = MOST + 5000, .age_ms = 10000},
		 MOST - 5000 + MARGIN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (predecessor_left_ms(&rows[i].seen) != rows[i].left_ms)
			fail_msg("row %zu: %lld", i, (long long)predecessor_left_ms(&rows[i].seen));
}

static void test_silence(void **state)
{
	static const struct {
		struct drain_state seen;
		int64_t wait_ms;
	} rows[] = {
		{{.attempt = 1, .left_ms = 900000}, SILENCE},
		{{.attempt = 1, .left_ms = 900000, .age_ms = 1000}, SILENCE - 1000},
		{{.attempt = 1, .left_ms = 900000, .age_ms = SILENCE}, 0},
		{{.attempt = 1, .left_ms = 900000, .age_ms = INT64_MAX}, 0},
		{{.attempt = 1, .left_ms = 3000}, 3000 + MARGIN},
		{{.attempt = 1, .left_ms = 900000, .ended = true}, 0},
		{{.attempt = 1, .left_ms = -1}, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (predecessor_wait_ms(&rows[i].seen) != rows[i].wait_ms)
			fail_msg("row %zu: %lld", i, (long long)predecessor_wait_ms(&rows[i].seen));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
