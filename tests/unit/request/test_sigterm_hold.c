#include "request/request.h"

#include "unit.h"

static void test_judge(void **state)
{
	static const struct {
		struct held_process process;
		bool noticed, ended;
		enum sigterm_hold_verdict verdict;
	} rows[] = {
		/* The supervisor's own copy of the signal may come a moment later. */
		{{.held_ms = 0}, false, false, SIGTERM_HOLD_WAIT},
		{{.held_ms = SIGTERM_HOLD_PATIENCE_MS - 1}, false, false, SIGTERM_HOLD_WAIT},
		/* It did not come. */
		{{.held_ms = SIGTERM_HOLD_PATIENCE_MS}, false, false, SIGTERM_HOLD_RELEASE},
		{{.sender_ours = true, .held_ms = SIGTERM_HOLD_PATIENCE_MS},
		 false,
		 false,
		 SIGTERM_HOLD_RELEASE},
		{{.for_ours = true, .held_ms = SIGTERM_HOLD_PATIENCE_MS},
		 false,
		 false,
		 SIGTERM_HOLD_RELEASE},
		{{.held_ms = SIGTERM_HOLD_PATIENCE_MS}, false, true, SIGTERM_HOLD_RELEASE},
		{{.held_ms = 0}, true, false, SIGTERM_HOLD_KEEP},
		{{.held_ms = 3600000}, true, false, SIGTERM_HOLD_KEEP},
		/* What the job does to itself is its own affair, also during the notice. */
		{{.sender_ours = true}, false, false, SIGTERM_HOLD_RELEASE},
		{{.sender_ours = true}, true, false, SIGTERM_HOLD_RELEASE},
		/* Ours, which the kernel took for the same. */
		{{.for_ours = true}, true, false, SIGTERM_HOLD_RELEASE},
		{{0}, true, true, SIGTERM_HOLD_RELEASE},
		{{0}, false, true, SIGTERM_HOLD_RELEASE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sigterm_hold hold = {.active = !rows[i].ended, .noticed = rows[i].noticed};

		if (sigterm_hold_decide(&hold, &rows[i].process) != rows[i].verdict)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_judge)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
