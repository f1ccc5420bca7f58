/* What the core says is said: each sentence in its words, and once where that is the rule. */
#include "told.h"

static const struct snapshot_outcome snapshot = {
	.id = {3, 12},
	.checkpoint = {.step = 40},
	.result = {.bytes = 3 << 20, .bytes_sent = 1 << 20},
	.took_ms = 2500,
	.err = {.kind = ERR_RETRY, .text = "no answer"},
};

/* What its line says, and its event; "": none. */
static void test_each_sentence(void **state)
{
	static const struct {
		enum job_sentence sentence;
		const char *line, *events;
	} rows[] = {
		{SAY_PLAN, "plan: ", "plan "},
		{SAY_WITHDRAWN, "the notice was withdrawn: the job continues", ""},
		{SAY_NOT_ASKED, "the job is not asked for a checkpoint, because no way", ""},
		{SAY_CANNOT_ASK, "the job cannot be asked for a checkpoint: it is so; those",
		 "request_failed "},
		{SAY_NO_WAY_TO_ASK, "the job is not asked for a checkpoint: no way", ""},
		{SAY_SAVE_IS_USED, "the job is still saving for the previous request", ""},
		{SAY_SAVING, "the job is saving it is so", "saving "},
		{SAY_SAVING_QUIETLY, "", "saving "},
		{SAY_COMPLETE, "", "checkpoint_complete "},
		{SAY_SAVED, "the job has saved, 2.5 s after it was asked", ""},
		{SAY_DEFERRED, "a save is in progress: SIGTERM is forwarded when it completes", ""},
		{SAY_KILLING, "the job has not exited: killing it (SIGKILL)", "stopping "},
		{SAY_OUT_OF_TIME, "out of time: the upload under way is cancelled", ""},
		{SAY_FLUSH_GOES_ON, "is being made durable (Ctrl-C gives that up)", ""},
		{SAY_FLUSH_INTERRUPTED, "interrupted: what is not durable by now", ""},
		{SAY_NO_STORE, "", ""},
		{SAY_DURABLE,
		 "durable: 000003-000012, step 40, 3.0 MiB (1.0 MiB written) in 2.5 s\n",
		 "durable "},
		{SAY_DURABLE_QUIETLY, "", "durable "},
		{SAY_STORE_WORKS, "the store works again", ""},
		{SAY_NOT_DURABLE, "a checkpoint is not durable; the job continues, retrying: no",
		 "snapshot_failed "},
		{SAY_STILL_FAILING, "", "snapshot_failed "},
		{SAY_SUPERSEDED, "superseded by a newer attempt: no further checkpoints", ""},
		{SAY_WINDOW_TOO_SHORT, "saving (", "upload_exceeds_notice "},
		{SAY_AT_RISK, "a preemption now would lose ", "at_risk "},
		{SAY_INTERVAL, "--every auto: first checkpoint after 1 min 30 s; the", "interval "},
	};

	(void)state;
	assert_int_equal(sizeof(rows) / sizeof(rows[0]), JOB_SENTENCES);
	for (size_t i = 0; i < JOB_SENTENCES; i++) {
		struct told_run run;
		const char *log;

		told_start(&run);
		run.rules.ask = REQUEST_AUTO;
		run.model.stop.deadline_ms = CLOCK_NEVER;
		run.model.measured.interval =
			(struct checkpoint_interval){.every_ms = 90000, .save_ms = -1};
		run.model.asking.sent_ms = 1000;
		run.model.newest.completed_ms = 3500;
		log = HEARD(report_sentence(&run.reports, rows[i].sentence, "it is so", &snapshot));
		assert_int_equal(rows[i].sentence, i);
		assert_string_equal(run.said, rows[i].events);
		if (rows[i].line[0]) {
			if (!strstr(log, rows[i].line))
				fail_msg("%zu: %s", i, log);
		} else {
			assert_string_equal(log, "");
		}
		told_stop(&run);
	}
}

/* A job that handles no SIGTERM has not heard that one was passed on: a save that comes then is its
 * own. */
static void test_a_save_after_a_sigterm_that_nobody_handles(void **state)
{
	static const struct {
		bool forwarded, made, can_ask;
		const char *line;
	} rows[] = {
		{true, true, false, "the job has saved by itself, 2.5 s after it was sent SIGTERM"},
		{true, true, true, "the job has saved, 2.5 s after it was asked"},
		{false, true, false, "the job has saved, 2.5 s after it was asked"},
		{true, false, false, "the job has saved, 2.5 s after it was asked"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct told_run run;
		const char *log;

		told_start(&run);
		run.model.asking.forwarded = rows[i].forwarded;
		run.model.plan.made = rows[i].made;
		run.model.plan.facts.can_ask = rows[i].can_ask;
		run.model.asking.sent_ms = 1000;
		run.model.newest.completed_ms = 3500;
		log = HEARD(report_sentence(&run.reports, SAY_SAVED, NULL, &snapshot));
		if (!strstr(log, rows[i].line))
			fail_msg("row %zu: %s", i, log);
		told_stop(&run);
	}
}

/* A failure of ours is one for --strict too; what was only tried again is none. */
static void test_which_sentences_are_failures(void **state)
{
	(void)state;
	for (enum job_sentence sentence = 0; sentence < JOB_SENTENCES; sentence++) {
		struct told_run run;

		told_start(&run);
		run.model.stop.deadline_ms = CLOCK_NEVER;
		run.reports.no_store = (struct err){.kind = ERR_DENIED, .text = "no key"};
		HEARD(report_sentence(&run.reports, sentence, "so", &snapshot));
		assert_int_equal(run.reports.failed,
				 sentence == SAY_NO_STORE || sentence == SAY_NOT_DURABLE ||
					 sentence == SAY_SUPERSEDED);
		told_stop(&run);
	}
}

static void say_twice(struct told_run *run, enum job_sentence sentence,
		      const struct snapshot_outcome *outcome)
{
	report_sentence(&run->reports, sentence, NULL, outcome);
	report_sentence(&run->reports, sentence, NULL, outcome);
}

static unsigned lines(const char *text)
{
	unsigned count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

/* What is so at each interval, or in each snapshot, is said once. */
static void test_said_once(void **state)
{
	char first[] = "--exclude wandb (1 file: wandb/run", second[] = "--exclude wandb (2 files";
	char *matched[] = {first, second, NULL};
	struct snapshot_outcome outcome = snapshot;
	struct told_run run;
	const char *log;

	(void)state;
	told_start(&run);
	run.reports.no_store = (struct err){.kind = ERR_DENIED, .text = "no key"};
	assert_int_equal(lines(HEARD(say_twice(&run, SAY_NO_STORE, NULL))), 1);
	assert_int_equal(lines(HEARD(say_twice(&run, SAY_NO_WAY_TO_ASK, NULL))), 1);
	outcome.matched = matched;
	outcome.result.left_out = 2;
	text_set(outcome.result.left_out_path, sizeof(outcome.result.left_out_path), "a.sock");
	outcome.result.left_out_what = "a socket";
	log = HEARD(say_twice(&run, SAY_DURABLE_QUIETLY, &outcome));
	assert_int_equal(lines(log), 2);
	assert_non_null(strstr(log, "a.sock in /checkpoints is a socket"));
	assert_non_null(strstr(log, "--exclude wandb (1 file: wandb/run) leaves files out"));
	told_stop(&run);
}

/* Who cannot be asked, and who has said that it can, decide how loud it is said. */
static void test_cannot_ask(void **state)
{
	struct told_run run;

	(void)state;
	told_start(&run);
	run.rules.ask = REQUEST_SIGNAL;
	run.model.state = JOB_CHECKPOINTING;
	assert_non_null(strstr(HEARD(report_sentence(&run.reports, SAY_CANNOT_ASK, "why", NULL)),
			       "warning: cannot ask the job for a checkpoint: why; if none does"));
	run.facts.handler_unseen = run.facts.asks_by_command = true;
	assert_string_equal(HEARD(report_sentence(&run.reports, SAY_CANNOT_ASK, "why", NULL)),
			    "reprieve: cannot ask the job for a checkpoint: why\n");
	told_stop(&run);
}

static void check_number(const struct told_run *run, const char *name, double number)
{
	json_t *value = json_object_get(run->line, name);

	if (!json_is_number(value) || json_number_value(value) != number)
		fail_msg("%s: %f", name, json_number_value(value));
}

/* Times are in seconds, whatever they are measured in. */
static void test_the_numbers_of_events(void **state)
{
	struct told_run run;

	(void)state;
	told_start(&run);
	run.model.stop.deadline_ms = CLOCK_NEVER;
	run.model.measured.save_ms = 3000;
	run.model.measured.upload_ms = 8000;
	run.model.launched_ms = run.facts.view.now_ms - 500;
	run.rules.grace_ms = 10000;
	HEARD(report_sentence(&run.reports, SAY_WINDOW_TOO_SHORT, NULL, NULL));
	check_number(&run, "save_seconds", 3);
	check_number(&run, "upload_seconds", 8);
	check_number(&run, "window_seconds", 10);
	HEARD(report_sentence(&run.reports, SAY_AT_RISK, NULL, NULL));
	check_number(&run, "seconds", 0.5);
	HEARD(report_sentence(&run.reports, SAY_DURABLE, NULL, &snapshot));
	check_number(&run, "seconds", 8);
	check_number(&run, "bytes", 3 << 20);
	check_number(&run, "bytes_sent", 1 << 20);
	check_number(&run, "step", 40);
	told_stop(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_sentence),
		cmocka_unit_test(test_a_save_after_a_sigterm_that_nobody_handles),
		cmocka_unit_test(test_which_sentences_are_failures),
		cmocka_unit_test(test_said_once),
		cmocka_unit_test(test_cannot_ask),
		cmocka_unit_test(test_the_numbers_of_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
