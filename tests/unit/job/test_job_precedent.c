/* What earlier attempts mean for this one, from the options. */
#include "bare_job.h"

static bool is_refused;

bool __wrap_resume_log_decision(const struct resume_request *request,
				const struct resume_result *result, struct event_log *log);
bool __wrap_resume_log_decision(const struct resume_request *request,
				const struct resume_result *result, struct event_log *log)
{
	assert_true(request && result && log);
	return is_refused;
}

static void each_rule_is_that_of_its_option(void **state)
{
	static struct job job;

	(void)state;
	for (unsigned bits = 0; bits < 8; bits++) {
		struct restart_rules rules;

		bare_job_init(&job);
		bare_config.max_no_progress = 4;
		job.name.given = bits & 1;
		bare_config.rerun = bits & 2;
		job.gang.member = bits & 4 ? 1 : 0;
		bare_config.restore = RESTORE_LATEST;
		rules = job_restart_rules(&job);
		assert_int_equal(rules.max_no_progress, 4);
		assert_int_equal(rules.done_counts, (bits & 1) && !(bits & 2));
		assert_int_equal(rules.any_command, (bits & 4) != 0);
		assert_true(rules.may_roll_back);
		assert_false(rules.afresh);
		bare_config.restore = RESTORE_NONE;
		assert_true(job_restart_rules(&job).afresh);
		assert_false(job_restart_rules(&job).may_roll_back);
	}
}

static void what_the_decision_means(void **state)
{
	static const struct {
		enum restart_action action;
		bool failed, refused, ends, done;
		int code;
	} rows[] = {
		{RESTART_DONE, false, true, true, true, 0},
		{RESTART_NO_PROGRESS, false, true, true, false, EXIT_NO_PROGRESS},
		{RESTART_DONE, true, true, false, false, 5},
		{RESTART_NO_PROGRESS, false, false, false, false, EXIT_NO_PROGRESS},
	};
	static struct job job;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int code = 5;

		bare_job_init(&job);
		job.resume.attempt_outcomes.decision.action = rows[i].action;
		job.resume_failed = rows[i].failed;
		is_refused = rows[i].refused;
		assert_int_equal(job_apply_restart_rules(&job, &code), rows[i].ends);
		assert_int_equal(job.done, rows[i].done);
		assert_int_equal(code, rows[i].code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_is_that_of_its_option),
		cmocka_unit_test(what_the_decision_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
