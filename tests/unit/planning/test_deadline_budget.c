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
			int64_t now = 1000000, end = window > 0 ? now + window : now;
			struct deadline_budget budget =
				deadline_budget_split(now, now + window, uploads[i]);

			assert_true(now <= budget.ask_until_ms);
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
	struct deadline_budget quick = deadline_budget_split(0, 120000, 500);
	struct deadline_budget slow = deadline_budget_split(0, 120000, 40000);
	struct deadline_budget unknown = deadline_budget_split(0, 120000, -1);

	(void)state;
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
		int64_t told_ms;
		bool pending;
		int64_t closed_ms, kill_ms;
	} rows[] = {
		{14000, false, 0, 19000},
		{15000, false, 0, 19000},
		{0, false, 0, 19000},
		{14000, true, 0, 16500},
		{15000, true, 0, 17000},
		{0, true, 0, 15000},
		{19000, true, 0, 19000},
		/* Closed before it was told: the same as if it were complete. */
		{15000, false, 14000, 17000},
		{0, false, 1, 15000},
		/* The later it closed its file, the later, but never with nothing left. */
		{15000, false, 16000, 17500},
		{15000, false, 18000, 18500},
		{15000, false, 18998, 18999},
		/* Still early enough for the upload. */
		{1000, false, 4000, 15000},
		/* Another one is complete already: what is closed now is not torn for it. */
		{15000, true, 18000, 18500},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(deadline_budget_kill_ms(&budget, rows[i].told_ms, rows[i].pending,
							 rows[i].closed_ms),
				 rows[i].kill_ms);
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
			struct deadline_budget budget =
				deadline_budget_split(0, window, uploads[i]);
			int64_t told = budget.stop_until_ms;

			assert_true(deadline_budget_kill_ms(&budget, told, true, 0) > told);
			assert_true(deadline_budget_kill_ms(&budget, told, false, told) > told);
			assert_true(deadline_budget_kill_ms(&budget, told, false, 0) >=
				    told + window / 10);
		}
	}
}

/* --- preemption forecast --- */

/* The plan at a notice, and what a preemption would cost: tables. */

#define NO_SAVE .saving_for_ms = -1
#define NOT_MEASURED .save_ms = -1, .upload_ms = -1
#define QUICK .save_ms = 300, .upload_ms = 85

// clang-format off
static const struct {
	const char *name;
	struct preemption_facts facts;
	enum preemption_plan plan;
	bool too_long;
} rows[] = {
	{"everything fits",
		{NO_SAVE, .window_ms = 120000, .save_ms = 12000, .upload_ms = 30000, .can_ask = true}, PREEMPTION_SAVE, false},
	{"just so",
		{NO_SAVE, .window_ms = 42000, .save_ms = 12000, .upload_ms = 30000, .can_ask = true}, PREEMPTION_SAVE, false},
	{"a moment too long",
		{NO_SAVE, .window_ms = 41999, .save_ms = 12000, .upload_ms = 30000, .rest_ms = 20000, .can_ask = true, .pending = true}, PREEMPTION_FINISH_UPLOAD, true},
	{"a fresh one has to wait for what is on its way",
		{NO_SAVE, .window_ms = 42000, .save_ms = 1000, .upload_ms = 30000, .rest_ms = 12001, .can_ask = true, .pending = true}, PREEMPTION_FINISH_UPLOAD, false},
	{"and may do so",
		{NO_SAVE, .window_ms = 42000, .save_ms = 1000, .upload_ms = 30000, .rest_ms = 12000, .can_ask = true, .pending = true}, PREEMPTION_SAVE, false},
	{"too long, nothing pending",
		{NO_SAVE, .window_ms = 30000, .save_ms = 12000, .upload_ms = 30000, .can_ask = true, .any_durable = true}, PREEMPTION_NOTHING, true},
	{"too long for the upload alone",
		{NO_SAVE, .window_ms = 30000, .save_ms = 1000, .upload_ms = 90000, .rest_ms = 31000, .can_ask = true, .pending = true, .any_durable = true}, PREEMPTION_NOTHING, true},
	{"cannot be asked",
		{NO_SAVE, .window_ms = 120000, .save_ms = 1000, .upload_ms = 1000, .any_durable = true}, PREEMPTION_NOTHING, false},
	{"cannot be asked, one is pending",
		{NO_SAVE, .window_ms = 120000, .save_ms = 1000, .upload_ms = 1000, .pending = true}, PREEMPTION_FINISH_UPLOAD, false},
	{"nothing is known", {NO_SAVE, .window_ms = 30000, NOT_MEASURED, .can_ask = true}, PREEMPTION_SAVE, false},
	{"half is known",
		{NO_SAVE, .window_ms = 30000, .save_ms = 1000, .upload_ms = -1, .can_ask = true}, PREEMPTION_SAVE, false},
	{"half is known, and it is too much",
		{NO_SAVE, .window_ms = 30000, .save_ms = -1, .upload_ms = 40000, .can_ask = true}, PREEMPTION_NOTHING, true},
	{"the other half is known",
		{NO_SAVE, .window_ms = 30000, .save_ms = -1, .upload_ms = 1000, .can_ask = true}, PREEMPTION_SAVE, false},
	{"cannot be asked, but is saving",
		{.saving_for_ms = 500, .window_ms = 19000, .save_ms = 3000, .upload_ms = 85, .any_durable = true}, PREEMPTION_AWAIT_SAVE, false},
	{"cannot be asked, is saving, and one is pending",
		{.saving_for_ms = 0, .window_ms = 19000, NOT_MEASURED, .pending = true}, PREEMPTION_AWAIT_SAVE, false},
	{"is asked although it is saving",
		{.saving_for_ms = 500, .window_ms = 19000, .save_ms = 3000, .upload_ms = 85, .can_ask = true}, PREEMPTION_SAVE, false},
	{"a long first save",
		{.saving_for_ms = 60000, .window_ms = 19000, NOT_MEASURED}, PREEMPTION_AWAIT_SAVE, false},
	{"is never quiet", {.saving_for_ms = 60001, .window_ms = 19000, NOT_MEASURED}, PREEMPTION_NOTHING, false},
	{"long saves are usual here",
		{.saving_for_ms = 660000, .window_ms = 19000, .save_ms = 300000, .upload_ms = 85}, PREEMPTION_AWAIT_SAVE, true},
	{"but not so long",
		{.saving_for_ms = 660001, .window_ms = 19000, .save_ms = 300000, .upload_ms = 85, .any_durable = true}, PREEMPTION_NOTHING, true},
	{"cannot be asked, and how long the pending one takes is not known",
		{NO_SAVE, .window_ms = 19000, NOT_MEASURED, .rest_ms = -1, .pending = true}, PREEMPTION_FINISH_UPLOAD, false},
	{"cannot be asked, but the next save is due",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000, QUICK, .any_durable = true}, PREEMPTION_AWAIT_NEXT, false},
	{"the same, and nobody waits for its end",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000, QUICK, .any_durable = true, .trains_on = true}, PREEMPTION_AWAIT_NEXT, false},
	{"the next save is due soon, but 2 s are too short for it",
		{NO_SAVE, .save_gap_ms = 2000, .since_save_ms = 500, .window_ms = 2000, QUICK, .any_durable = true}, PREEMPTION_NOTHING, false},
	{"of a job that saves all the time, one more fits into 2 s",
		{NO_SAVE, .save_gap_ms = 300, .since_save_ms = 100, .window_ms = 2000, .save_ms = 50, .upload_ms = 85, .any_durable = true}, PREEMPTION_AWAIT_NEXT, false},
	{"the next save is due after the end",
		{NO_SAVE, .save_gap_ms = 600000, .since_save_ms = 100000, .window_ms = 29000, QUICK, .any_durable = true}, PREEMPTION_NOTHING, false},
	{"a job that saves seldom is about to save",
		{NO_SAVE, .save_gap_ms = 600000, .since_save_ms = 595000, .window_ms = 29000, QUICK, .any_durable = true}, PREEMPTION_AWAIT_NEXT, false},
	{"the next save could be uploaded just so",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000, .save_ms = 300, .upload_ms = 20000, .any_durable = true}, PREEMPTION_AWAIT_NEXT, false},
	{"the next save could not be uploaded any more",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 23000, .save_ms = 300, .upload_ms = 20000, .any_durable = true}, PREEMPTION_NOTHING, false},
	{"what is pending takes until the end",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000, QUICK, .rest_ms = 28500, .pending = true, .any_durable = true}, PREEMPTION_FINISH_UPLOAD, false},
	{"the save is late",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 12000, .window_ms = 29000, QUICK, .any_durable = true}, PREEMPTION_AWAIT_NEXT, false},
	{"it does not save any more",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 20001, .window_ms = 29000, QUICK, .any_durable = true}, PREEMPTION_NOTHING, false},
	{"a stall of a moment is no end",
		{NO_SAVE, .save_gap_ms = 100, .since_save_ms = 1000, .window_ms = 29000, .save_ms = 50, .upload_ms = 85, .any_durable = true}, PREEMPTION_AWAIT_NEXT, false},
	{"is saving, and the next save is due",
		{.saving_for_ms = 500, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000, QUICK}, PREEMPTION_AWAIT_SAVE, false},
	{"is asked although its next save is due",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000, QUICK, .can_ask = true}, PREEMPTION_SAVE, false},
	{"it has not saved yet, and there is time",
		{NO_SAVE, .unsaved_for_ms = 12000, .window_ms = 29000, NOT_MEASURED}, PREEMPTION_AWAIT_FIRST, false},
	{"the same after a restart, with something durable",
		{NO_SAVE, .unsaved_for_ms = 12000, .window_ms = 29000, NOT_MEASURED, .any_durable = true}, PREEMPTION_AWAIT_FIRST, false},
	{"in two seconds too",
		{NO_SAVE, .unsaved_for_ms = 1400, .window_ms = 700, NOT_MEASURED}, PREEMPTION_AWAIT_FIRST, false},
	{"in its first second it has nothing to lose",
		{NO_SAVE, .unsaved_for_ms = 999, .window_ms = 29000, NOT_MEASURED}, PREEMPTION_NOTHING, false},
	{"it has run for ten times as long as is left",
		{NO_SAVE, .unsaved_for_ms = 290000, .window_ms = 29000, NOT_MEASURED}, PREEMPTION_AWAIT_FIRST, false},
	{"and for longer",
		{NO_SAVE, .unsaved_for_ms = 290010, .window_ms = 29000, NOT_MEASURED}, PREEMPTION_NOTHING, false},
	{"it saves once an hour, as an earlier start says",
		{NO_SAVE, .save_gap_ms = 3600000, .unsaved_for_ms = 12000, .window_ms = 29000, NOT_MEASURED}, PREEMPTION_NOTHING, false},
	{"its first save is under way",
		{.saving_for_ms = 500, .unsaved_for_ms = 12000, .window_ms = 29000, NOT_MEASURED}, PREEMPTION_AWAIT_SAVE, false},
	{"it can be asked",
		{NO_SAVE, .unsaved_for_ms = 12000, .window_ms = 29000, NOT_MEASURED, .can_ask = true}, PREEMPTION_SAVE, false},
	{"it is no job that saves",
		{NO_SAVE, .unsaved_for_ms = -1, .window_ms = 29000, NOT_MEASURED}, PREEMPTION_NOTHING, false},
	{"the end has come",
		{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 10000, .window_ms = 0, QUICK, .any_durable = true}, PREEMPTION_NOTHING, false},
	{"the deadline is unknown",
		{NO_SAVE, .window_ms = 0, .save_ms = 1000, .upload_ms = 1000, .can_ask = true}, PREEMPTION_NOTHING, false},
};

static const struct {
	struct preemption_facts facts;
	const char *says;
} words[] = {
	{{NO_SAVE, .window_ms = 120000, .save_ms = 12000, .upload_ms = 30000, .can_ask = true},
		"plan: a fresh checkpoint (save takes 12 s, upload 30 s; the notice gives 2 min 0 s)"},
	{{.saving_for_ms = 500, .window_ms = 19000, NOT_MEASURED},
		"plan: wait for the save in progress; the job cannot be asked for a fresh one (save takes an unknown time, "
		"upload an unknown time; the notice gives 19 s)"},
	{{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000, QUICK},
		"plan: wait for the next save, due in 4.0 s; the job cannot be asked for a fresh one (save takes 300 ms, "
		"upload 85 ms; the notice gives 29 s)"},
	{{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 10000, .window_ms = 29000, QUICK},
		"plan: wait for the next save, due now; the job"},
	{{NO_SAVE, .save_gap_ms = 10000, .since_save_ms = 6000, .window_ms = 29000, QUICK, .trains_on = true},
		"plan: the job trains on until no further save is due in time; the next one is due in 4.0 s; the job "},
	{{NO_SAVE, .unsaved_for_ms = 12000, .window_ms = 29000, NOT_MEASURED},
		"plan: wait for the first save, which may come in time; the job cannot be asked for a fresh one (save"},
	{{NO_SAVE, .window_ms = 41999, .save_ms = 12000, .upload_ms = 30000, .rest_ms = 20000, .can_ask = true, .pending = true},
		"plan: upload the newest complete checkpoint, then try a fresh one (save takes 12 s, upload 20 s; the "},
	{{NO_SAVE, .window_ms = 30000, .save_ms = 12000, .upload_ms = 30000, .can_ask = true, .any_durable = true},
		"plan: rely on the newest durable checkpoint; a fresh one is tried"},
	{{NO_SAVE, .window_ms = 30000, .any_durable = true},
		"plan: rely on the newest durable checkpoint: the job cannot be asked for a fresh one"},
	{{NO_SAVE, .window_ms = 30000}, "plan: nothing is durable, and the job cannot be asked for a checkpoint"},
};
// clang-format on

static void test_the_plan_at_a_notice(void **state)
{
	char plan[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (preemption_forecast_choose(&rows[i].facts) != rows[i].plan ||
		    preemption_forecast_is_too_long(&rows[i].facts) != rows[i].too_long)
			fail_msg("%s: plan %d", rows[i].name,
				 preemption_forecast_choose(&rows[i].facts));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		preemption_forecast_format_plan(&words[i].facts, plan, sizeof(plan));
		if (!strstr(plan, words[i].says))
			fail_msg("%zu: %s", i, plan);
	}
}

/* "if it came without a notice" only where a save is known to fit into one. */
static void test_what_a_preemption_costs(void **state)
{
	struct preemption_facts facts = {NO_SAVE,          .behind_ms = 840000, .window_ms = 42000,
					 .save_ms = 12000, .upload_ms = 30000,  .can_ask = true};
	char loss[120];

	(void)state;
	assert_string_equal(preemption_forecast_format_loss(&facts, loss, sizeof(loss)),
			    "a preemption now would lose 14 min 0 s if it came without a notice");
	facts.window_ms--;
	assert_null(strstr(preemption_forecast_format_loss(&facts, loss, sizeof(loss)), "if it"));
	facts = (struct preemption_facts){NO_SAVE, NOT_MEASURED, .window_ms = 42000,
					  .can_ask = true};
	assert_null(strstr(preemption_forecast_format_loss(&facts, loss, sizeof(loss)), "if it"));
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
		cmocka_unit_test(test_the_plan_at_a_notice),
		cmocka_unit_test(test_what_a_preemption_costs),
		cmocka_unit_test(test_the_rest_of_an_upload),
		cmocka_unit_test(test_what_is_at_risk_is_said_at_each_doubling),
		cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
