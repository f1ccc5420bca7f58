#include "doctor/doctor.h"

#include <string.h>

#include "unit.h"

#define JOB "JobId=4 JobState=RUNNING Requeue=1 Restarts=0 BatchFlag=1 Partition=low Nice=0 "

static void test_table(void **state)
{
	static const struct {
		struct slurm_outputs texts;
		const char *check;
		int level; /* -1: no such row */
	} rows[] = {
		// clang-format off
		{{.config = "JobRequeue              = 1\n"}, "requeue", CHECK_OK},
		{{.config = "JobRequeue              = 0\n"}, "requeue", CHECK_WARN},
		{{.config = "JobRequeue              = 0\n", .job = JOB}, "requeue", CHECK_OK},
		{{.config = "", .job = "JobId=4 Requeue=0 BatchFlag=1"}, "requeue", CHECK_FAIL},
		{{.config = "", .job = "JobId=4 Requeue=1 BatchFlag=0"}, "requeue", CHECK_WARN},
		{{.asked = SLURM_QUERY_NO_PROGRAM}, "scontrol", CHECK_WARN},
		{{.asked = SLURM_QUERY_NO_PROGRAM}, "requeue", -1},
		{{.asked = SLURM_QUERY_FAILED, .error_text = "scontrol: no answer within 10 s"},
			"scontrol", CHECK_WARN},
		{{.config = ""}, "scontrol", -1},
		{{.config = ""}, "signal", -1},
		{{.config = "", .script = "#!/bin/sh\n#SBATCH --requeue\n\necho --signal\n"},
			"signal", CHECK_WARN},
		{{.config = "", .script = "#!/bin/sh\n\n#SBATCH --requeue --signal=B:TERM@120"},
			"signal", CHECK_OK},
		/* who gets it */
		{{.config = "",
			 .script = "#SBATCH --signal=B:TERM@120\nexec reprieve run -- python x\n"},
			"signal", CHECK_OK},
		{{.config = "",
			 .script = "#SBATCH --signal B:TERM@120\nreprieve run -- python x\n"},
			"signal", CHECK_FAIL},
		{{.config = "",
			 .script = "#SBATCH --signal=RB:TERM@120 --requeue\n"
				   "  /opt/reprieve run -- python x || exit $?\npython y\n"},
			"signal", CHECK_FAIL},
		{{.config = "",
			 .script = "#SBATCH --signal=B:TERM@120\nsrun reprieve run -- python x\n"},
			"signal", CHECK_FAIL},
		{{.config = "",
			 .script = "#SBATCH --signal=B:TERM@120\ntrap 'kill %1' TERM\n"
				   "reprieve run -- python x &\nwait\n"},
			"signal", CHECK_OK},
		{{.config = "",
			 .script = "#SBATCH --signal=TERM@120 --open-mode=append\n"
				   "srun reprieve run -- python x || exit $?\npython y\n"},
			"signal", CHECK_OK},
		{{.config = "",
			 .script = "#SBATCH --signal=TERM@120 -J a:b\n# srun is better\n"
				   "exec reprieve run -- python x\n"},
			"signal", CHECK_FAIL},
		/* it may be in another script */
		{{.config = "", .script = "#SBATCH --signal=B:TERM@120\n./train.sh\n"}, "signal",
			CHECK_OK},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct check_list check_list;
		int level = -1;

		check_slurm(&rows[i].texts, &check_list);
		for (size_t k = 0; k < check_list.count; k++) {
			const struct check_result *row = &check_list.rows[k];

			assert_true(row->text[0] != '\0');
			assert_true((row->level == CHECK_OK) == (row->fix[0] == '\0'));
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
	static const char *const said[] = {
		"scontrol: no answer within 10 s",
		"scontrol: scontrol: error: no",
		"scontrol: slurm_load_ctl_conf error: no",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct check_list check_list;

		check_slurm(
			&(struct slurm_outputs){
				.asked = SLURM_QUERY_FAILED,
				.error_text = said[i],
			},
			&check_list);
		assert_int_equal(check_list.count, 1);
		assert_non_null(strstr(check_list.rows[0].text, strrchr(said[i], ' ')));
		assert_null(strstr(check_list.rows[0].text, "scontrol: scontrol:"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_silence_is_told_in_its_own_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
