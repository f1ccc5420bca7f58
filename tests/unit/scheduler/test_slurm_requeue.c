#include "scheduler/slurm_requeue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define JOB(word)                                                                \
	{                                                                        \
		.state = word, .requeueable = true, .batch = true, .restarts = 0 \
	}

static void test_table(void **state)
{
	static const struct {
		struct slurm_requeue_facts facts;
		enum slurm_requeue_verdict verdict;
	} rows[] = {
		// clang-format off
		{{.wanted = true, .preempted = true, .job = JOB("RUNNING")}, SLURM_REQUEUE},
		{{.wanted = true, .preempted = true, .task = "0", .job = JOB("RUNNING")},
			SLURM_REQUEUE},
		/* once per job: one task of a step */
		{{.wanted = true, .preempted = true, .task = "3", .job = JOB("RUNNING")},
			SLURM_SKIP_NOTE},
		{{.wanted = true, .task = "3", .job = JOB("RUNNING")}, SLURM_SKIP_SILENTLY},
		/* its limit is meant */
		{{.wanted = true, .preempted = true, .at_limit = true, .job = JOB("RUNNING")},
			SLURM_SKIP_NOTE},
		/* its third start, and Slurm counts two restarts too */
		{{.wanted = true,
			 .preempted = true,
			 .restarts = 2,
			 .job = {"RUNNING", true, true, .restarts = 2}},
			SLURM_REQUEUE},
		/* somebody has requeued it meanwhile, and it runs again */
		{{.wanted = true,
			 .preempted = true,
			 .restarts = 2,
			 .job = {"RUNNING", true, true, .restarts = 3}},
			SLURM_SKIP_NOTE},
		{{.wanted = true,
			 .preempted = true,
			 .job = {"RUNNING", true, true, .restarts = -1}},
			SLURM_REQUEUE},
		{{.preempted = true, .job = JOB("RUNNING")}, SLURM_SKIP_SILENTLY},
		/* it finished or failed by itself */
		{{.wanted = true, .job = JOB("RUNNING")}, SLURM_SKIP_SILENTLY},
		{{.wanted = true, .lost = true, .job = JOB("RUNNING")}, SLURM_SKIP_WARN},
		{{.wanted = true, .lost = true, .task = "1"}, SLURM_SKIP_NOTE},
		/* it goes on from the one before, with a warning */
		{{.wanted = true, .lost = true, .durable = true, .job = JOB("RUNNING")},
			SLURM_REQUEUE},
		{{.wanted = true, .lost = true, .durable = true, .job = JOB("CANCELLED")},
			SLURM_SKIP_NOTE},
		/* scancel, as scontrol shows it at first and later; the time limit; node failure */
		{{.wanted = true, .preempted = true, .job = JOB("COMPLETING")}, SLURM_SKIP_NOTE},
		{{.wanted = true, .preempted = true, .job = JOB("CANCELLED")}, SLURM_SKIP_NOTE},
		{{.wanted = true, .preempted = true, .job = JOB("TIMEOUT")}, SLURM_SKIP_NOTE},
		{{.wanted = true, .preempted = true, .job = JOB("PREEMPTED")}, SLURM_SKIP_NOTE},
		{{.wanted = true, .preempted = true, .job = JOB("NODE_FAIL")}, SLURM_SKIP_NOTE},
		{{.wanted = true, .preempted = true, .job = JOB("SUSPENDED")}, SLURM_SKIP_NOTE},
		{{.wanted = true, .preempted = true, .job = JOB("PENDING")}, SLURM_SKIP_NOTE},
		/* salloc: there is no script to start again */
		{{.wanted = true,
			 .preempted = true,
			 .job = {"RUNNING", true, false, .restarts = 0}},
			SLURM_SKIP_NOTE},
		{{.wanted = true,
			 .preempted = true,
			 .job = {"RUNNING", false, true, .restarts = 0}},
			SLURM_SKIP_WARN},
		/* without an answer: was it cancelled? */
		{{.wanted = true, .preempted = true, .asked = SLURM_QUERY_NO_PROGRAM},
			SLURM_SKIP_WARN},
		{{.wanted = true, .preempted = true, .asked = SLURM_QUERY_FAILED}, SLURM_SKIP_WARN},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slurm_requeue got = slurm_requeue_decide(&rows[i].facts);

		if (got.verdict != rows[i].verdict)
			fail_msg("row %zu: %d instead of %d", i, (int)got.verdict,
				 (int)rows[i].verdict);
		assert_true((got.why != NULL) ==
			    (got.verdict == SLURM_SKIP_NOTE || got.verdict == SLURM_SKIP_WARN ||
			     (got.verdict == SLURM_REQUEUE && rows[i].facts.lost)));
	}
}

static void test_scontrol_is_asked_only_where_it_matters(void **state)
{
	struct slurm_requeue_facts facts = {.wanted = true, .preempted = true};

	(void)state;
	assert_true(slurm_requeue_needs_job(&facts));
	facts.task = "2";
	assert_false(slurm_requeue_needs_job(&facts));
	facts = (struct slurm_requeue_facts){.wanted = true};
	assert_false(slurm_requeue_needs_job(&facts));
	facts = (struct slurm_requeue_facts){.preempted = true};
	assert_false(slurm_requeue_needs_job(&facts));
	facts = (struct slurm_requeue_facts){.wanted = true, .preempted = true, .at_limit = true};
	assert_false(slurm_requeue_needs_job(&facts));
	facts = (struct slurm_requeue_facts){.wanted = true, .lost = true};
	assert_false(slurm_requeue_needs_job(&facts));
	facts.durable = true;
	assert_true(slurm_requeue_needs_job(&facts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_scontrol_is_asked_only_where_it_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
