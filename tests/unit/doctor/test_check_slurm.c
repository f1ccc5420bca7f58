#include "doctor/check_slurm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* As scontrol 22.05 prints it, shortened. */
#define CONFIG(preempt, parameters, exit, wait)          \
	"Configuration data as of 2026-01-02T03:04:05\n" \
	"JobFileAppend           = 0\n"                  \
	"JobRequeue              = 1\n"                  \
	"KillWait                = " wait " sec\n"       \
	"MaxBatchRequeue         = 5\n"                  \
	"PreemptMode             = REQUEUE\n"            \
	"PreemptType             = " preempt "\n"        \
	"RequeueExit             = " exit "\n"           \
	"RequeueExitHold         = (null)\n"             \
	"SlurmctldParameters     = " parameters "\n"
#define PRIORITY "preempt/partition_prio"
#define JOB "JobId=4 JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=1 Partition=low Nice=0 "
#define PARTITION(grace, mode) \
	"PartitionName=low MaxTime=1:00 GraceTime=" grace " Hidden=NO PreemptMode=" mode " x=1\n"

static void test_table(void **state)
{
	static const struct {
		struct slurm_texts texts;
		const char *check;
		int level; /* -1: no such row */
	} rows[] = {
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30"), .log_appends = -1},
			"requeue", DIAGNOSIS_OK},
		{{.config = "JobRequeue              = 0\n"}, "requeue", DIAGNOSIS_WARN},
		{{.config = "JobRequeue              = 0\n", .job = JOB}, "requeue", DIAGNOSIS_OK},
		{{.config = "", .job = "JobId=4 Requeue=0 BatchFlag=1"}, "requeue", DIAGNOSIS_FAIL},
		{{.config = "", .job = "JobId=4 Requeue=1 BatchFlag=0"}, "requeue", DIAGNOSIS_WARN},
		{{.config = "MaxBatchRequeue         = 1\n"}, "requeues", DIAGNOSIS_WARN},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30")}, "requeues", DIAGNOSIS_OK},
		{{.config = ""}, "requeues", -1},
		{{.config = CONFIG(PRIORITY, "(null)", "1,70-80", "30")}, "exit code",
			DIAGNOSIS_OK},
		{{.config = "RequeueExitHold         = 75\n"}, "exit code", DIAGNOSIS_FAIL},
		{{.config = "KillOnBadExit           = 0\n"}, "bad exit", DIAGNOSIS_OK},
		{{.config = "KillOnBadExit           = 1\n"}, "bad exit", DIAGNOSIS_WARN},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "5")}, "bad exit", -1},
		{{.asked = SLURM_NO_PROGRAM}, "scontrol", DIAGNOSIS_WARN},
		{{.asked = SLURM_NO_PROGRAM}, "requeue", -1},
		{{.asked = SLURM_NO_ANSWER, .silence = "scontrol: no answer within 10 s"},
			"scontrol", DIAGNOSIS_WARN},
		{{.asked = SLURM_NO_ANSWER, .silence = "scontrol: no answer within 10 s"}, "log",
			-1},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "5")}, "scontrol", -1},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "5")}, "kill wait",
			DIAGNOSIS_WARN},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30")}, "kill wait", DIAGNOSIS_OK},
		{{.config = CONFIG("preempt/none", "(null)", "(null)", "30")}, "preempt",
			DIAGNOSIS_OK},
		{{.config = CONFIG("preempt/none", "(null)", "(null)", "30")}, "notice", -1},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30")}, "preempt", DIAGNOSIS_OK},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30"),
			 .partition = PARTITION("120", "CANCEL")},
			"preempt", DIAGNOSIS_WARN},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30"),
			 .partition = PARTITION("120", "GANG,SUSPEND")},
			"preempt", DIAGNOSIS_WARN},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30"),
			 .partition = PARTITION("120", "OFF")},
			"grace", -1},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30"),
			 .partition = PARTITION("0", "REQUEUE")},
			"grace", DIAGNOSIS_WARN},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30"),
			 .partition = PARTITION("10", "REQUEUE")},
			"grace", DIAGNOSIS_WARN},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30"),
			 .partition = PARTITION("120", "REQUEUE")},
			"grace", DIAGNOSIS_OK},
		{{.config = CONFIG(PRIORITY, "(null)", "(null)", "30")}, "notice", DIAGNOSIS_WARN},
		{{.config = CONFIG(PRIORITY, "preempt_send_user_signal", "(null)", "30")}, "notice",
			DIAGNOSIS_OK},
		{{.config = "PreemptType             = preempt/qos\n"
			    "PreemptMode             = REQUEUE\n"
			    "PreemptParameters       = send_user_signal,x\n"},
			"notice", DIAGNOSIS_OK},
		{{.config = ""}, "signal", -1},
		{{.config = "", .script = "#!/bin/sh\n#SBATCH --requeue\n\necho --signal\n"},
			"signal", DIAGNOSIS_WARN},
		{{.config = "", .script = "#!/bin/sh\n\n#SBATCH --requeue --signal=B:TERM@120"},
			"signal", DIAGNOSIS_OK},
		{{.config = "", .log_appends = 1}, "log", DIAGNOSIS_OK},
		{{.config = "JobFileAppend           = 1\n", .log_appends = 0}, "log",
			DIAGNOSIS_WARN},
		{{.config = "JobFileAppend           = 1\n", .log_appends = -1}, "log",
			DIAGNOSIS_OK},
		{{.config = "JobFileAppend           = 0\n", .log_appends = -1}, "log",
			DIAGNOSIS_WARN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct diagnosis diagnosis;
		int level = -1;

		diagnosis_of_slurm(&rows[i].texts, &diagnosis);
		for (size_t k = 0; k < diagnosis.count; k++) {
			const struct diagnosis_row *row = &diagnosis.rows[k];

			assert_true(row->text[0] != '\0');
			assert_true((row->level == DIAGNOSIS_OK) == (row->fix[0] == '\0'));
			if (strcmp(row->check, rows[i].check) == 0)
				level = (int)row->level;
		}
		if (level != rows[i].level)
			fail_msg("row %zu (%s): %d instead of %d", i, rows[i].check, level,
				rows[i].level);
	}
}

static void test_silence_is_told_in_its_own_words(void **state)
{
	static const char *const said[] = {"scontrol: no answer within 10 s",
		"scontrol: scontrol: error: no", "scontrol: slurm_load_ctl_conf error: no"};

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct diagnosis diagnosis;

		diagnosis_of_slurm(
			&(struct slurm_texts){.asked = SLURM_NO_ANSWER, .silence = said[i]},
			&diagnosis);
		assert_int_equal(diagnosis.count, 1);
		assert_non_null(strstr(diagnosis.rows[0].text, strrchr(said[i], ' ')));
		assert_null(strstr(diagnosis.rows[0].text, "scontrol: scontrol:"));
	}
}

static void test_partition(void **state)
{
	char name[8];

	(void)state;
	assert_true(diagnosis_slurm_partition(JOB, name, sizeof(name)));
	assert_string_equal(name, "low");
	assert_false(diagnosis_slurm_partition("JobId=4 Partition= ", name, sizeof(name)));
	assert_false(diagnosis_slurm_partition("Partition=muchlonger ", name, sizeof(name)));
	assert_false(diagnosis_slurm_partition("NotPartition=low ", name, sizeof(name)));
	assert_false(diagnosis_slurm_partition(NULL, name, sizeof(name)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_silence_is_told_in_its_own_words),
		cmocka_unit_test(test_partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
