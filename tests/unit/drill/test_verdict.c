#include "drill/verdict.h"

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

static void not_durable(struct round_facts *facts)
{
	facts->exit_code = 74;
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
	{not_noticed,             "did not see the notice", DRILL_FAIL},
	{nothing_saved,           "asked (SIGUSR1) and no complete checkpoint", DRILL_FAIL},
	{nothing_saved_nor_asked, "if it can be asked, set --checkpoint-signal", DRILL_FAIL},
	{starved,                 "(14 times, last state.pkl), but no checkpoint there was known to be complete. Reprieve said: metrics.csv is open", DRILL_FAIL},
	{nothing_complete,        "no checkpoint there was known to be complete", DRILL_FAIL},
	{saved_elsewhere,         "the job saves elsewhere (/a/model.pt)", DRILL_FAIL},
	{upload_failed,           "disk full", DRILL_FAIL},
	{sealed_only,             "not finished in time", DRILL_FAIL},
	{late,                    "after the deadline", DRILL_FAIL},
	{stale,                   "saved nothing: the surviving checkpoint is 6.2 s old", DRILL_FAIL},
	{stale_and_killed,        "nothing was saved after the notice", DRILL_FAIL},
	{not_durable,             "newest work is not durable", DRILL_FAIL},
	{job_report_failure,              "ended with 1 instead of 75", DRILL_FAIL},
	{store_unreadable,        "the store cannot be read: gone", DRILL_FAIL},
	{store_has_it_not,        "has no valid snapshot of it", DRILL_FAIL},
	{store_prefers_another,   "would resume from 000001-000001", DRILL_FAIL},
	{no_next,                 "did not start the job", DRILL_FAIL},
	{next_afresh,             "started from scratch instead of from 000001-000002", DRILL_FAIL},
	{does_not_load,           "the job began again", DRILL_FAIL},
	{proves_nothing,          "the job opened", DRILL_UNPROVEN},
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

static void own_checkpoints_pass_with_a_remark(void **state)
{
	struct round_facts facts = good();
	struct round_verdict verdict;

	(void)state;
	stale(&facts);
	facts.events.asked_ms = -1;
	verdict = judge(&facts);
	assert_int_equal(verdict.result, DRILL_PASS);
	assert_non_null(strstr(verdict.remark, "--checkpoint-signal"));
	assert_int_equal(verdict.saved_ms, -5000);
	assert_int_equal(verdict.lost_ms, 6200);
	assert_int_equal(verdict.asked_ms, VERDICT_UNKNOWN);
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
	facts.count.saved = 48;
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

// clang-format off
static const struct {
	struct drill_facts facts;
	enum drill_result result;
	const char *said;
} wholes[] = {
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 2, .last_ran = true}, DRILL_PASS, ""},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 2, .last_ran = true,
		.comparison = COMPARISON_EQUAL}, DRILL_PASS, ""},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 1, .last_ran = true},
		DRILL_FAIL, "1 of 2 preemptions failed"},
	{{.rounds_wanted = 3, .rounds_done = 3, .rounds_passed = 1, .rounds_unproven = 1,
		.last_ran = true}, DRILL_FAIL, "1 of 3 preemptions failed"},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 1, .rounds_unproven = 1,
		.last_ran = true}, DRILL_UNPROVEN, "1 of 2 preemptions prove nothing"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_unproven = 1, .last_ran = true,
		.comparison = COMPARISON_DIFFERENT}, DRILL_FAIL, "differs"},
	{{.rounds_wanted = 2, .rounds_done = 1, .rounds_passed = 1}, DRILL_UNPROVEN, "only 1 of 2"},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 2}, DRILL_UNPROVEN,
		"not run to its end"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.last_exit = 9}, DRILL_FAIL, "failed with 9"},
	{{.rounds_wanted = 1, .undisturbed_exit = 4}, DRILL_FAIL, "undisturbed run failed with 4"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.comparison = COMPARISON_DIFFERENT}, DRILL_FAIL, "differs"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.comparison = COMPARISON_MISSING}, DRILL_FAIL, "did not write"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.comparison = COMPARISON_MISSING_UNDISTURBED}, DRILL_UNPROVEN, "did not write"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true,
		.comparison = COMPARISON_NOT_MADE}, DRILL_UNPROVEN, "could not be compared"},
};
// clang-format on

static void the_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		char reason[200];
		enum drill_result result = verdict_drill(&wholes[i].facts, reason, sizeof(reason));

		assert_int_equal(result, wholes[i].result);
		assert_int_equal(verdict_drill(&wholes[i].facts, NULL, 0), result);
		if (wholes[i].said[0] ? !strstr(reason, wholes[i].said) : reason[0])
			fail_msg("%s: '%s'", wholes[i].said, reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(measures),
		cmocka_unit_test(each_fact_can_fail_it),
		cmocka_unit_test(own_checkpoints_pass_with_a_remark),
		cmocka_unit_test(killed_after_the_commit_passes),
		cmocka_unit_test(an_epoch_is_no_step),
		cmocka_unit_test(without_a_commit_all_is_lost),
		cmocka_unit_test(the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
