#include "drill/round_verdict.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A preemption that went well: notice at 10 000 with 30 s, snapshot 1-2 of step 50
 * durable 800 ms later. */
static struct round_facts good(void)
{
	struct round_facts facts = {
		.fired_ms = 10000,
		.deadline_ms = 40000,
		.gone_ms = 11500,
		.exit_code = 75,
		.counted = true,
		.count = {.first = 1,
			  .low = 50,
			  .high = 50,
			  .saved = 50,
			  .last = 53,
			  .stride = 1,
			  .step = 50},
		.lost_most = UINT_MAX,
		.store_read = true,
		.store_newest = {1, 2},
		.commit_good = true,
		.next_launched = true,
		.next_restored = {1, 2},
		.resumption = {.continuation = {.continuation = CONTINUATION_PROVEN},
			       .reading = {.reading = READING_DONE}},
	};

	event_log_reader_init(&facts.events);
	facts.events.launched_ms = 1000;
	facts.events.noticed_ms = 10040;
	facts.events.asked_ms = 10041;
	strcpy(facts.events.asked_how, "SIGUSR1");
	facts.events.checkpoint_count = 1;
	facts.events.commit = (struct run_commit){
		.id = {1, 2},
		.at_ms = 10800,
		.step = 50,
		.checkpoint = {.at_ms = 10500, .captured_ms = 10100, .step = 50},
	};
	facts.events.child_exited_ms = 11100;
	return facts;
}

static struct round_verdict judge(const struct round_facts *facts)
{
	struct round_verdict verdict;

	verdict_round(facts, &verdict);
	return verdict;
}

static void measures(void **state)
{
	struct round_facts facts = good();
	struct round_verdict verdict = judge(&facts);

	(void)state;
	assert_int_equal(verdict.result, DRILL_PASS);
	assert_string_equal(verdict.reason, "");
	assert_non_null(strstr(verdict.proof, "it opened"));
	assert_string_equal(verdict.remark, "");
	assert_int_equal(verdict.noticed_ms, 40);
	assert_int_equal(verdict.asked_ms, 41);
	assert_int_equal(verdict.saved_ms, 500);
	assert_int_equal(verdict.durable_ms, 800);
	assert_int_equal(verdict.margin_ms, 29200);
	assert_int_equal(verdict.lost_ms, 1000);
	assert_int_equal(verdict.lost_steps, 3);
	assert_int_equal(verdict.lost_steps_least, 3);
}

static void not_launched(struct round_facts *facts)
{
	facts->events.launched_ms = -1;
	facts->fired_ms = -1;
	facts->exit_code = 78;
}

static void finished_before(struct round_facts *facts)
{
	facts->fired_ms = -1;
	facts->exit_code = 0;
}

static void crashed_before(struct round_facts *facts)
{
	facts->fired_ms = -1;
	facts->exit_code = 3;
}

static void finished_during(struct round_facts *facts)
{
	facts->exit_code = 0;
}

static void not_noticed(struct round_facts *facts)
{
	facts->events.noticed_ms = -1;
	facts->killed = true;
}

static void nothing_saved(struct round_facts *facts)
{
	facts->events.commit = (struct run_commit){.step = -1};
	facts->events.checkpoint_count = 0;
	facts->exit_code = 74;
}

/* Each 2 s, but a file beside it stays open. */
static void starved(struct round_facts *facts)
{
	nothing_saved(facts);
	facts->events.asked_ms = -1;
	facts->accesses =
		(struct file_accesses){.written = 14, .last_written = "state.pkl", .any = true};
	strcpy(facts->warning, "metrics.csv is open for writing");
}

static void nothing_complete(struct round_facts *facts)
{
	nothing_saved(facts);
	facts->events.saving_ms = 9000;
	facts->events.asked_ms = -1;
	strcpy(facts->events.elsewhere, "/a/log.pkl");
}

static void saved_elsewhere(struct round_facts *facts)
{
	nothing_complete(facts);
	facts->events.saving_ms = -1;
	strcpy(facts->events.elsewhere, "/a/model.pt");
}

static void nothing_saved_nor_asked(struct round_facts *facts)
{
	nothing_saved(facts);
	facts->events.asked_ms = -1;
}

static void crashed_before_a_save(struct round_facts *facts)
{
	nothing_saved_nor_asked(facts);
	facts->exit_code = facts->events.child_code = 1;
	strcpy(facts->said, "ModuleNotFoundError: No module named 'nets'");
}

static void crashed_where_it_was_asked(struct round_facts *facts)
{
	nothing_saved(facts);
	facts->exit_code = facts->events.child_code = 1;
}

/* A job that takes SIGTERM for an error. */
static void failed_when_it_was_stopped(struct round_facts *facts)
{
	crashed_before_a_save(facts);
	facts->events.stopping_ms = 10200;
}

static void upload_failed(struct round_facts *facts)
{
	nothing_saved(facts);
	strcpy(facts->events.failed, "disk full");
}

static void sealed_only(struct round_facts *facts)
{
	nothing_saved(facts);
	facts->events.checkpoint_count = 1;
	facts->killed = true;
}

static void late(struct round_facts *facts)
{
	facts->events.commit.at_ms = facts->deadline_ms + 1;
}

static void stale(struct round_facts *facts)
{
	facts->events.commit.checkpoint =
		(struct run_checkpoint){.at_ms = 5000, .captured_ms = 4900, .step = 50};
}

static void stale_and_killed(struct round_facts *facts)
{
	stale(facts);
	facts->events.asked_ms = -1;
	facts->killed = true;
}

/* A newer one lies on the disk. */
static void not_durable(struct round_facts *facts)
{
	facts->exit_code = 74;
	facts->events.checkpoints[0] =
		(struct run_checkpoint){.at_ms = 20500, .captured_ms = 20100, .step = 90};
}

/* The one that the notice brought is durable, and a job that went on had another in the end. */
static void goes_on_until_it_is_killed(struct round_facts *facts)
{
	not_durable(facts);
	facts->events.first_after_notice = facts->events.commit.checkpoint;
}

static void brought_one_that_is_not_durable(struct round_facts *facts)
{
	not_durable(facts);
	facts->events.first_after_notice =
		(struct run_checkpoint){.at_ms = 15500, .captured_ms = 15100, .step = 70};
}

/* It goes on saving until it is killed, and its newest snapshot is a moment too late. `due`: the
 * one that was in time holds what the notice has brought. */
static void saves_past_the_deadline(struct round_facts *facts, bool due)
{
	struct run_commit late = facts->events.commit;

	late.at_ms = facts->deadline_ms + 10;
	late.checkpoint = (struct run_checkpoint){.at_ms = 39900, .captured_ms = 39800, .step = 90};
	facts->events.first_after_notice = facts->events.commit.checkpoint;
	if (!due)
		facts->events.commit.checkpoint.at_ms = 9900;
	facts->events.commit.id = (struct snapshot_id){1, 1};
	run_events_set_commit(&facts->events, &late);
	facts->killed = true;
}

static void due_one_is_late(struct round_facts *facts)
{
	saves_past_the_deadline(facts, false);
}

static void what_is_due_was_in_time(void **state)
{
	struct round_facts facts = good();
	struct round_verdict verdict;

	(void)state;
	saves_past_the_deadline(&facts, true);
	verdict = judge(&facts);
	assert_int_equal(verdict.result, DRILL_PASS);
	assert_int_equal(verdict.saved_ms, 500);
	assert_int_equal(verdict.durable_ms, 800);
	assert_int_equal(verdict.margin_ms, 29200);
	assert_non_null(strstr(verdict.remark, "durable only 10 ms after the deadline"));
}

static void not_durable_and_killed(struct round_facts *facts)
{
	not_durable(facts);
	facts->exit_code = 0;
	facts->killed = true;
	strcpy(facts->events.failed, "disk full");
}

static void no_such_command(struct round_facts *facts)
{
	not_launched(facts);
	facts->exit_code = 127;
}

static void no_program(struct round_facts *facts)
{
	crashed_before(facts);
	facts->exit_code = 126;
}

static void lost_too_much(struct round_facts *facts)
{
	facts->lost_most = 2;
}

static void lost_who_knows(struct round_facts *facts)
{
	facts->lost_most = 2;
	facts->counted = false;
}

static void keeps_a_part_elsewhere(struct round_facts *facts)
{
	facts->resumption.continuation.continuation = CONTINUATION_ANEW;
	strcpy(facts->wrote, "out/part.bin");
}

static void job_report_failure(struct round_facts *facts)
{
	facts->exit_code = 1;
}

static void store_unreadable(struct round_facts *facts)
{
	facts->store_read = false;
	strcpy(facts->store_error, "gone");
}

static void store_has_it_not(struct round_facts *facts)
{
	facts->commit_good = false;
}

static void store_prefers_another(struct round_facts *facts)
{
	facts->store_newest = (struct snapshot_id){1, 1};
}

static void no_next(struct round_facts *facts)
{
	facts->next_launched = false;
}

/* It is not known, be it that it ran. */
static void timeout_cuts_the_next(struct round_facts *facts)
{
	facts->next_launched = false;
	facts->next_cut = true;
}

static void timeout_after_nothing_was_saved(struct round_facts *facts)
{
	nothing_saved(facts);
	timeout_cuts_the_next(facts);
}

static void next_afresh(struct round_facts *facts)
{
	facts->next_restored = (struct snapshot_id){0};
}

static void next_from_older(struct round_facts *facts)
{
	facts->next_restored = (struct snapshot_id){1, 1};
}

static void does_not_load(struct round_facts *facts)
{
	facts->resumption.continuation.continuation = CONTINUATION_ANEW;
}

static void proves_nothing(struct round_facts *facts)
{
	facts->resumption.continuation.continuation = CONTINUATION_UNKNOWN;
}

static void finished_and_saves_elsewhere(struct round_facts *facts)
{
	finished_during(facts);
	strcpy(facts->events.elsewhere, "outputs/model.pt");
}

// clang-format off
static const struct {
	void (*spoil)(struct round_facts *facts);
	const char *said; /* part of the reason */
	enum drill_result result;
} failures[] = {
	{not_launched,            "was not started: `reprieve run` ended with 78", DRILL_FAIL},
	{finished_before,         "smaller --notice-after", DRILL_UNPROVEN},
	{crashed_before,          "before the notice, with 3", DRILL_FAIL},
	{finished_during,         "smaller --notice-after", DRILL_UNPROVEN},
	{finished_and_saves_elsewhere, "it saves elsewhere (outputs/model.pt). Set --checkpoint-dir", DRILL_UNPROVEN},
	{not_noticed,             "did not see the notice", DRILL_FAIL},
	{nothing_saved,           "asked (SIGUSR1) and no complete checkpoint", DRILL_FAIL},
	{nothing_saved_nor_asked, "if it can be asked, set --checkpoint-signal", DRILL_FAIL},
	{starved,                 "(14 times, last state.pkl), but no checkpoint there was known to be complete. Reprieve said: metrics.csv is open", DRILL_FAIL},
	{nothing_complete,        "no checkpoint there was known to be complete", DRILL_FAIL},
	{saved_elsewhere,         "the job saves elsewhere (/a/model.pt)", DRILL_FAIL},
	{crashed_before_a_save,   "the job itself ended with 1 before it had saved. Its last line: ModuleNotFoundError: No module named 'nets'", DRILL_FAIL},
	{crashed_where_it_was_asked, "the job was asked (SIGUSR1), and itself ended with 1 before it had saved", DRILL_FAIL},
	{failed_when_it_was_stopped, "if it can be asked, set --checkpoint-signal", DRILL_FAIL},
	{upload_failed,           "disk full", DRILL_FAIL},
	{sealed_only,             "not finished in time", DRILL_FAIL},
	{late,                    "after the deadline", DRILL_FAIL},
	{due_one_is_late,         "after the deadline", DRILL_FAIL},
	{not_durable,             "not durable in time. The surviving one is 10 s older", DRILL_FAIL},
	{brought_one_that_is_not_durable, "The surviving one is 5.0 s older", DRILL_FAIL},
	{not_durable_and_killed,  "not durable in time: disk full", DRILL_FAIL},
	{no_such_command,         "ended with 127 before the notice", DRILL_NOT_RUN},
	{no_program,              "ended with 126 before the notice", DRILL_NOT_RUN},
	{lost_too_much,           "3 steps were lost, and no more than 2 may be", DRILL_FAIL},
	{lost_who_knows,          "how many steps were lost is not known", DRILL_UNPROVEN},
	{keeps_a_part_elsewhere,  "It also wrote out/part.bin, which is not saved", DRILL_FAIL},
	{job_report_failure,              "ended with 1 instead of 75", DRILL_FAIL},
	{store_unreadable,        "the store cannot be read: gone", DRILL_FAIL},
	{store_has_it_not,        "has no valid snapshot of it", DRILL_FAIL},
	{store_prefers_another,   "would resume from 000001-000001", DRILL_FAIL},
	{no_next,                 "did not start the job", DRILL_FAIL},
	{next_afresh,             "started from scratch instead of from 000001-000002", DRILL_FAIL},
	{does_not_load,           "the job began again", DRILL_FAIL},
	{proves_nothing,          "the job opened", DRILL_UNPROVEN},
	{timeout_cuts_the_next,   "--timeout ended the drill before the next machine had shown", DRILL_UNPROVEN},
	{timeout_after_nothing_was_saved, "nothing is durable", DRILL_FAIL},
	{next_from_older,         "started from 000001-000001 instead of 000001-000002", DRILL_FAIL},
};
// clang-format on

static void each_fact_can_fail_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		struct round_facts facts = good();
		struct round_verdict verdict;

		failures[i].spoil(&facts);
		verdict = judge(&facts);
		if (verdict.result != failures[i].result ||
		    !strstr(verdict.reason, failures[i].said))
			fail_msg("%s: %d, '%s'", failures[i].said, verdict.result, verdict.reason);
	}
}

/* A job that ended by itself lost nothing, be it that its lines would allow more steps than it had.
 */
static void what_finished_lost_nothing(void **state)
{
	struct round_facts facts = good();
	struct round_verdict verdict;

	(void)state;
	finished_during(&facts);
	facts.count.stride = 10;
	facts.next_launched = false;
	verdict = judge(&facts);
	assert_true(verdict.lost_steps == VERDICT_UNKNOWN && verdict.lost_ms == VERDICT_UNKNOWN);
}

static void stale_and_not_asked(struct round_facts *facts)
{
	stale(facts);
	facts->events.asked_ms = -1;
}

/* `run` says that what was done since then is lost. */
static void stale_and_said(struct round_facts *facts)
{
	stale(facts);
	facts->exit_code = 74;
}

static void writes_elsewhere(struct round_facts *facts)
{
	strcpy(facts->wrote, "runs/log.txt");
}

static void lost_as_allowed(struct round_facts *facts)
{
	facts->lost_most = 3;
}

/* One rule: what was done since the last own save may be lost, however the job took the notice. */
// clang-format off
static const struct {
	void (*change)(struct round_facts *facts);
	const char *said; /* part of the remark */
	int64_t saved_ms, lost_ms;
} passes[] = {
	{stale,               "the job was asked (SIGUSR1) and saved nothing", -5000, 6200},
	{stale_and_said,      "the job was asked (SIGUSR1) and saved nothing", -5000, 6200},
	{stale_and_not_asked, "--checkpoint-signal", -5000, 6200},
	{stale_and_killed,    "killed", -5000, 6200},
	{writes_elsewhere,    "it also wrote runs/log.txt, which is not saved", 500, 1000},
	{lost_as_allowed,     "", 500, 1000},
	{goes_on_until_it_is_killed, "", 500, 1000},
};
// clang-format on

static void what_may_be_lost_passes_with_a_remark(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		struct round_facts facts = good();
		struct round_verdict verdict;

		passes[i].change(&facts);
		verdict = judge(&facts);
		if (verdict.result != DRILL_PASS || !strstr(verdict.remark, passes[i].said) ||
		    verdict.saved_ms != passes[i].saved_ms || verdict.lost_ms != passes[i].lost_ms)
			fail_msg("%zu: %d '%s' '%s' %lld", i, verdict.result, verdict.reason,
				 verdict.remark, (long long)verdict.lost_ms);
	}
}

/* Saves each 40 and prints each 50: 142 were done, and 22 of them are lost. */
static void prints_seldom(struct round_facts *facts)
{
	facts->events.commit.step = 120;
	facts->count =
		(struct count_facts){.first = 50,
				     .low = 100,
				     .high = 100,
				     .saved = 120,
				     .last = 100,
				     .stride = 50,
				     .step = 120,
				     .next = 150};
	facts->next_counted = true;
}

/* The upper bound of what the job's lines leave open is held against --max-lost. */
// clang-format off
static const struct {
	double next, step, last;
	unsigned lost_most;
	int64_t least, most;
	enum drill_result result;
	const char *said; /* part of the reason */
} limits[] = {
	{150, 120, 100, UINT_MAX, 0, 29, DRILL_PASS, ""},
	{150, 120, 100, 29, 0, 29, DRILL_PASS, ""},
	{150, 120, 100, 28, 0, 29, DRILL_UNPROVEN, "up to 29 steps were lost, and no more than 28 may be (--max-lost): the job prints only each 50 steps"},
	{150, 120, 100, 0, 0, 29, DRILL_UNPROVEN, "up to 29 steps"},
	{150, -1, 100, 40, 0, 49, DRILL_UNPROVEN, "up to 49 steps"},
	{100, -1, 200, 99, 101, 199, DRILL_FAIL, "at least 101 steps were lost"},
	{150, 120, 200, 79, 80, 129, DRILL_FAIL, "at least 80 steps were lost"},
	{-1, 120, 200, 80, 80, 129, DRILL_UNPROVEN, "up to 129 steps were lost"},
	/* It has gone on from beyond the save, as it says. */
	{200, 120, 150, 49, 0, 49, DRILL_PASS, ""},
};
// clang-format on

static void what_is_known_to_an_interval_is_said_so(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct round_facts facts = good();
		struct round_verdict verdict;

		prints_seldom(&facts);
		facts.next_counted = limits[i].next >= 0;
		facts.count.next = limits[i].next;
		facts.count.step = limits[i].step;
		facts.count.last = limits[i].last;
		facts.lost_most = limits[i].lost_most;
		verdict = judge(&facts);
		if (verdict.result != limits[i].result || verdict.lost_steps != limits[i].most ||
		    verdict.lost_steps_least != limits[i].least ||
		    !strstr(verdict.reason, limits[i].said))
			fail_msg("%zu: %d '%s' %lld to %lld", i, verdict.result, verdict.reason,
				 (long long)verdict.lost_steps_least,
				 (long long)verdict.lost_steps);
	}
}

/* The next machine's own count decides: what it does not do again is not lost. */
// clang-format off
static const struct {
	enum continuation continuation;
	double next; /* -1: it prints none */
	bool named;  /* the checkpoint names its step, 50 */
	int64_t steps, milliseconds;
} losses[] = {
	{CONTINUATION_PROVEN,  51, true,  3, 1000},
	{CONTINUATION_PROVEN,  50, true,  3, 1000}, /* prints the step that it goes on from */
	{CONTINUATION_PROVEN,  51, false, 3, 1000},
	{CONTINUATION_PROVEN,  54, false, 0, 0}, /* a slow save, whose step was printed after it */
	{CONTINUATION_PROVEN,  60, true,  0, 0},
	{CONTINUATION_ANEW,     1, true,  53, 10100},
	{CONTINUATION_ANEW,     1, false, 53, 10100},
	{CONTINUATION_OLDER,   21, true,  33, VERDICT_UNKNOWN},
	{CONTINUATION_PROVEN,  -1, true,  3, 1000},
	{CONTINUATION_PROVEN,  -1, false, VERDICT_UNKNOWN, 1000},
	{CONTINUATION_UNKNOWN, -1, true,  VERDICT_UNKNOWN, 1000},
};
// clang-format on

static void what_is_done_twice_is_lost(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct round_facts facts = good();
		struct round_verdict verdict;

		facts.resumption.continuation.continuation = losses[i].continuation;
		facts.next_counted = losses[i].next >= 0;
		facts.count.next = losses[i].next;
		facts.count.step = losses[i].named ? 50 : -1;
		verdict = judge(&facts);
		if (verdict.lost_steps != losses[i].steps ||
		    verdict.lost_ms != losses[i].milliseconds)
			fail_msg("%zu: %lld, %lld ms", i, (long long)verdict.lost_steps,
				 (long long)verdict.lost_ms);
	}
}

static void killed_after_the_commit_passes(void **state)
{
	struct round_facts facts = good();
	struct round_verdict verdict;

	(void)state;
	facts.killed = true;
	facts.gone_ms = 40100;
	facts.events.child_exited_ms = -1;
	verdict = judge(&facts);
	assert_int_equal(verdict.result, DRILL_PASS);
	assert_non_null(strstr(verdict.remark, "killed"));
	assert_int_equal(verdict.lost_ms, 30000);
}

/* A checkpoint that is named after epoch 3 was made at step 48 to 50. */
static void an_epoch_is_no_step(void **state)
{
	struct round_facts facts = good();

	(void)state;
	facts.events.commit.step = 3;
	facts.count.step = 3;
	facts.count.low = facts.count.high = facts.count.saved = 48;
	assert_int_equal(judge(&facts).lost_steps, VERDICT_UNKNOWN);
	facts.next_counted = true;
	facts.count.next = 49;
	assert_int_equal(judge(&facts).lost_steps, 5);
	facts.counted = false;
	assert_int_equal(judge(&facts).lost_steps, VERDICT_UNKNOWN);
}

static void without_a_commit_all_is_lost(void **state)
{
	struct round_facts facts = good();
	struct round_verdict verdict;

	(void)state;
	nothing_saved(&facts);
	facts.next_launched = false;
	verdict = judge(&facts);
	assert_int_equal(verdict.lost_ms, 10100);
	assert_int_equal(verdict.lost_steps, 53);
	assert_int_equal(verdict.durable_ms, VERDICT_UNKNOWN);
	facts.events.restored = (struct snapshot_id){1, 1};
	facts.events.restored_step = 50;
	assert_int_equal(judge(&facts).lost_steps, 3);
	facts.events.restored_step = -1;
	assert_int_equal(judge(&facts).lost_steps, VERDICT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measures),
		cmocka_unit_test(what_is_due_was_in_time),
		cmocka_unit_test(each_fact_can_fail_it),
		cmocka_unit_test(what_finished_lost_nothing),
		cmocka_unit_test(what_may_be_lost_passes_with_a_remark),
		cmocka_unit_test(what_is_done_twice_is_lost),
		cmocka_unit_test(what_is_known_to_an_interval_is_said_so),
		cmocka_unit_test(killed_after_the_commit_passes),
		cmocka_unit_test(an_epoch_is_no_step),
		cmocka_unit_test(without_a_commit_all_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
