/* What scontrol tells of a job, as 22.05 writes it. */
#include "scheduler/slurm.h"

#include <stdlib.h>
#include <time.h>

#include "unit.h"

/* scontrol 22.05, --oneliner, shortened */
#define SHOWN                                                                                   \
	"JobId=7 ArrayJobId=5 ArrayTaskId=2 JobName=wrap UserId=root(0) JobState=RUNNING "      \
	"Reason=None Dependency=(null) Requeue=1 Restarts=3 BatchFlag=1 Reboot=0 ExitCode=0:0 " \
	"Partition=low RunTime=00:00:03 TimeLimit=00:05:00 "                                    \
	"PreemptEligibleTime=2026-01-02T03:04:05 "                                              \
	"PreemptTime=None EndTime=2026-01-02T03:05:09 Deadline=N/A "                            \
	"Command=/tmp/JobState=CANCELLED\n"

static void test_job_is_parsed(void **state)
{
	struct slurm_job job;

	(void)state;
	assert_true(slurm_job_parse(SHOWN, &job));
	assert_string_equal(job.state, "RUNNING");
	assert_true(job.requeueable && job.batch);
	assert_int_equal(job.restarts, 3);
	assert_string_equal(job.partition, "low");
	assert_false(job.preempted);
	assert_int_equal(job.script_signal, 0);
	/* 03:05:09 in the zone of the test, which is UTC. */
	assert_true(job.end_ms == 1767323109000);
	assert_true(slurm_job_parse("JobId=7 JobState=RUNNING EndTime=Unknown "
				    "PreemptTime=2026-01-02T03:04:06",
				    &job));
	assert_true(job.preempted && job.end_ms == 0 && job.preempt_ms == 1767323046000);
	assert_true(slurm_job_parse("JobId=7 JobState=FAILED ExitCode=0:15", &job));
	assert_int_equal(job.script_signal, 15);
	assert_true(slurm_job_parse("JobId=7 JobState=COMPLETING Requeue=0 BatchFlag=0", &job));
	assert_string_equal(job.state, "COMPLETING");
	assert_false(job.requeueable || job.batch);
	assert_int_equal(job.restarts, -1);
}

static void test_what_is_no_job(void **state)
{
	static const char *const texts[] = {
		"",
		"No jobs in the system\n",
		"slurm_load_jobs error: Invalid job id specified",
		"JobId=7 JobState= ",
		"JobId=7 Command=/x/JobState=RUNNING",
		"JobId=7 JobState=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA ",
	};
	struct slurm_job job;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(slurm_job_parse(texts[i], &job));
}

static void test_ids(void **state)
{
	char id[24];

	(void)state;
	assert_true(slurm_job_id("77", NULL, NULL, id, sizeof(id)));
	assert_string_equal(id, "77");
	/* The last element of an array has the array's own number: that alone
	 * would requeue them all. */
	assert_true(slurm_job_id("77", "77", "4", id, sizeof(id)));
	assert_string_equal(id, "77_4");
	assert_true(slurm_job_id("77", "70", NULL, id, sizeof(id)));
	assert_string_equal(id, "77");
	assert_false(slurm_job_id(NULL, NULL, NULL, id, sizeof(id)));
	assert_false(slurm_job_id("", NULL, NULL, id, sizeof(id)));
	assert_false(slurm_job_id("7;x", NULL, NULL, id, sizeof(id)));
	assert_false(slurm_job_id("7", "7", "-1", id, sizeof(id)));
	assert_false(slurm_job_id("123456789012345678901234", NULL, NULL, id, sizeof(id)));
}

static void test_whose_death_is_a_notice(void **state)
{
	(void)state;
	assert_int_equal(slurm_job_script("812", 812), 812);
	/* by exec; by another process of the script */
	assert_int_equal(slurm_job_script("812", 700), 0);
	assert_int_equal(slurm_job_script(NULL, 812), 0);
	assert_int_equal(slurm_job_script("", 0), 0);
	assert_int_equal(slurm_job_script("1", 1), 0);
	assert_int_equal(slurm_job_script("812x", 812), 0);
}

static void test_neighbours(void **state)
{
	static const struct {
		const char *holder, *own, *tasks, *task, *element;
		enum slurm_neighbour neighbour;
	} rows[] = {
		{"slurm-7", "slurm-7", "3", NULL, NULL, SLURM_TASK},
		{"train", "train", "3", NULL, NULL, SLURM_TASK},
		{"slurm-7-0", "slurm-7-1", "3", "1", NULL, SLURM_TASK},
		{"train-0", "train-1", "3", "1", NULL, SLURM_TASK},
		{"train-0", "train-1", "1", "1", NULL, SLURM_STRANGER},
		{"other-0", "train-1", "3", "1", NULL, SLURM_STRANGER},
		{"slurm-6", "slurm-7", "3", "1", NULL, SLURM_STRANGER},
		/* an earlier start of the same job */
		{"slurm-7", "slurm-7", "1", NULL, NULL, SLURM_STRANGER},
		{"slurm-7", "slurm-7", NULL, NULL, NULL, SLURM_STRANGER},
		{"slurm-6", "slurm-7", "3", NULL, NULL, SLURM_STRANGER},
		{"slurm-7_1", "slurm-7_2", NULL, NULL, "2", SLURM_ELEMENT},
		{"sweep_11", "sweep_2", NULL, NULL, "2", SLURM_ELEMENT},
		{"slurm-7_1-0", "slurm-7_2-1", "3", "1", "2", SLURM_ELEMENT},
		{"slurm-7_1", "slurm-7_1", NULL, NULL, "1", SLURM_STRANGER},
		{"slurm-71_1", "slurm-7_2", NULL, NULL, "2", SLURM_STRANGER},
		{"slurm-7_1", "slurm-7_2", NULL, NULL, NULL, SLURM_STRANGER},
		{"slurm-7_1", "slurm-7_21", NULL, NULL, "2", SLURM_STRANGER},
		{"sweep_old", "sweep_2", NULL, NULL, "2", SLURM_STRANGER},
		{"slurm-7_1", "mine", NULL, NULL, "2", SLURM_STRANGER},
		{"", "slurm-7_2", NULL, NULL, "2", SLURM_STRANGER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (slurm_job_neighbour(rows[i].holder, rows[i].own, rows[i].tasks, rows[i].task,
					rows[i].element) != rows[i].neighbour)
			fail_msg("%s and %s", rows[i].holder, rows[i].own);
}

static void test_numbers(void **state)
{
	(void)state;
	assert_int_equal(slurm_number("A = 1\nKillWait                = 5 sec\n", "KillWait"), 5);
	assert_int_equal(slurm_number("Name=low GraceTime=10 X=3", "GraceTime"), 10);
	assert_int_equal(slurm_number("UnkillableKillWait = 7\n", "KillWait"), -1);
	assert_int_equal(slurm_number("GraceTime= X=3", "GraceTime"), -1);
	assert_int_equal(slurm_number("", "KillWait"), -1);
	assert_int_equal(slurm_number(NULL, "KillWait"), -1);
}

static void test_the_end(void **state)
{
	static const struct {
		const char *what;
		struct slurm_job job;
		struct slurm_times times;
		int64_t deadline_ms, expected_ms;
	} rows[] = {
		// clang-format off
		{"a grace time shorter than --grace", {.state = "RUNNING", .end_ms = 10000},
			{-1, -1}, 30000, 10000},
		{"--grace is what the user is sure of", {.state = "RUNNING", .end_ms = 90000},
			{-1, -1}, 30000, 30000},
		{"a signal is on its way to it, and it runs", {.state = "SIGNALING",
			.end_ms = 120000}, {5000, -1}, 110000, 110000},
		{"... at the begin of its grace time", {.state = "SIGNALING", .preempted = true,
			.end_ms = 20000}, {5000, 20000}, 90000, 20000},
		{"the end is over, and it runs", {.state = "RUNNING", .end_ms = 1000}, {-1, -1},
			30000, 30000},
		{"no end: --signal, or somebody's SIGTERM", {.state = "RUNNING"}, {5000, 10000},
			90000, 90000},
		{"scancel, requeue, the time limit: KillWait", {.state = "COMPLETING",
			.end_ms = 2000}, {5000, -1}, 90000, 6500},
		{"preempted without a grace time", {.state = "PENDING", .preempted = true,
			.preempt_ms = 1000}, {5000, 60000}, 90000, 6500},
		{"KillWait is not known: Slurm's default", {.state = "CANCELLED"}, {-1, -1},
			90000, 31500},
		{"KillWait is longer than --grace", {.state = "CANCELLED"}, {120000, -1}, 30000,
			30000},
		{"preempted, without a time limit", {.state = "RUNNING", .preempted = true,
			.preempt_ms = 1000}, {5000, 60000}, 90000, 61000},
		{"... and without a grace time", {.state = "RUNNING", .preempted = true,
			.preempt_ms = 1000}, {5000, 0}, 90000, 6000},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slurm_job_end end =
			slurm_job_end(&rows[i].job, &rows[i].times, 1500, rows[i].deadline_ms);

		if (end.at_ms != rows[i].expected_ms)
			fail_msg("%s: %lld", rows[i].what, (long long)end.at_ms);
		assert_true((end.why != NULL) == (end.at_ms < rows[i].deadline_ms));
	}
}

static void test_signal_options(void **state)
{
	static const struct {
		const char *line;
		struct slurm_signal_option option;
	} rows[] = {
		{"#SBATCH --signal=B:TERM@60", {true, true, true}},
		{"#SBATCH --signal B:TERM@60 --requeue", {true, true, true}},
		{"#SBATCH --requeue --signal=TERM@60", {true, false, true}},
		{"#SBATCH --signal=\"USR1@90\"", {true, false, true}},
		{"#SBATCH --signal=RB:SIGUSR1", {true, true, true}},
		{"#SBATCH --signal=R:15@60", {true, false, true}},
		{"#SBATCH --signal=10@60", {true, false, true}},
		/* the trainer's own affair */
		{"#SBATCH --signal=B:USR2@60", {true, true, false}},
		{"#SBATCH --signal=HUP@90", {true, false, false}},
		{"#SBATCH --signal=1@15", {true, false, false}},
		{"#SBATCH --signal=B:TERMINATE@60", {true, true, false}},
		{"#SBATCH --signal=", {true, false, false}},
		{"##SBATCH --signal=B:TERM@60", {false, false, false}},
		{"# --signal=B:TERM@60", {false, false, false}},
		{"srun --signal=TERM@60 reprieve run", {false, false, false}},
		{"#SBATCH --requeue", {false, false, false}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slurm_signal_option option = slurm_signal_option(rows[i].line);

		if (option.given != rows[i].option.given ||
		    option.to_shell != rows[i].option.to_shell ||
		    option.is_notice != rows[i].option.is_notice)
			fail_msg("%s: %d %d %d", rows[i].line, option.given, option.to_shell,
				 option.is_notice);
	}
}

static void test_what_a_script_asks_for(void **state)
{
	static const struct {
		const char *script;
		bool asks;
	} rows[] = {
		{"#!/bin/bash\n#SBATCH --requeue --signal=B:TERM@60\nexec reprieve run -- x\n",
		 true},
		{"#!/bin/bash\n\n# a comment\n#SBATCH --signal=USR1@60", true},
		{"#!/bin/bash\n#SBATCH --requeue\nexec reprieve run -- x\n", false},
		/* sbatch reads no further than to the first command */
		{"#!/bin/bash\ncd /work\n#SBATCH --signal=B:TERM@60\n", false},
		{"#!/bin/bash\n#SBATCH --signal=TERM@60\n#SBATCH --signal=USR2@60\n", false},
		{"#!/bin/bash\n#SBATCH --signal=USR2@60\n#SBATCH --signal=TERM@60\n", true},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (slurm_script_asks_for_notice(rows[i].script) != rows[i].asks)
			fail_msg("row %zu: %s", i, rows[i].script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_job_is_parsed),
		cmocka_unit_test(test_what_is_no_job),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_whose_death_is_a_notice),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_the_end),
		cmocka_unit_test(test_signal_options),
		cmocka_unit_test(test_what_a_script_asks_for),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
