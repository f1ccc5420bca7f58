/* What of the work is durable, and what is lost. */
#include "planning/planning.h"

#include "unit.h"

/* Launched at 100 s; the end of the work, and not the exit, is what the loss is counted to. */
static void test_what_of_the_work_is_lost(void **state)
{
	static const struct {
		const char *name;
		int written, told, exited; /* seconds; 0: never */
		bool killed, answered;
		int lost_steps;
		int lost, kept;
	} works[] = {
		// clang-format off
		/* asked to save, and told to end as soon as the save was known to be complete */
		{"trains on until it is told", 160, 161, 161, false, false, -1, 1, 60},
		{"needs 20 s to exit", 160, 161, 181, false, false, -1, 1, 60},
		{"saves when it is told", 165, 160, 185, false, true, -1, 0, 65},
		{"is told, and saves nothing", 140, 160, 185, false, false, -1, 20, 40},
		{"crashes by itself", 140, 0, 170, false, false, -1, 30, 40},
		{"is killed and had not obeyed", 140, 160, 190, true, false, -1, 50, 40},
		{"is killed and had saved when told", 165, 160, 190, true, true, -1, 0, 65},
		/* what it reports itself counts more than what can be inferred */
		{"has made no step since", 140, 0, 170, false, false, 0, 0, 40},
		{"has made steps since", 140, 160, 170, false, false, 7, 20, 40},
		{"has made no step, and saved none", 0, 160, 170, false, false, 0, 60, 0},
		{"has saved nothing", 0, 160, 185, false, false, -1, 60, 0},
		{"has saved nothing and crashes", 0, 0, 185, false, false, -1, 85, 0},
		{"goes on from what was written before", 90, 0, 130, false, false, -1, 30, 0},
		{"was told when it had ended", 140, 190, 170, false, false, -1, 30, 40},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
		struct attempt_work work = {
			.launched_ms = 100000,
			.exited_ms = works[i].exited * 1000LL,
			.written_ms = works[i].written * 1000LL,
			.told_ms = works[i].told * 1000LL,
			.killed = works[i].killed,
			.answered = works[i].answered,
			.lost_steps = works[i].lost_steps,
		};
		int64_t lost_ms = recovery_point_lost_ms(&work);
		int64_t kept_ms = recovery_point_kept_ms(&work);

		if (lost_ms != works[i].lost * 1000LL || kept_ms != works[i].kept * 1000LL)
			fail_msg("%s: lost %lld, kept %lld", works[i].name, (long long)lost_ms,
				 (long long)kept_ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_of_the_work_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
