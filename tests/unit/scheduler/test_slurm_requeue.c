#include "scheduler/slurm.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unit.h"

#define JOB(word)                                                                \
	{                                                                        \
		.state = word, .requeueable = true, .batch = true, .restarts = 0 \
	}

#define PREEMPTED .wanted = true, .preempted = true
#define AT_LIMIT PREEMPTED, .at_limit = true, .signalled = true
#define LOST .wanted = true, .lost = true, .durable = true

static void test_table(void **state)
{
	static const struct {
		struct slurm_requeue_facts facts;
		enum slurm_requeue_verdict verdict;
	} rows[] = {
		// clang-format off
		{{PREEMPTED, .job = JOB("RUNNING")}, SLURM_REQUEUE},
		{{PREEMPTED, .job = JOB("SIGNALING")}, SLURM_REQUEUE},
		{{PREEMPTED, .task = "0", .job = JOB("RUNNING")}, SLURM_REQUEUE},
		/* once per job: one task of a step */
		{{PREEMPTED, .task = "3", .job = JOB("RUNNING")}, SLURM_SKIP_NOTE},
		{{.wanted = true, .task = "3", .job = JOB("RUNNING")}, SLURM_SKIP_SILENTLY},
		/* its limit is meant */
		{{PREEMPTED, .at_limit = true, .job = JOB("RUNNING")}, SLURM_SKIP_NOTE},
		/* ... unless it asks for a signal ahead of it: it has ended before that came */
		{{AT_LIMIT, .job = JOB("RUNNING")}, SLURM_REQUEUE},
		{{LOST, .at_limit = true, .signalled = true, .job = JOB("RUNNING")}, SLURM_REQUEUE},
		{{.wanted = true, .lost = true, .at_limit = true, .signalled = true, .job = JOB("RUNNING")}, SLURM_SKIP_WARN},
		{{AT_LIMIT, .job = JOB("CANCELLED")}, SLURM_SKIP_NOTE},
		{{AT_LIMIT, .job = {"RUNNING", false, true, .restarts = 0}}, SLURM_SKIP_WARN},
		{{AT_LIMIT, .asked = SLURM_QUERY_FAILED}, SLURM_SKIP_WARN},
		{{.preempted = true, .at_limit = true, .signalled = true, .job = JOB("RUNNING")}, SLURM_SKIP_SILENTLY},
		/* its third start, and Slurm counts two restarts too */
		{{PREEMPTED, .restarts = 2, .job = {"RUNNING", true, true, .restarts = 2}}, SLURM_REQUEUE},
		/* somebody has requeued it meanwhile, and it runs again */
		{{PREEMPTED, .restarts = 2, .job = {"RUNNING", true, true, .restarts = 3}}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .job = {"RUNNING", true, true, .restarts = -1}}, SLURM_REQUEUE},
		{{.preempted = true, .job = JOB("RUNNING")}, SLURM_SKIP_SILENTLY},
		/* it finished or failed by itself */
		{{.wanted = true, .job = JOB("RUNNING")}, SLURM_SKIP_SILENTLY},
		{{.wanted = true, .lost = true, .job = JOB("RUNNING")}, SLURM_SKIP_WARN},
		{{.wanted = true, .lost = true, .task = "1"}, SLURM_SKIP_NOTE},
		/* it goes on from the one before, with a warning */
		{{LOST, .job = JOB("RUNNING")}, SLURM_REQUEUE},
		{{LOST, .job = JOB("CANCELLED")}, SLURM_SKIP_NOTE},
		/* scancel, as scontrol shows it at first and later; the time limit; node failure */
		{{PREEMPTED, .job = JOB("COMPLETING")}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .job = JOB("CANCELLED")}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .job = JOB("TIMEOUT")}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .job = JOB("PREEMPTED")}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .job = JOB("NODE_FAIL")}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .job = JOB("SUSPENDED")}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .job = JOB("PENDING")}, SLURM_SKIP_NOTE},
		/* the script died of the signal in our place; then nobody can cancel it any more */
		{{PREEMPTED, .script_ended = true, .job = {"FAILED", true, true, .script_signal = 15}}, SLURM_REQUEUE},
		{{LOST, .script_ended = true, .job = {"FAILED", true, true, .script_signal = 10}}, SLURM_REQUEUE},
		/* it failed by itself, was killed, cancelled, or did not wait for us */
		{{PREEMPTED, .script_ended = true, .job = {"FAILED", true, true, .preempted = false}}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .script_ended = true, .job = {"FAILED", true, true, .script_signal = 9}}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .script_ended = true, .job = {"CANCELLED", true, true, .script_signal = 15}}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .script_ended = true, .job = {"COMPLETED", true, true, .preempted = false}}, SLURM_SKIP_WARN},
		{{PREEMPTED, .script_ended = true, .job = {"FAILED", false, true, .script_signal = 15}}, SLURM_SKIP_WARN},
		/* another one's script */
		{{PREEMPTED, .job = {"FAILED", true, true, .script_signal = 15}}, SLURM_SKIP_NOTE},
		/* salloc: there is no script to start again */
		{{PREEMPTED, .job = {"RUNNING", true, false, .restarts = 0}}, SLURM_SKIP_NOTE},
		{{PREEMPTED, .job = {"RUNNING", false, true, .restarts = 0}}, SLURM_SKIP_WARN},
		/* without an answer: was it cancelled? */
		{{PREEMPTED, .asked = SLURM_QUERY_NO_PROGRAM}, SLURM_SKIP_WARN},
		{{PREEMPTED, .asked = SLURM_QUERY_FAILED}, SLURM_SKIP_WARN},
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

/* A scontrol that writes down what it is asked, and knows one job in this state, whose script asks
 * for a signal. */
static void plant_scontrol(const char *root, const char *job_state, const char *signal)
{
	auto_free char *path = text_format("%s/scontrol", root);
	auto_free char *script =
		text_format("#!/bin/sh\necho \"$*\" >>%s/asked\n"
			    "[ $1 = write ] && echo '#SBATCH --signal=%s' && exit\n"
			    "echo JobId=7 JobState=%s Requeue=1 Restarts=0 "
			    "BatchFlag=1\n",
			    root, signal, job_state);
	struct err err;

	assert_int_equal(file_replace(path, script, strlen(script), &err), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

static void note_requeueing(void *arg, const char *id)
{
	assert_string_equal(id, "7");
	++*(unsigned *)arg;
}

/* Cancelled while the other tasks were waited for. */
#define CANCELLED_LATER "$([ $(wc -l <${0%/*}/asked) = 1 ] && echo RUNNING || echo COMPLETING)"
#define SHOW "--oneliner show job 7\n"

#define HOURS_MS 10000000

static void test_run(void **state)
{
	static const struct {
		bool preempted, script_ended;
		const char *task, *job_state, *asked; /* "": scontrol was not called */
		unsigned requeued;
		const char *signal; /* "": the notice was not the job's own time limit */
		int left_ms;        /* of two tasks; 0: there is no deadline */
	} rows[] = {
		// clang-format off
		{true, false, "0", "RUNNING", SHOW "requeue Incomplete 7\n", 1, "", 0},
		{true, false, "0", "COMPLETING", SHOW, 0, "", 0},
		{true, true, "0", "FAILED ExitCode=0:15", SHOW "requeue 7\n", 1, "", 0},
		{true, true, "0", "FAILED ExitCode=1:0", SHOW, 0, "", 0},
		{true, false, "1", "RUNNING", "", 0, "", 0},
		{false, false, "0", "RUNNING", "", 0, "", 0},
		{true, false, "0", "RUNNING", "write batch_script 7 -\n" SHOW "requeue Incomplete 7\n", 1, "B:TERM@60", 0},
		{true, false, "0", "RUNNING", "write batch_script 7 -\n", 0, "B:USR2@60", 0},
		{true, false, "1", "RUNNING", "", 0, "B:TERM@60", 0},
		{true, false, "0", "RUNNING", SHOW SHOW "requeue Incomplete 7\n", 1, "", 300},
		{true, false, "0", CANCELLED_LATER, SHOW SHOW, 0, "", 300},
		/* a signal ends the wait; nobody waits where nothing comes of it */
		{true, false, "0", "RUNNING", SHOW SHOW "requeue Incomplete 7\n", 1, "", HOURS_MS},
		{true, false, "0", "COMPLETING", SHOW, 0, "", HOURS_MS},
		// clang-format on
	};
	sigset_t term;

	(void)state;
	setenv("SLURM_JOB_ID", "7", 1);
	unsetenv("SLURM_ARRAY_JOB_ID");
	unsetenv("SLURM_RESTART_COUNT");
	unsetenv("SBATCH_SIGNAL");
	setenv("SLURM_STEP_NUM_TASKS", "2", 1);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_(bytes_release) struct bytes asked = {.limit = 4096};
		char root[] = "/tmp/reprieve-test-XXXXXX";
		auto_free char *before = text_copy(getenv("PATH"));
		auto_free char *search = NULL, *path = NULL;
		unsigned requeued = 0;
		struct slurm_requeue_run run = {
			.facts = {.wanted = true,
				  .durable = true,
				  .preempted = rows[i].preempted,
				  .script_ended = rows[i].script_ended,
				  .at_limit = rows[i].signal[0] != '\0'},
			.deadline_ms = rows[i].left_ms ? clock_monotonic_ms() + rows[i].left_ms : 0,
			.requeueing = note_requeueing,
			.arg = &requeued,
		};
		struct err err;

		assert_non_null(mkdtemp(root));
		search = text_format("%s:%s", root, before);
		path = text_format("%s/asked", root);
		plant_scontrol(root, rows[i].job_state, rows[i].signal);
		setenv("PATH", search, 1);
		setenv("SLURM_PROCID", rows[i].task, 1);
		if (rows[i].left_ms == HOURS_MS && rows[i].requeued)
			raise(SIGTERM);
		slurm_requeue_run(&run);
		setenv("PATH", before, 1);
		assert_int_equal(requeued, rows[i].requeued);
		if (file_exists(path))
			assert_int_equal(file_read(path, &asked, &err), 0);
		assert_int_equal(bytes_append(&asked, "", 1, &err), 0);
		assert_string_equal((const char *)asked.data, rows[i].asked);
		assert_int_equal(file_remove_tree(root, &err), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
