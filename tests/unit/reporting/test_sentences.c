/* What the core says is said: what is a failure, what is said once, and the numbers. */
#include "told.h"

static const struct snapshot_outcome snapshot = {
	.id = {3, 12},
	.checkpoint = {.step = 40},
	.result = {.bytes = 3 << 20, .bytes_sent = 1 << 20},
	.took_ms = 2500,
	.err = {.kind = ERR_RETRY, .text = "no answer"},
};

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
	const char *log;

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
	log = HEARD(report_sentence(&run.reports, SAY_AT_RISK, NULL, NULL));
	assert_non_null(strstr(log, "would lose 500 ms: nothing is durable yet\n"));
	check_number(&run, "seconds", 0.5);
	run.model.durable.written_ms = 1;
	run.model.durable.step = 40;
	run.model.waiting_ms = 1;
	log = HEARD(report_sentence(&run.reports, SAY_AT_RISK, NULL, NULL));
	assert_non_null(strstr(log, "; durable: step 40; the upload has fallen behind\n"));
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
		cmocka_unit_test(test_which_sentences_are_failures),
		cmocka_unit_test(test_said_once),
		cmocka_unit_test(test_the_numbers_of_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
