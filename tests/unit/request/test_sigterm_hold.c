#include "request/sigterm_hold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_judge(void **state)
{
	static const struct {
		struct shield_facts facts;
		enum shield_verdict verdict;
	} rows[] = {
		/* The supervisor's own copy of the signal may come a moment later. */
		{{.kept_ms = 0}, SHIELD_WAIT},
		{{.kept_ms = SHIELD_PATIENCE_MS - 1}, SHIELD_WAIT},
		/* It did not come: somebody meant this process. */
		{{.kept_ms = SHIELD_PATIENCE_MS}, SHIELD_HAND_ON},
		{{.noticed = true, .kept_ms = 0}, SHIELD_KEEP},
		{{.noticed = true, .kept_ms = 3600000}, SHIELD_KEEP},
		/* What the job does to itself is its own affair, also during the notice. */
		{{.sender_ours = true}, SHIELD_HAND_ON},
		{{.sender_ours = true, .noticed = true}, SHIELD_HAND_ON},
		/* Ours, which the kernel took for the same. */
		{{.for_ours = true, .noticed = true}, SHIELD_HAND_ON},
		{{.let_go = true, .noticed = true}, SHIELD_HAND_ON},
		{{.let_go = true}, SHIELD_HAND_ON},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (shield_judge(&rows[i].facts) != rows[i].verdict)
			fail_msg("row %zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_judge)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
