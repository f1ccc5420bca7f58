#include "doctor/doctor.h"

#include "unit.h"

static char *in_grid_engine(const char *name)
{
	return text_equal(name, "SGE_JOB_SPOOL_DIR") ? (char *)"/jobs/8.1" : NULL;
}

static char *in_oar(const char *name)
{
	return text_equal(name, "OAR_JOB_ID") ? (char *)"8" : NULL;
}

#define JOB "job_number:                 1\nnotify:                     TRUE\n"
#define QUEUE "qname                 work\nnotify                0:0:20\n"

static void test_what_each_job_is_told(void **state)
{
	static const struct {
		char *(*environment)(const char *name);
		struct batch_facts facts;
		const char *check;
		int level; /* -1: there is no such row */
	} rows[] = {
		{in_grid_engine, {.job = JOB, .policy = ""}, "notice", CHECK_OK},
		{in_grid_engine, {.job = "job_number: 1\n", .policy = ""}, "notice", CHECK_FAIL},
		{in_grid_engine, {.policy = ""}, "notice", CHECK_WARN},
		{in_grid_engine, {.job = JOB, .policy = ""}, "moved", -1},
		{in_grid_engine,
		 {.job = JOB "checkpoint_object:  move\n", .policy = ""},
		 "moved",
		 CHECK_WARN},
		{in_grid_engine,
		 {.job = JOB, .queue = QUEUE, .policy = "", .grace_ms = 20000},
		 "grace",
		 -1},
		{in_grid_engine,
		 {.job = JOB, .queue = QUEUE, .policy = "", .grace_ms = 30000},
		 "grace",
		 CHECK_WARN},
		{in_grid_engine, {.job = JOB, .policy = ""}, "exit code", CHECK_WARN},
		{in_grid_engine, {.job = JOB, .policy = "sge"}, "exit code", -1},
		{in_oar, {.policy = "sge"}, "exit code", CHECK_WARN},
		{in_oar, {.policy = "oar"}, "notice", CHECK_OK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct batch_facts facts = rows[i].facts;
		struct check_list list;
		int level = -1;

		facts.scheduler = batch_scheduler_find(rows[i].environment);
		assert_non_null(facts.scheduler);
		check_batch(&facts, &list);
		for (size_t k = 0; k < list.count; k++)
			if (text_equal(list.rows[k].check, rows[i].check))
				level = (int)list.rows[k].level;
		if (level != rows[i].level)
			fail_msg("row %zu (%s): %d instead of %d", i, rows[i].check, level,
				 rows[i].level);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_each_job_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
