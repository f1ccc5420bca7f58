#include "scheduler/scheduler.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void test_codes(void **state)
{
	static const struct {
		const char *policy;
		struct outcome outcome;
		int code;
	} rows[] = {
		{NULL, {OUTCOME_PREEMPTED, 75}, 75},
		{"posix", {OUTCOME_PREEMPTED, 75}, 75},
		{"posix", {OUTCOME_NOT_DURABLE, 74}, 74},
		{"k8s", {OUTCOME_PREEMPTED, 75}, 75},
		{"kubeflow", {OUTCOME_PREEMPTED, 75}, 143},
		{"kubeflow", {OUTCOME_NOT_DURABLE, 74}, 138},
		{"kubeflow", {OUTCOME_FINISHED, 0}, 0},
		{"kubeflow", {OUTCOME_REFUSED, 78}, 78},
		/* the job's own words, not ours */
		{"kubeflow", {OUTCOME_FAILED, 75}, 75},
		{"kubeflow", {OUTCOME_FAILED, 74}, 74},
		{"flyte", {OUTCOME_PREEMPTED, 75}, 247},
		{"flyte", {OUTCOME_NOT_DURABLE, 74}, 137},
		{"flyte", {OUTCOME_STOPPED, 143}, 143},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct exit_policy *policy =
			rows[i].policy ? exit_policy_find(rows[i].policy) : NULL;

		assert_true(!rows[i].policy || policy);
		assert_int_equal(exit_policy_code(policy, &rows[i].outcome), rows[i].code);
	}
}

/* What is translated is never 0, which would end the training, nor one of the
 * codes that mean something else. */
static void test_no_row_hides_another_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < exit_policy_count; i++) {
		const struct exit_policy *policy = &exit_policy_table[i];
		struct outcome preempted = {OUTCOME_PREEMPTED, EXIT_PREEMPTED},
			       lost = {OUTCOME_NOT_DURABLE, EXIT_NOT_DURABLE};
		int codes[] = {exit_policy_code(policy, &preempted),
			       exit_policy_code(policy, &lost)};

		/* Some schedulers have one code for another start, and no other. */
		assert_true(codes[0] != codes[1] || policy->preempted == policy->not_durable);
		for (size_t j = 0; j < 2; j++) {
			assert_in_range(codes[j], 1, 255);
			assert_false(codes[j] == EXIT_USAGE || codes[j] == EXIT_CONFIGURATION ||
				     codes[j] == EXIT_NO_PROGRESS || codes[j] == 126 ||
				     codes[j] == 127);
		}
	}
}

/* Who copies it gets a configuration that knows the codes that this policy sends. */
static void test_setup_names_the_codes(void **state)
{
	(void)state;
	for (size_t i = 0; i < exit_policy_count; i++) {
		const struct exit_policy *policy = &exit_policy_table[i];
		auto_free char *preempted =
			text_format("%d", policy->preempted ? policy->preempted : EXIT_PREEMPTED);
		auto_free char *lost = text_format("%d", policy->not_durable ? policy->not_durable
									     : EXIT_NOT_DURABLE);

		assert_non_null(strstr(policy->setup, preempted));
		assert_non_null(strstr(policy->setup, lost));
		assert_true(policy->title[0] && policy->why[0]);
		assert_true(text_ends(policy->setup, "\n"));
		assert_ptr_equal(exit_policy_find(policy->name), policy);
	}
}

static void test_names(void **state)
{
	auto_free char *names = exit_policy_names();

	(void)state;
	assert_true(text_starts(names, "posix, k8s, "));
	for (size_t i = 0; i < exit_policy_count; i++)
		assert_non_null(strstr(names, exit_policy_table[i].name));
	assert_null(exit_policy_find("cron"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_no_row_hides_another_code),
		cmocka_unit_test(test_setup_names_the_codes),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
