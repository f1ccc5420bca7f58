#include "planning/planning.h"

#include "base/text.h"

#include "unit.h"

#include <string.h>

static void test_order_holds_for_every_window(void **state)
{
	static const int64_t uploads[] = {-1, 0, 10, 1000, 30000, 10000000};

	(void)state;
	for (int64_t window = -5000; window < 300000; window += 137) {
		for (size_t i = 0; i < sizeof(uploads) / sizeof(uploads[0]); i++) {
			struct deadline_budget_facts facts = {
				.now_ms = 1000000,
				.deadline_ms = 1000000 + window,
				.upload_ms = uploads[i],
			};
			struct deadline_budget budget = deadline_budget_split(&facts);
			int64_t end = window > 0 ? facts.deadline_ms : facts.now_ms;

			assert_true(facts.now_ms <= budget.ask_until_ms);
			assert_true(budget.ask_until_ms <= budget.stop_until_ms);
			assert_true(budget.stop_until_ms <= budget.commit_until_ms);
			assert_true(budget.commit_until_ms <= end);
		}
	}
}

/* A short upload leaves the job more of the notice than a long one; nothing
 * measured is in between. */
static void test_a_measured_upload_moves_the_plan(void **state)
{
	struct deadline_budget_facts facts = {.now_ms = 0, .deadline_ms = 120000};
	struct deadline_budget quick, slow, unknown;

	(void)state;
	facts.upload_ms = 500;
	quick = deadline_budget_split(&facts);
	facts.upload_ms = 40000;
	slow = deadline_budget_split(&facts);
	facts.upload_ms = -1;
	unknown = deadline_budget_split(&facts);
	assert_true(quick.ask_until_ms > unknown.ask_until_ms);
	assert_true(unknown.ask_until_ms > slow.ask_until_ms);
	/* However slow, the job gets some of it. */
	assert_true(slow.ask_until_ms > 30000);
	/* And two minutes leave more than a minute for a fresh checkpoint, even
	 * when nothing is known. */
	assert_true(unknown.ask_until_ms > 60000);
}

/* A complete checkpoint that is not durable wants the machine for itself; nothing
 * else is won by killing. */
static void test_when_a_job_that_was_told_to_end_is_killed(void **state)
{
	static const struct deadline_budget budget = {
		.ask_until_ms = 14000,
		.stop_until_ms = 15000,
		.commit_until_ms = 19000,
	};
	static const struct {
		struct kill_facts facts;
		int64_t kill_ms;
	} rows[] = {
		{{14000, false, 0}, 19000},
		{{15000, false, 0}, 19000},
		{{0, false, 0}, 19000},
		{{14000, true, 0}, 16500},
		{{15000, true, 0}, 17000},
		{{0, true, 0}, 15000},
		{{19000, true, 0}, 19000},
		/* Closed before it was told: the same as if it were complete. */
		{{15000, false, 14000}, 17000},
		{{0, false, 1}, 15000},
		/* The later it closed its file, the later, but never with nothing left. */
		{{15000, false, 16000}, 17500},
		{{15000, false, 18000}, 18500},
		{{15000, false, 18998}, 18999},
		/* Still early enough for the upload. */
		{{1000, false, 4000}, 15000},
		/* Another one is complete already: what is closed now is not torn for it. */
		{{15000, true, 18000}, 18500},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(deadline_budget_kill_ms(&budget, &rows[i].facts), rows[i].kill_ms);
}

static void test_when_the_rest_of_it_is_told(void **state)
{
	(void)state;
	assert_int_equal(deadline_budget_rest_ms(1000, 9000, false), 3000);
	assert_int_equal(deadline_budget_rest_ms(1000, 9000, true), 7000);
	assert_int_equal(deadline_budget_rest_ms(1000, 1000, true), 1000);
}

/* Never in the same moment, while there is time. */
static void test_every_window_leaves_time_between_telling_and_killing(void **state)
{
	static const int64_t uploads[] = {-1, 0, 1000, 30000};

	(void)state;
	for (int64_t window = 100; window < 300000; window += 137) {
		for (size_t i = 0; i < sizeof(uploads) / sizeof(uploads[0]); i++) {
			struct deadline_budget_facts facts = {
				.deadline_ms = window,
				.upload_ms = uploads[i],
			};
			struct deadline_budget budget = deadline_budget_split(&facts);
			int64_t told_ms = budget.stop_until_ms;

			const struct kill_facts goes_on = {told_ms, false, 0};
			const struct kill_facts pending = {told_ms, true, 0};
			const struct kill_facts closed = {told_ms, false, told_ms};

			assert_true(deadline_budget_kill_ms(&budget, &pending) > told_ms);
			assert_true(deadline_budget_kill_ms(&budget, &closed) > told_ms);
			assert_true(deadline_budget_kill_ms(&budget, &goes_on) >=
				    told_ms + window / 10);
		}
	}
}

/* --- preemption forecast --- */

/* The plan at a notice, and what a preemption would cost: tables. */

struct row {
	const char *name;
	struct preemption_facts facts;
	enum preemption_plan plan;
	bool too_long;
	const char *says; /* somewhere in the line of the plan */
	const char *loses;
};

#define NO_SAVE .saving_for_ms = -1
#define BEHIND .behind_ms = 840000
#define LOSES "a preemption now would lose 14 min 0 s"

// clang-format off
static const struct row rows[] = {
	{"everything fits",
		{NO_SAVE, .window_ms = 120000, .save_ms = 12000, .upload_ms = 30000, BEHIND,
			.can_ask = true}, PREEMPTION_SAVE, false,
		"a fresh checkpoint (save takes 12 s, upload 30 s; the notice gives 2 min 0 s)",
		LOSES " if it came without a notice"},
	{"just so",
		{NO_SAVE, .window_ms = 42000, .save_ms = 12000, .upload_ms = 30000, BEHIND,
			.can_ask = true}, PREEMPTION_SAVE, false, "fresh", LOSES " if it came"},
	{"a moment too long",
		{NO_SAVE, .window_ms = 41999, .save_ms = 12000, .upload_ms = 30000,
			.rest_ms = 20000, BEHIND, .can_ask = true, .pending = true},
				PREEMPTION_FINISH_UPLOAD, true,
		"upload the newest complete checkpoint (upload takes 20 s; the notice gives 41 s); then try a "
		"fresh one", LOSES},
	{"a fresh one has to wait for what is on its way",
		{NO_SAVE, .window_ms = 42000, .save_ms = 1000, .upload_ms = 30000, .rest_ms = 12001,
			BEHIND, .can_ask = true, .pending = true},
		PREEMPTION_FINISH_UPLOAD, false, "upload takes 12 s",
		LOSES " if it came without a notice"},
	{"and may do so",
		{NO_SAVE, .window_ms = 42000, .save_ms = 1000, .upload_ms = 30000, .rest_ms = 12000,
			BEHIND, .can_ask = true, .pending = true},
		PREEMPTION_SAVE, false, "a fresh checkpoint", LOSES " if it came without a notice"},
	{"too long, nothing pending",
		{NO_SAVE, .window_ms = 30000, .save_ms = 12000, .upload_ms = 30000, BEHIND,
			.can_ask = true, .any_durable = true}, PREEMPTION_NOTHING, true,
		"rely on the newest durable checkpoint; a fresh one is tried", LOSES},
	{"too long for the upload alone",
		{NO_SAVE, .window_ms = 30000, .save_ms = 1000, .upload_ms = 90000, .rest_ms = 31000,
			BEHIND, .can_ask = true, .pending = true, .any_durable = true},
		PREEMPTION_NOTHING, true, "rely on the newest durable checkpoint", LOSES},
	{"cannot be asked",
		{NO_SAVE, .window_ms = 120000, .save_ms = 1000, .upload_ms = 1000, BEHIND,
			.any_durable = true}, PREEMPTION_NOTHING, false, "cannot be asked", LOSES},
	{"cannot be asked, one is pending",
		{NO_SAVE, .window_ms = 120000, .save_ms = 1000, .upload_ms = 1000, BEHIND,
			.pending = true}, PREEMPTION_FINISH_UPLOAD, false,
		"newest complete checkpoint", LOSES},
	{"nothing is known",
		{NO_SAVE, .window_ms = 30000, .save_ms = -1, .upload_ms = -1, BEHIND,
			.can_ask = true}, PREEMPTION_SAVE, false, "not known yet", LOSES},
	{"half is known",
		{NO_SAVE, .window_ms = 30000, .save_ms = 1000, .upload_ms = -1, BEHIND,
			.can_ask = true}, PREEMPTION_SAVE, false,
				"a fresh checkpoint (save takes 1.0 s, upload time not known yet; "
				"the notice gives 30 s)", LOSES},
	{"half is known, and it is too much",
		{NO_SAVE, .window_ms = 30000, .save_ms = -1, .upload_ms = 40000, BEHIND,
			.can_ask = true}, PREEMPTION_NOTHING, true,
		"nothing is durable", LOSES},
	{"the other half is known",
		{NO_SAVE, .window_ms = 30000, .save_ms = -1, .upload_ms = 1000, BEHIND,
			.can_ask = true}, PREEMPTION_SAVE, false,
		"a fresh checkpoint (upload takes 1.0 s, save time not known yet; the notice gives 30 s)",
		LOSES},
	{"cannot be asked, but is saving",
		{.saving_for_ms = 500, .window_ms = 19000, .save_ms = 3000, .upload_ms = 85, BEHIND,
			.any_durable = true}, PREEMPTION_AWAIT_SAVE, false,
		"plan: wait for the save in progress; the job cannot be asked for another "
		"checkpoint (save takes 3.0 s, upload 85 ms; the notice gives 19 s)", LOSES},
	{"cannot be asked, is saving, and one is pending",
		{.saving_for_ms = 0, .window_ms = 19000, .save_ms = -1, .upload_ms = -1, BEHIND,
			.pending = true}, PREEMPTION_AWAIT_SAVE, false,
		"cannot be asked for another checkpoint (save and upload times not known yet)",
		LOSES},
	{"is asked although it is saving",
		{.saving_for_ms = 500, .window_ms = 19000, .save_ms = 3000, .upload_ms = 85, BEHIND,
			.can_ask = true}, PREEMPTION_SAVE, false,
		"a fresh checkpoint", LOSES " if it came"},
	{"a long first save",
		{.saving_for_ms = 60000, .window_ms = 19000, .save_ms = -1, .upload_ms = -1,
			BEHIND}, PREEMPTION_AWAIT_SAVE, false, "save in progress", LOSES},
	{"is never quiet",
		{.saving_for_ms = 60001, .window_ms = 19000, .save_ms = -1, .upload_ms = -1,
			BEHIND}, PREEMPTION_NOTHING, false,
		"nothing is durable, and the job cannot be asked for a checkpoint", LOSES},
	{"long saves are usual here",
		{.saving_for_ms = 660000, .window_ms = 19000, .save_ms = 300000, .upload_ms = 85,
			BEHIND}, PREEMPTION_AWAIT_SAVE, true, "save in progress", LOSES},
	{"but not so long",
		{.saving_for_ms = 660001, .window_ms = 19000, .save_ms = 300000, .upload_ms = 85,
			BEHIND, .any_durable = true}, PREEMPTION_NOTHING, true,
		"rely on the newest durable checkpoint: the job cannot be asked", LOSES},
	{"cannot be asked, and how long the pending one takes is not known",
		{NO_SAVE, .window_ms = 19000, .save_ms = -1, .upload_ms = -1, .rest_ms = -1, BEHIND,
			.pending = true},
		PREEMPTION_FINISH_UPLOAD, false,
		"plan: upload the newest complete checkpoint (upload time not known yet); the job "
		"cannot be asked for a fresh one", LOSES},
	{"cannot be asked, but the next save is due",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_AWAIT_NEXT, false,
		"plan: wait for the next save, due in 4.0 s; the job cannot be asked for a "
		"checkpoint (save takes 300 ms, upload 85 ms; the notice gives 29 s)", LOSES},
	{"the same, and nobody waits for its end",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 85, BEHIND, .any_durable = true,
			.trains_on = true},
		PREEMPTION_AWAIT_NEXT, false,
		"plan: the job trains on until no further save is due in time (the next one is due "
		"in 4.0 s); it cannot be asked for a checkpoint (save takes 300 ms, upload 85 ms; "
		"the notice gives 29 s)", LOSES},
	{"the next save is due soon, but 2 s are too short for it",
		{NO_SAVE, .save_gap_ms = 2000, .since_save_ms = 500, .window_ms = 2000,
			.save_ms = 300, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_NOTHING, false, "rely on the newest durable checkpoint", LOSES},
	{"of a job that saves all the time, one more fits into 2 s",
		{NO_SAVE, .save_gap_ms = 300, .since_save_ms = 100, .window_ms = 2000,
			.save_ms = 50, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_AWAIT_NEXT, false, "next save, due in 200 ms", LOSES},
	{"the next save is due after the end",
		{NO_SAVE, .save_gap_ms = 600000, .since_save_ms = 100000, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_NOTHING, false, "rely on the newest durable checkpoint", LOSES},
	{"a job that saves seldom is about to save",
		{NO_SAVE, .save_gap_ms = 600000, .since_save_ms = 595000, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_AWAIT_NEXT, false, "next save, due in 5.0 s", LOSES},
	{"the next save could be uploaded just so",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 20000, BEHIND, .any_durable = true},
		PREEMPTION_AWAIT_NEXT, false, "next save", LOSES},
	{"the next save could not be uploaded any more",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 23000,
			.save_ms = 300, .upload_ms = 20000, BEHIND, .any_durable = true},
		PREEMPTION_NOTHING, false, "rely on the newest durable checkpoint", LOSES},
	{"what is pending takes until the end",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 85, .rest_ms = 28500, BEHIND,
			.pending = true, .any_durable = true},
		PREEMPTION_FINISH_UPLOAD, false, "upload takes 28 s", LOSES},
	{"the save is late",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 12000, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_AWAIT_NEXT, false, "wait for the next save, due now;", LOSES},
	{"it does not save any more",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 20001, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_NOTHING, false, "rely on the newest durable checkpoint", LOSES},
	{"a stall of a moment is no end",
		{NO_SAVE, .save_gap_ms = 100, .since_save_ms = 1000, .window_ms = 29000,
			.save_ms = 50, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_AWAIT_NEXT, false, "due now", LOSES},
	{"is saving, and the next save is due",
		{.saving_for_ms = 500, .save_gap_ms = 10000, .since_save_ms = 6000,
			.window_ms = 29000, .save_ms = 300, .upload_ms = 85, BEHIND},
		PREEMPTION_AWAIT_SAVE, false, "save in progress", LOSES},
	{"is asked although its next save is due",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000,
			.save_ms = 300, .upload_ms = 85, BEHIND, .can_ask = true},
		PREEMPTION_SAVE, false, "a fresh checkpoint", LOSES " if it came"},
	/* before the first save */
	{"it has not saved yet, and there is time",
		{NO_SAVE, .unsaved_for_ms = 12000, .window_ms = 29000, .save_ms = -1,
			.upload_ms = -1, BEHIND}, PREEMPTION_AWAIT_FIRST, false,
		"plan: wait for the first save, which may come in time; the job cannot be asked "
		"for a checkpoint (save and upload times not known yet)", LOSES},
	{"the same after a restart, with something durable",
		{NO_SAVE, .unsaved_for_ms = 12000, .window_ms = 29000, .save_ms = -1,
			.upload_ms = -1, BEHIND, .any_durable = true},
		PREEMPTION_AWAIT_FIRST, false, "first save", LOSES},
	{"in two seconds too",
		{NO_SAVE, .unsaved_for_ms = 1400, .window_ms = 700, .save_ms = -1,
			.upload_ms = -1, BEHIND}, PREEMPTION_AWAIT_FIRST, false, "first save",
		LOSES},
	{"in its first second it has nothing to lose",
		{NO_SAVE, .unsaved_for_ms = 999, .window_ms = 29000, .save_ms = -1,
			.upload_ms = -1, BEHIND}, PREEMPTION_NOTHING, false,
		"nothing is durable, and the job cannot be asked", LOSES},
	{"it has run for ten times as long as is left",
		{NO_SAVE, .unsaved_for_ms = 290000, .window_ms = 29000, .save_ms = -1,
			.upload_ms = -1, BEHIND}, PREEMPTION_AWAIT_FIRST, false, "first save",
		LOSES},
	{"and for longer",
		{NO_SAVE, .unsaved_for_ms = 290010, .window_ms = 29000, .save_ms = -1,
			.upload_ms = -1, BEHIND}, PREEMPTION_NOTHING, false,
		"nothing is durable, and the job cannot be asked", LOSES},
	{"it saves once an hour, as an earlier start says",
		{NO_SAVE, .save_gap_ms = 3600000, .unsaved_for_ms = 12000, .window_ms = 29000,
			.save_ms = -1, .upload_ms = -1, BEHIND}, PREEMPTION_NOTHING, false,
		"nothing is durable, and the job cannot be asked", LOSES},
	{"its first save is under way",
		{.saving_for_ms = 500, .unsaved_for_ms = 12000, .window_ms = 29000, .save_ms = -1,
			.upload_ms = -1, BEHIND}, PREEMPTION_AWAIT_SAVE, false,
		"save in progress", LOSES},
	{"it can be asked",
		{NO_SAVE, .unsaved_for_ms = 12000, .window_ms = 29000, .save_ms = -1,
			.upload_ms = -1, BEHIND, .can_ask = true}, PREEMPTION_SAVE, false,
		"a fresh checkpoint", LOSES},
	{"it is no job that saves",
		{NO_SAVE, .unsaved_for_ms = -1, .window_ms = 29000, .save_ms = -1,
			.upload_ms = -1, BEHIND}, PREEMPTION_NOTHING, false,
		"nothing is durable, and the job cannot be asked", LOSES},
	{"the end has come",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 10000, .window_ms = 0,
			.save_ms = 300, .upload_ms = 85, BEHIND, .any_durable = true},
		PREEMPTION_NOTHING, false, "rely on the newest durable checkpoint", LOSES},
	{"the deadline is unknown",
		{NO_SAVE, .window_ms = 0, .save_ms = 1000, .upload_ms = 1000, BEHIND,
			.can_ask = true}, PREEMPTION_NOTHING, false, "nothing is durable", LOSES},
};
// clang-format on

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		char plan[256], loss[120];

		preemption_forecast_format_plan(&row->facts, plan, sizeof(plan));
		preemption_forecast_format_loss(&row->facts, loss, sizeof(loss));
		if (preemption_forecast_choose(&row->facts) != row->plan ||
		    preemption_forecast_is_too_long(&row->facts) != row->too_long ||
		    !strstr(plan, row->says) || strncmp(loss, row->loses, strlen(row->loses)) != 0)
			fail_msg("%s: plan %d, too long %d: \"%s\", \"%s\"", row->name,
				 preemption_forecast_choose(&row->facts),
				 preemption_forecast_is_too_long(&row->facts), plan, loss);
		/* "if nothing announced it" only where it fits for certain. */
		if (!strstr(row->loses, "if"))
			assert_null(strstr(loss, "announced"));
	}
}

static void test_the_rest_of_an_upload(void **state)
{
	(void)state;
	/* too early to measure: what it usually takes */
	assert_int_equal(preemption_forecast_rest_ms(400, 90, 100, 10000), 9600);
	assert_int_equal(preemption_forecast_rest_ms(400, 90, 100, 300), 0);
	assert_int_equal(preemption_forecast_rest_ms(400, 90, 100, -1), -1);
	assert_int_equal(preemption_forecast_rest_ms(9000, 0, 100, -1), -1);
	/* measured, whatever it usually takes */
	assert_int_equal(preemption_forecast_rest_ms(9000, 90, 100, -1), 1000);
	assert_int_equal(preemption_forecast_rest_ms(9000, 90, 100, 500), 1000);
	assert_int_equal(preemption_forecast_rest_ms(9000, 100, 100, 500), 0);
}

static void test_what_is_at_risk_is_said_at_each_doubling(void **state)
{
	(void)state;
	assert_int_equal(preemption_forecast_warn_ms(-1, 0), 600000);
	assert_int_equal(preemption_forecast_warn_ms(0, 1), 1200000);
	assert_int_equal(preemption_forecast_warn_ms(60000, 2), 2400000);
	assert_int_equal(preemption_forecast_warn_ms(3600000, 0), 7200000);
	assert_true(preemption_forecast_warn_ms(3600000, 100) == INT64_MAX);
}

static void test_windows(void **state)
{
	(void)state;
	assert_int_equal(preemption_forecast_window_of("aws"), 120000);
	assert_int_equal(preemption_forecast_window_of("gcp"), 30000);
	assert_int_equal(preemption_forecast_window_of("azure"), 30000);
	assert_int_equal(preemption_forecast_window_of("file"), 0);
	assert_int_equal(preemption_forecast_window_of(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_holds_for_every_window),
		cmocka_unit_test(test_a_measured_upload_moves_the_plan),
		cmocka_unit_test(test_when_a_job_that_was_told_to_end_is_killed),
		cmocka_unit_test(test_when_the_rest_of_it_is_told),
		cmocka_unit_test(test_every_window_leaves_time_between_telling_and_killing),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_the_rest_of_an_upload),
		cmocka_unit_test(test_what_is_at_risk_is_said_at_each_doubling),
		cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
