#include "telemetry/health_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_table(void **state)
{
	static const struct {
		enum liveness_kind kind;
		struct liveness_facts facts;
		bool passed;
		const char *phase;
	} rows[] = {
		{LIVENESS_LIVE, {"running", false, 5}, true, "training"},
		{LIVENESS_LIVE, {"restoring", false, -1}, true, "restoring"},
		{LIVENESS_LIVE, {"uploading", true, 999999}, true, "draining"},
		{LIVENESS_LIVE, {"", false, -1}, true, "unknown"},
		{LIVENESS_READY, {"", false, -1}, false, "unknown"},
		{LIVENESS_READY, {"running", false, 5}, true, "training"},
		{LIVENESS_READY, {"running", true, 5}, true, "saving"},
		{LIVENESS_READY, {"restoring", false, -1}, false, "restoring"},
		{LIVENESS_READY, {"checkpointing", false, 5}, false, "saving"},
		{LIVENESS_READY, {"draining", false, 5}, false, "draining"},
		{LIVENESS_READY, {"over", false, 5}, false, "over"},
		{LIVENESS_FRESH, {"running", false, 60000}, true, "training"},
		{LIVENESS_FRESH, {"running", false, 60001}, false, "training"},
		{LIVENESS_FRESH, {"running", false, -1}, true, "training"},
		/* whatever takes its time is not interrupted */
		{LIVENESS_FRESH, {"running", true, 9999999}, true, "saving"},
		{LIVENESS_FRESH, {"restoring", false, 9999999}, true, "restoring"},
		{LIVENESS_FRESH, {"checkpointing", false, 9999999}, true, "saving"},
		{LIVENESS_FRESH, {"draining", false, 9999999}, true, "draining"},
		{LIVENESS_FRESH, {"uploading", true, 9999999}, true, "draining"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct liveness_answer answer = liveness_judge(rows[i].kind, 60000, &rows[i].facts);

		assert_int_equal(answer.passed, rows[i].passed);
		assert_string_equal(answer.phase, rows[i].phase);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
