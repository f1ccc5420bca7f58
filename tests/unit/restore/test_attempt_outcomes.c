/* Why a job is not started again, in words. */
#include "restore/attempt_outcomes.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_refusals(void **state)
{
	static const struct {
		struct attempt_outcomes outcomes;
		const char *words; /* NULL: it is started */
	} rows[] = {
		// clang-format off
		{{.decision = {.action = RESTART_PROCEED}}, NULL},
		{{.decision = {.action = RESTART_ROLL_BACK}}, NULL},
		{{.decision = {.action = RESTART_REVERT}}, NULL},
		{{.decision = {.action = RESTART_DONE}, .newest = 2, .ended_at = "2026-01-02T03:04:05Z"},
			"job digits finished (attempt 2, 2026-01-02T03:04:05Z): nothing to do; --rerun "
			"starts it again (the arguments of the command are the same; environment "
			"variables make no other command)"},
		{{.decision = {.action = RESTART_DONE}, .newest = 2},
			"job digits finished (attempt 2, time unknown): nothing to do; --rerun starts it "
			"again (the arguments of the command are the same; environment variables "
			"make no other command)"},
		{{.decision = {.action = RESTART_NO_PROGRESS, .without_progress = 3},
			 .newest = 3,
			 .outcome = "failed with exit 1"},
			"job digits: the last 3 attempts added no durable snapshot (attempt 3 failed "
			"with exit 1): not started (exit 93); find out why, then run it once with "
			"--max-no-progress 0"},
		{{.decision = {.action = RESTART_NO_PROGRESS, .without_progress = 1},
			 .newest = 1,
			 .outcome = "left no end record"},
			"job digits: the last 1 attempt added no durable snapshot (attempt 1 left no end "
			"record): not started (exit 93); find out why, then run it once with "
			"--max-no-progress 0"},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *words = attempt_outcomes_refusal(&rows[i].outcomes, "digits");

		if (rows[i].words)
			assert_string_equal(words, rows[i].words);
		else
			assert_null(words);
	}
}

static void test_takeovers(void **state)
{
	static const struct attempt_outcomes
		ended = {.newest = 2},
		open =
			{
				.newest = 2,
				.open = {true, "node-7", "2026-01-02T03:04:05Z", 41},
			},
		unknown = {.newest = 2, .open = {true, "", "", 41}};
	auto_free char *none = attempt_outcomes_takeover(&ended, "digits", true);
	auto_free char *here = attempt_outcomes_takeover(&open, "digits", true);
	auto_free char *elsewhere = attempt_outcomes_takeover(&open, "digits", false);
	auto_free char *nowhere = attempt_outcomes_takeover(&unknown, "digits", false);

	(void)state;
	assert_null(none);
	assert_string_equal(here, "job digits is running on node-7 since 2026-01-02T03:04:05Z "
				  "(attempt 2, process 41): this start takes it over, and what "
				  "that one saves from now on is not used");
	assert_string_equal(elsewhere,
			    "job digits: attempt 2, on node-7 since 2026-01-02T03:04:05Z, has left "
			    "no end record; if it still runs, this start takes it over");
	assert_string_equal(nowhere,
			    "job digits: attempt 2, on another machine since an unknown time, has "
			    "left no end record; if it still runs, this start takes it over");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_takeovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
