/* Why a job is not started again, in words. */
#include "restore/restore.h"

#include "base/cleanup.h"

#include "unit.h"

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
		{{.decision = {.action = RESTART_NO_PROGRESS, .without_progress = 3},
			 .newest = 3,
			 .outcome = "failed with exit 1"},
			"job digits: the last 3 attempts saved nothing beyond what was durable before "
			"(attempt 3 failed with exit 1): not started (exit 93); find out why, then run it once with "
			"--max-no-progress 0"},
		{{.decision = {.action = RESTART_NO_PROGRESS, .without_progress = 1},
			 .newest = 1,
			 .outcome = "left no end record"},
			"job digits: the last 1 attempt saved nothing beyond what was durable before "
			"(attempt 1 left no end record): not started (exit 93); find out why, then run it once with "
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
				.open = {true, "node-7", "2026-01-02T03:04:05Z", 41, ""},
			},
		unknown = {.newest = 2, .open = {true, "", "", 41, ""}};
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

static void test_one_that_lives_here(void **state)
{
	static const struct attempt_outcomes
		known =
			{
				.newest = 2,
				.open = {true, "node-7", "", 41, "/work/a"},
			},
		unknown = {.newest = 2, .open = {true, "", "", 41, ""}};
	auto_free char *there = attempt_outcomes_living(&known, "digits");
	auto_free char *somewhere = attempt_outcomes_living(&unknown, "digits");

	(void)state;
	assert_string_equal(there, "job digits is running on this machine already (attempt 2, "
				   "process 41, in /work/a): end that one, give this one another "
				   "--job, or take the job over with --take-over");
	assert_string_equal(somewhere,
			    "job digits is running on this machine already (attempt 2, process "
			    "41): end that one, give this one another --job, or take the job over "
			    "with --take-over");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_takeovers),
		cmocka_unit_test(test_one_that_lives_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
