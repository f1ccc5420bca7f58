/* What of the work is durable, and what is lost. */
#include "planning/planning.h"

#include "unit.h"

#include <string.h>

static const struct {
	const char *name;
	struct durable_age durable;
	const char *says;
} ages[] = {
	// clang-format off
	{"the job reports its steps",
		{.age_ms = 3000, .step = 160, .reported = 162, .last = 175, .newest = 160},
		"step 160, 3.0 s before the end; 15 steps later are lost"},
	{"one", {.age_ms = 300, .step = 160, .reported = 160, .last = 161, .newest = 160},
		"step 160, 300 ms before the end; 1 step later is lost"},
	{"none", {.age_ms = 20, .step = 160, .reported = 160, .last = 160, .newest = 160},
		"step 160, 20 ms before the end; no step is lost"},
	{"the checkpoint is ahead of the report by one",
		{.age_ms = 20, .step = 161, .reported = 160, .last = 160, .newest = 161},
		"step 161, 20 ms before the end; no step is lost"},
	{"the first step", {.age_ms = 20, .step = 0, .reported = 0, .last = 4, .newest = 0},
		"step 0, 20 ms before the end; 4 steps later are lost"},
	{"the name counts epochs",
		{.age_ms = 3000, .step = 3, .reported = 1600, .last = 1700, .newest = 3},
		"step 3, 3.0 s before the end; 100 steps later are lost"},
	{"the name has no step",
		{.age_ms = 3000, .step = -1, .reported = 1600, .last = 1700, .newest = -1},
		"3.0 s before the end; 100 steps later are lost"},
	{"nothing is reported, and the newest is not durable",
		{.age_ms = 130000, .step = 160, .reported = -1, .last = -1, .newest = 180},
		"step 160, 2 min 10 s before the end; 20 steps later are lost"},
	{"the newest lies on this machine",
		{.age_ms = 130000, .step = 160, .reported = -1, .last = -1, .newest = 161,
			.local = true},
		"step 160, 2 min 10 s before the end; 1 step later is not durable"},
	{"the newest lies on this machine, and more was done",
		{.age_ms = 3000, .step = 160, .reported = 160, .last = 185, .newest = 180,
			.local = true},
		"step 160, 3.0 s before the end; 25 steps later are not durable"},
	{"nothing is reported, and the newest is durable",
		{.age_ms = 3000, .step = 160, .reported = -1, .last = -1, .newest = 160},
		"step 160, 3.0 s before the end"},
	{"nothing is known",
		{.age_ms = 3000, .step = -1, .reported = -1, .last = -1, .newest = -1},
		"3.0 s before the end"},
	{"reports began later",
		{.age_ms = 3000, .step = 160, .reported = -1, .last = 1700, .newest = 160},
		"step 160, 3.0 s before the end"},
	{"it was restored",
		{.restored = true, .age_ms = 3000, .step = 160, .reported = -1, .last = -1,
			.newest = -1},
		"step 160, as of the start, 3.0 s before the end"},
	// clang-format on
};

static void test_ages(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++) {
		char text[160];

		recovery_point_format_age(&ages[i].durable, text, sizeof(text));
		if (strcmp(text, ages[i].says) != 0)
			fail_msg("%s: %s", ages[i].name, text);
	}
}

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
		cmocka_unit_test(test_ages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
