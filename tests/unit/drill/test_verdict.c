#include "drill/verdict.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// clang-format off
static const struct {
	struct drill_facts facts;
	enum drill_result result;
	const char *said;
} wholes[] = {
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 2, .last_ran = true}, DRILL_PASS, ""},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 2, .last_ran = true,
		.comparison = COMPARISON_EQUAL}, DRILL_PASS, ""},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 1, .last_ran = true},
		DRILL_FAIL, "1 of 2 preemptions failed"},
	{{.rounds_wanted = 3, .rounds_done = 3, .rounds_passed = 1, .rounds_unproven = 1,
		.last_ran = true}, DRILL_FAIL, "1 of 3 preemptions failed"},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 1, .rounds_unproven = 1,
		.last_ran = true}, DRILL_UNPROVEN, "1 of 2 preemptions prove nothing"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_unproven = 1, .last_ran = true,
		.comparison = COMPARISON_DIFFERENT}, DRILL_FAIL, "differs"},
	{{.rounds_wanted = 2, .rounds_done = 1, .rounds_passed = 1}, DRILL_UNPROVEN, "only 1 of 2"},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 2}, DRILL_UNPROVEN,
		"not run to its end"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.last_exit = 9}, DRILL_FAIL, "failed with 9"},
	{{.rounds_wanted = 1, .rounds_done = 1, .command_exit = 127}, DRILL_NOT_RUN, "there is no such command (127)"},
	{{.rounds_wanted = 1, .rounds_done = 1, .command_exit = 127, .command = "train.sh"}, DRILL_NOT_RUN, "there is no such command (127)"},
	{{.rounds_wanted = 1, .rounds_done = 1, .command_exit = 127, .command = "python train.py"}, DRILL_NOT_RUN,
		"there is no command named 'python train.py' (127): write it without the quotes"},
	{{.rounds_wanted = 1, .undisturbed_exit = 126, .command_exit = 126}, DRILL_NOT_RUN, "it is no program that may be executed (126)"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .shared = ""}, DRILL_PASS, ""},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .shared = "out/a"},
		DRILL_UNPROVEN, "was written to while they ran: out/a"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .shared = "out/a", .shared_way = USERS_BY_PATH},
		DRILL_UNPROVEN, "If the job wrote it, it names it by an absolute path"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .shared = "data", .shared_way = USERS_SHARED},
		DRILL_UNPROVEN, "The machines share that directory"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .shared = "mlruns/0/a", .shared_way = USERS_BY_MLFLOW},
		DRILL_UNPROVEN, "set MLFLOW_TRACKING_URI=file:mlruns-of-drill for the drill, or move mlruns away"},
	{{.rounds_wanted = 1, .rounds_done = 1, .last_ran = true, .shared = "out/a"}, DRILL_FAIL, "1 of 1"},
	{{.rounds_wanted = 1, .rounds_done = 1, .last_ran = true, .left_out = "data/a.bin"}, DRILL_UNPROVEN,
		"the machines did not have data/a.bin"},
	{{.rounds_wanted = 1, .rounds_done = 1, .last_ran = true, .left_out = ""}, DRILL_FAIL, "1 of 1"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .left_out = "data/a.bin"}, DRILL_PASS, ""},
	{{.rounds_wanted = 2, .rounds_done = 1, .rounds_passed = 1, .timed_out = true}, DRILL_UNPROVEN, "--timeout"},
	{{.rounds_wanted = 2, .rounds_done = 1, .timed_out = true}, DRILL_FAIL, "1 of 2"},
	{{.rounds_wanted = 1, .undisturbed_exit = 4}, DRILL_FAIL, "undisturbed run failed with 4"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.comparison = COMPARISON_DIFFERENT}, DRILL_FAIL, "Is it the same each time without a preemption?"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.comparison = COMPARISON_MISSING}, DRILL_FAIL, "did not write"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.comparison = COMPARISON_MISSING_UNDISTURBED}, DRILL_UNPROVEN, "did not write"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.comparison = COMPARISON_NOT_MADE}, DRILL_UNPROVEN, "could not be compared"},
};
// clang-format on

static void the_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		char reason[600];
		enum drill_result result = verdict_drill(&wholes[i].facts, reason, sizeof(reason));

		assert_int_equal(result, wholes[i].result);
		assert_int_equal(verdict_drill(&wholes[i].facts, NULL, 0), result);
		if (wholes[i].said[0] ? !strstr(reason, wholes[i].said) : reason[0])
			fail_msg("%s: '%s'", wholes[i].said, reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
