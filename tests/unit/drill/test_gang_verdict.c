#include "base/exit_code.h"
#include "drill/gang_verdict.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MEMBERS 3

static struct round_facts each[MEMBERS];
static struct round_verdict verdicts[MEMBERS];
static bool has_part[MEMBERS];
static struct gang_preemption preemption;

static struct run_checkpoint checkpoint(int64_t step)
{
	return (struct run_checkpoint){.at_ms = 1000 + step,
				       .captured_ms = 990 + step,
				       .step = step};
}

/* All have saved 10, 20, 30, the last after the notice at 1025, ended with 75, and gone on from
 * it. */
static struct round_facts honest(void)
{
	struct round_facts facts = {
		.events = {.launched_ms = 900,
			   .noticed_ms = 1026,
			   .asked_ms = -1,
			   .stopping_ms = -1,
			   .saving_ms = -1,
			   .child_exited_ms = 1040,
			   .restored_step = -1,
			   .checkpoints = {checkpoint(10), checkpoint(20), checkpoint(30)},
			   .checkpoint_count = 3,
			   .first_step = 10,
			   .commit = {.id = {1, 3},
				      .at_ms = 1035,
				      .checkpoint = checkpoint(30),
				      .step = 30}},
		.fired_ms = 1025,
		.deadline_ms = 2000,
		.gone_ms = 1050,
		.exit_code = EXIT_PREEMPTED,
		.lost_most = UINT_MAX,
		.store_read = true,
		.store_newest = {1, 3},
		.commit_good = true,
		.next_launched = true,
		.next_restored = {1, 3},
		.next_step = 30,
		.resumption = {.continuation = {.continuation = CONTINUATION_PROVEN,
						.counted = true,
						.word = "step",
						.count = {.first = 1,
							  .low = 30,
							  .high = 30,
							  .saved = 30,
							  .last = 31,
							  .stride = 1,
							  .step = 30,
							  .next = 31}},
			       .reading = {.reading = READING_DONE,
					   .opened = "model-30.bin",
					   .missed = "model-40.bin",
					   .files = 2,
					   .opened_files = 1}},
	};

	return facts;
}

static void set_up_honest(void)
{
	for (uint32_t i = 0; i < MEMBERS; i++) {
		each[i] = honest();
		has_part[i] = true;
	}
	preemption = (struct gang_preemption){.members = MEMBERS,
					      .lost = 1,
					      .each = each,
					      .has_part = has_part,
					      .verdicts = verdicts};
}

static void all_that_are_honest_pass(void **state)
{
	(void)state;
	set_up_honest();
	gang_verdict_round(&preemption);
	assert_int_equal(preemption.result, DRILL_PASS);
	assert_string_equal(preemption.reason, "");
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_int_equal(verdicts[i].result, DRILL_PASS);
}

static void reads_older(struct round_facts *facts)
{
	facts->resumption.continuation.continuation = CONTINUATION_OLDER;
	facts->resumption.continuation.count.next = 21;
}

static void begins_anew(struct round_facts *facts)
{
	facts->resumption.continuation.continuation = CONTINUATION_ANEW;
	facts->resumption.continuation.count.next = 1;
	facts->resumption.reading.reading = READING_NOTHING;
}

static void says_nothing(struct round_facts *facts)
{
	facts->resumption.continuation = (struct continuation_facts){0};
}

static void opens_nothing(struct round_facts *facts)
{
	facts->resumption.reading.reading = READING_NOTHING;
}

static void is_not_durable(struct round_facts *facts)
{
	facts->exit_code = EXIT_NOT_DURABLE;
	facts->events.checkpoints[facts->events.checkpoint_count++] = checkpoint(40);
	facts->events.first_after_notice = checkpoint(40);
}

static void does_not_end(struct round_facts *facts)
{
	facts->killed = true;
}

static void starts_from_another(struct round_facts *facts)
{
	facts->next_restored = (struct snapshot_id){1, 2};
}

static void starts_from_nothing(struct round_facts *facts)
{
	facts->next_restored = (struct snapshot_id){0};
}

static void fails_to_go_on(struct round_facts *facts)
{
	facts->resumption.failed = 1;
	facts->resumption.continuation = (struct continuation_facts){0};
}

static void ends_before(struct round_facts *facts)
{
	facts->fired_ms = -1;
	facts->exit_code = 3;
}

static void finishes(struct round_facts *facts)
{
	facts->exit_code = 0;
}

// clang-format off
static const struct {
	const char *name;
	uint32_t member;
	void (*spoil)(struct round_facts *facts);
	bool saves_nothing;
	enum drill_result expected;
	const char *said;
} cases[] = {
	{"one loads an older step", 2, reads_older, false, DRILL_FAIL, "member 2: step 30 was restored, but the job went on with step 21"},
	{"one begins anew", 0, begins_anew, false, DRILL_FAIL, "member 0: step 30 was restored, but the job began again at step 1"},
	{"one shows nothing", 1, says_nothing, false, DRILL_UNPROVEN, "member 1: the job opened model-30.bin, but nothing shows"},
	{"one opens nothing", 1, opens_nothing, false, DRILL_FAIL, "member 1: the job counts on with step 31, but opened none"},
	{"one that saves nothing opens nothing", 1, opens_nothing, true, DRILL_UNPROVEN, "member 1: it opened none of the restored files, and counts on. It saves nothing itself"},
	{"one that saves nothing begins anew", 1, begins_anew, true, DRILL_FAIL, "member 1: step 30 was restored, but the job began again"},
	{"one is not durable", 2, is_not_durable, false, DRILL_FAIL, "member 2: a newer checkpoint was complete on the disk, and not durable"},
	{"one of the others does not end", 2, does_not_end, false, DRILL_FAIL, "member 2: the machine of member 1 was taken away, and this one had not ended"},
	{"the lost one is killed at the deadline", 1, does_not_end, false, DRILL_PASS, ""},
	{"one starts from another snapshot", 0, starts_from_another, false, DRILL_FAIL, "member 0: the next machine started from 000001-000002 instead of 000001-000003"},
	{"one starts from nothing", 1, starts_from_nothing, false, DRILL_FAIL, "member 1: the next machine started from scratch"},
	{"one cannot load", 2, fails_to_go_on, false, DRILL_FAIL, "member 2: the job ended with 1"},
	{"one has finished", 0, finishes, false, DRILL_UNPROVEN, "member 0: the job finished during the notice"},
};
// clang-format on

static void one_is_enough_to_fail(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_up_honest();
		cases[i].spoil(&each[cases[i].member]);
		has_part[cases[i].member] = !cases[i].saves_nothing;
		gang_verdict_round(&preemption);
		if (preemption.result != cases[i].expected ||
		    !strstr(preemption.reason, cases[i].said))
			fail_msg("%s: %d, %s", cases[i].name, preemption.result, preemption.reason);
	}
}

/* What has ended the others is said, and not what came of it. */
static void the_cause_is_named(void **state)
{
	(void)state;
	set_up_honest();
	for (uint32_t i = 0; i < MEMBERS; i++) {
		each[i].fired_ms = -1;
		each[i].exit_code = EXIT_NOT_DURABLE;
	}
	ends_before(&each[2]);
	gang_verdict_round(&preemption);
	assert_int_equal(preemption.result, DRILL_FAIL);
	assert_string_equal(preemption.reason,
			    "member 2: the job ended by itself before the notice, with 3");
	/* A failure comes before what is only not proven. */
	set_up_honest();
	says_nothing(&each[0]);
	begins_anew(&each[2]);
	gang_verdict_round(&preemption);
	assert_non_null(strstr(preemption.reason, "member 2: "));
}

static void save_at(struct round_facts *facts, int64_t first)
{
	for (int i = 0; i < 3; i++)
		facts->events.checkpoints[i] = checkpoint(first + 10 * i);
}

static void forget_commits(void)
{
	for (uint32_t i = 0; i < MEMBERS; i++) {
		each[i].events.commit = (struct run_commit){.step = -1, .written_ms = -1};
		each[i].store_newest = each[i].next_restored = (struct snapshot_id){0};
		each[i].exit_code = EXIT_NOT_DURABLE;
	}
}

static void members_that_save_at_different_steps(void **state)
{
	(void)state;
	set_up_honest();
	forget_commits();
	save_at(&each[2], 17);
	/* It need not be started again. */
	assert_true(gang_verdict_is_lost(&preemption));
	gang_verdict_round(&preemption);
	assert_int_equal(preemption.result, DRILL_FAIL);
	assert_non_null(strstr(preemption.reason, "do not save at the same steps (last member 0 at "
						  "30, member 1 at 30, member 2 at 37)"));
	assert_non_null(strstr(preemption.reason, "as by `step % 100 == 0` and not by a clock"));
	/* They do: something else is wrong. */
	set_up_honest();
	assert_false(gang_verdict_is_lost(&preemption));
	forget_commits();
	assert_false(gang_verdict_is_lost(&preemption));
	gang_verdict_round(&preemption);
	assert_non_null(
		strstr(preemption.reason,
		       "member 0: nothing is durable: a checkpoint was complete, but its upload"));
	/* One has gone on a little longer than the others. */
	set_up_honest();
	is_not_durable(&each[0]);
	gang_verdict_round(&preemption);
	assert_non_null(
		strstr(preemption.reason,
		       "member 0: a newer checkpoint was complete on the disk, and not durable"));
}

static void what_one_knows_is_durable_for_all(void **state)
{
	(void)state;
	set_up_honest();
	each[0].events.commit = (struct run_commit){.step = -1};
	each[1].events.commit.id = (struct snapshot_id){1, 2};
	each[1].events.checkpoint_count = 0;
	gang_verdict_share_commit(each, MEMBERS);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		assert_int_equal(each[i].events.commit.id.sequence, 3);
		assert_int_equal(each[i].events.commit.step, 30);
	}
	gang_verdict_round(&preemption);
	assert_int_equal(preemption.result, DRILL_PASS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_are_honest_pass),
		cmocka_unit_test(one_is_enough_to_fail),
		cmocka_unit_test(the_cause_is_named),
		cmocka_unit_test(members_that_save_at_different_steps),
		cmocka_unit_test(what_one_knows_is_durable_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
