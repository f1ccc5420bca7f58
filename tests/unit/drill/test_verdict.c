#include "drill/verdict.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#define ID           \
	{            \
		1, 3 \
	}

/* A machine that was preempted at 10 s, saved step 120 in time, and whose next one went on. */
static struct round_facts good(void)
{
	struct round_facts facts = {
		.fired_ms = 10000,
		.deadline_ms = 40000,
		.gone_ms = 15000,
		.exit_code = 75,
		.lost_most = UINT_MAX,
		.steps = {.word = "step",
			  .counted = true,
			  .next_counted = true,
			  .first = 1,
			  .before = 1,
			  .last = 125,
			  .stride = 1,
			  .low = 119,
			  .high = 121,
			  .step = 120,
			  .next = 121},
		.store_newest = ID,
		.commit_good = true,
		.next_launched = true,
		.next_restored = ID,
		.next_step = 120,
	};
	struct run_events *events = &facts.events;

	event_log_reader_init(events);
	events->launched_ms = 1000;
	events->noticed_ms = 10100;
	events->asked_ms = 10200;
	events->child_exited_ms = 12000;
	events->checkpoints[0] =
		(struct run_checkpoint){.at_ms = 10500, .captured_ms = 10400, .step = 120};
	events->checkpoint_count = 1;
	events->first_after_notice = events->checkpoints[0];
	run_events_set_commit(events, &(struct run_commit){.id = ID,
							   .at_ms = 11000,
							   .checkpoint = events->checkpoints[0],
							   .step = 120});
	snprintf(events->asked_how, sizeof(events->asked_how), "SIGUSR1");
	return facts;
}

#define BREAK(name, ...)                            \
	static void name(struct round_facts *facts) \
	{                                           \
		__VA_ARGS__;                        \
	}

BREAK(break_nothing, (void)facts)
BREAK(break_command, facts->fired_ms = -1, facts->exit_code = 127)
BREAK(break_start, facts->events.launched_ms = -1)
BREAK(break_time, facts->exit_code = 0,
      snprintf(facts->events.elsewhere, sizeof(facts->events.elsewhere), "out/a.pt"))
BREAK(break_notice, facts->events.noticed_ms = -1)
BREAK(break_commit, facts->events.commit.id = (struct snapshot_id){0, 0},
      facts->events.checkpoint_count = 0)
BREAK(break_deadline, facts->events.due.at_ms = facts->events.commit.at_ms = 41000)
BREAK(add_late_commit, facts->events.commit.at_ms = 41000)
BREAK(break_newer, facts->exit_code = 74, facts->events.first_after_notice.at_ms = 10900)
BREAK(break_exit, facts->exit_code = 9)
BREAK(break_store, facts->commit_good = false)
BREAK(break_newest, facts->store_newest = (struct snapshot_id){1, 2})
BREAK(break_reading, snprintf(facts->store_error, sizeof(facts->store_error), "it is gone"))
BREAK(cut_next, facts->next_cut = true)
BREAK(break_next, facts->next_launched = false)
BREAK(break_restore, facts->next_restored = (struct snapshot_id){0, 0})
BREAK(fail_next, facts->next_failed = 3, facts->steps.next_counted = false)
BREAK(begin_anew, facts->steps.next = 1)
BREAK(load_older, facts->steps.next = 61)
BREAK(go_ahead, facts->steps.next = 500)
BREAK(say_nothing, facts->steps = (struct step_facts){.step = -1, .stride = 1})
BREAK(save_early, facts->steps = (struct step_facts){.word = "step",
						     .counted = true,
						     .next_counted = true,
						     .step = -1,
						     .stride = 1})
BREAK(lose_much, facts->lost_most = 4)
BREAK(lose_perhaps, facts->lost_most = 10, facts->steps.stride = 10)

// clang-format off
static const struct {
	void (*breaks)(struct round_facts *facts);
	enum drill_result result;
	const char *said; /* in the reason, the proof or the remark */
} rounds[] = {
	{break_nothing, DRILL_PASS, "saved at step 120, and its first on the next machine was step 121"},
	{break_command, DRILL_NOT_RUN, "ended with 127 before the notice"},
	{break_start, DRILL_FAIL, "the job was not started"},
	{break_time, DRILL_UNPROVEN, "it saves elsewhere (out/a.pt)"},
	{break_notice, DRILL_FAIL, "did not see the notice within 5 s"},
	{break_commit, DRILL_FAIL, "the job was asked (SIGUSR1) and no complete checkpoint appeared"},
	{break_deadline, DRILL_FAIL, "durable only after the deadline"},
	{add_late_commit, DRILL_PASS, "1000 ms after the deadline"},
	{break_newer, DRILL_FAIL, "a newer checkpoint was complete on the disk"},
	{break_exit, DRILL_FAIL, "`reprieve run` ended with 9 instead of 75"},
	{break_store, DRILL_FAIL, "has no valid snapshot"},
	{break_newest, DRILL_FAIL, "would resume from 000001-000002"},
	{break_reading, DRILL_FAIL, "cannot be read: it is gone"},
	{cut_next, DRILL_UNPROVEN, "--timeout"},
	{break_next, DRILL_FAIL, "the next machine did not start the job"},
	{break_restore, DRILL_FAIL, "started from scratch instead of from 000001-000003"},
	{fail_next, DRILL_FAIL, "the job ended with 3 on the machine"},
	{begin_anew, DRILL_FAIL, "step 120 was restored, but the job began again at step 1"},
	{load_older, DRILL_FAIL, "went on with step 61: it loads an older checkpoint"},
	{go_ahead, DRILL_UNPROVEN, "--compare its result"},
	{say_nothing, DRILL_UNPROVEN, "--step-pattern"},
	{save_early, DRILL_UNPROVEN, "a greater --notice-after"},
	{lose_much, DRILL_FAIL, "5 steps were lost, and no more than 4 may be"},
	{lose_perhaps, DRILL_UNPROVEN, "up to 14 steps were lost"},
};
// clang-format on

static void each_round(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
		struct round_facts facts = good();
		struct round_verdict verdict;
		struct round round = {.members = 1, .each = &facts, .verdicts = &verdict};

		rounds[i].breaks(&facts);
		verdict_round(&round);
		if (verdict.result != rounds[i].result || round.result != verdict.result ||
		    (!strstr(verdict.reason, rounds[i].said) &&
		     !strstr(verdict.proof, rounds[i].said) &&
		     !strstr(verdict.remark, rounds[i].said)))
			fail_msg("%s: %d %s", rounds[i].said, (int)verdict.result, verdict.reason);
	}
}

static void what_a_round_has_cost(void **state)
{
	struct round_facts facts = good();
	struct round_verdict verdict;
	struct round round = {.members = 1, .each = &facts, .verdicts = &verdict};

	(void)state;
	verdict_round(&round);
	assert_int_equal(verdict.noticed_ms, 100);
	assert_int_equal(verdict.saved_ms, 500);
	assert_int_equal(verdict.durable_ms, 1000);
	assert_int_equal(verdict.margin_ms, 29000);
	assert_int_equal(verdict.lost.steps.most, 5);
	assert_int_equal(verdict.lost.ms, 1600);
}

static void a_gang(void **state)
{
	struct round_facts each[] = {good(), good()};
	struct round_verdict verdicts[2];
	struct round round = {.members = 2, .lost = 1, .each = each, .verdicts = verdicts};

	(void)state;
	/* What one knows to be durable is so for all. */
	each[0].events.commit = (struct run_commit){.step = -1};
	verdict_share_commit(&round);
	verdict_round(&round);
	assert_int_equal(round.result, DRILL_PASS);
	/* One has heard of it at its end, and not its step. */
	each[1].events.commit.step = -1;
	verdict_share_commit(&round);
	assert_int_equal(each[1].events.commit.step, 120);
	/* The next start has committed what all had put. */
	each[0].next_restored = (struct snapshot_id){1, 4};
	verdict_adopt(&round);
	verdict_round(&round);
	assert_int_equal(round.result, DRILL_FAIL);
	each[1].next_restored = each[0].next_restored;
	verdict_adopt(&round);
	verdict_round(&round);
	assert_int_equal(round.result, DRILL_PASS);
	/* The cause is named, and not what follows from it. */
	say_nothing(&each[0]);
	begin_anew(&each[1]);
	verdict_round(&round);
	assert_int_equal(round.result, DRILL_FAIL);
	assert_ptr_equal(strstr(round.reason, "member 1: "), round.reason);
	each[0] = good();
	each[1] = good();
	each[0].killed = true;
	verdict_round(&round);
	assert_non_null(strstr(round.reason, "member 0: the machine of member 1 was taken away"));
}

// clang-format off
static const struct {
	struct drill_facts facts;
	enum drill_result result;
	const char *said;
} wholes[] = {
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 2, .last_ran = true}, DRILL_PASS, ""},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 1, .last_ran = true}, DRILL_FAIL, "1 of 2 preemptions failed"},
	{{.rounds_wanted = 3, .rounds_done = 3, .rounds_passed = 1, .rounds_unproven = 1, .last_ran = true}, DRILL_FAIL, "1 of 3 preemptions failed"},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 1, .rounds_unproven = 1, .last_ran = true}, DRILL_UNPROVEN, "1 of 2 preemptions prove nothing"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_unproven = 1, .last_ran = true, .comparison = COMPARISON_DIFFERENT}, DRILL_FAIL, "differs"},
	{{.rounds_wanted = 2, .rounds_done = 1, .rounds_passed = 1}, DRILL_UNPROVEN, "only 1 of 2"},
	{{.rounds_wanted = 2, .rounds_done = 2, .rounds_passed = 2}, DRILL_UNPROVEN, "not run to its end"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .last_exit = 9}, DRILL_FAIL, "failed with 9"},
	{{.rounds_wanted = 1, .rounds_done = 1, .command_exit = 127}, DRILL_NOT_RUN, "there is no such command (127)"},
	{{.rounds_wanted = 1, .rounds_done = 1, .command_exit = 127, .command = "python train.py"}, DRILL_NOT_RUN, "write it without the quotes"},
	{{.rounds_wanted = 1, .undisturbed_exit = 126, .command_exit = 126}, DRILL_NOT_RUN, "it is no program that may be executed (126)"},
	{{.rounds_wanted = 2, .rounds_done = 1, .rounds_passed = 1, .timed_out = true}, DRILL_UNPROVEN, "--timeout"},
	{{.rounds_wanted = 2, .rounds_done = 1, .timed_out = true}, DRILL_FAIL, "1 of 2"},
	{{.rounds_wanted = 1, .too_large = "it is too large"}, DRILL_UNPROVEN, "it is too large"},
	{{.rounds_wanted = 1, .undisturbed_exit = 4}, DRILL_FAIL, "undisturbed run failed with 4"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .comparison = COMPARISON_MISSING}, DRILL_FAIL, "the result was not written by the preempted"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .comparison = COMPARISON_MISSING_UNDISTURBED}, DRILL_UNPROVEN, "the result was not written by the undisturbed"},
	{{.rounds_wanted = 1, .rounds_done = 1, .rounds_passed = 1, .last_ran = true, .comparison = COMPARISON_NOT_MADE}, DRILL_UNPROVEN, "could not be compared"},
};
// clang-format on

static void the_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
		char reason[600];

		assert_int_equal(verdict_drill(&wholes[i].facts, reason, sizeof(reason)),
				 wholes[i].result);
		if (wholes[i].said[0] ? !strstr(reason, wholes[i].said) : reason[0])
			fail_msg("%s: '%s'", wholes[i].said, reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_round),
		cmocka_unit_test(what_a_round_has_cost),
		cmocka_unit_test(a_gang),
		cmocka_unit_test(the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
