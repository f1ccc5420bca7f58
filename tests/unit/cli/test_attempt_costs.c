#include "cli/costs.h"
#include "cli/status_text.h"
#include "telemetry/telemetry.h"

#include "base/cleanup.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define HOUR 3600000LL

static struct attempt_costs read_one(const char *outcome, const char *end_about, bool newest,
				     const char *lines)
{
	auto_json json_t *about = json_loads("{\"host\":\"node-7\"}", 0, NULL);
	auto_json json_t *end = end_about ? json_loads(end_about, 0, NULL) : NULL;
	struct attempt_summary past = {
		.number = 3,
		.snapshots = 2,
		.known = true,
		.ended = outcome != NULL,
		.created = "2026-11-21T08:00:00Z",
		.about = about,
		.end_about = end,
	};
	struct bytes ledger = {.data = (uint8_t *)lines, .size = strlen(lines)};
	struct attempt_costs attempt_costs = {0};

	text_set(past.outcome, sizeof(past.outcome), outcome ? outcome : "");
	attempt_costs_read(&attempt_costs, &past, "", newest, &ledger);
	free(attempt_costs.bar.phases);
	return attempt_costs;
}

static struct attempt_costs read_account(const char *outcome, const char *end_about,
					 const char *lines)
{
	return read_one(outcome, end_about, false, lines);
}

static struct attempt_costs_sum sum_of(const struct attempt_costs *items, size_t count)
{
	struct attempt_costs_sum sum = {0};

	attempt_costs_add(&sum, items, count);
	return sum;
}

static double real_of(json_t *json, const char *name)
{
	return json_number_value(json_object_get(json, name));
}

static void test_a_preempted_attempt(void **state)
{
	struct attempt_costs attempt_costs = read_account(
		"preempted", "{\"ran_ms\":9000}",
		"{\"event\":\"restored\",\"monotonic_ms\":900,\"seconds\":0.5}\n"
		"{\"event\":\"launched\",\"monotonic_ms\":1000}\n"
		"no JSON\n"
		"{\"event\":\"notice\",\"kind\":\"advice\",\"source\":\"gcp\",\"monotonic_ms\":"
		"4000}\n"
		"{\"event\":\"durable\",\"monotonic_ms\":6000,\"seconds\":1.0,\"age\":2.0}\n"
		"{\"event\":\"notice\",\"kind\":\"stop\",\"source\":\"aws\",\"seconds_left\":118.5,"
		"\"monotonic_ms\":7000}\n"
		"{\"event\":\"child_exited\",\"monotonic_ms\":10000}\n"
		"{\"event\":\"over\",\"monotonic_ms\":12000}");

	(void)state;
	assert_int_equal(attempt_costs.number, 3);
	assert_string_equal(attempt_costs.host, "node-7");
	assert_string_equal(attempt_costs.source, "aws");
	assert_true(attempt_costs.notice_seconds == 118.5);
	assert_int_equal(attempt_costs.ran_ms, 9000);
	assert_int_equal(attempt_costs.restore_ms, 500);
	/* what is durable was written at 4000, and known to be complete a second later */
	assert_int_equal(attempt_costs.lost_ms, 6000);
	assert_true(attempt_costs.interrupted && !attempt_costs.at_least);
}

static void test_ends_of_other_kinds(void **state)
{
	static const char lines[] = "{\"event\":\"launched\",\"monotonic_ms\":1000}\n"
				    "{\"event\":\"checkpoint_complete\",\"monotonic_ms\":5000}\n";
	struct attempt_costs vanished = read_account(NULL, NULL, lines);
	struct attempt_costs failed = read_account("failed", "{\"ran_ms\":70}", lines);
	struct attempt_costs silent = read_account(NULL, NULL, "");

	(void)state;
	assert_string_equal(vanished.outcome, "lost without a word");
	assert_true(vanished.interrupted && vanished.at_least);
	assert_int_equal(vanished.ran_ms, 4000);
	assert_int_equal(vanished.lost_ms, 4000);
	assert_false(failed.interrupted);
	assert_int_equal(failed.lost_ms, 4000);
	assert_int_equal(failed.ran_ms, 70);
	assert_int_equal(silent.ran_ms, -1);
	assert_int_equal(silent.lost_ms, -1);
}

/* A killed attempt is known by its snapshots too: it ran at least until the newest of them. */
static void test_what_snapshots_say_of_a_vanished_attempt(void **state)
{
#define LAUNCHED \
	"{\"event\":\"launched\",\"time\":\"2026-11-21T08:00:10.000Z\",\"monotonic_ms\":1000}\n"
	static const struct {
		const char *saved, *lines;
		int64_t ran_ms, lost_ms, kept_ms;
	} rows[] = {
		{"", "", -1, -1, -1},
		{"", LAUNCHED, 0, 0, 0},
		/* without a ledger, from the claim */
		{"2026-11-21T08:00:15.500Z", "", 15500, -1, 15500},
		{"2026-11-21T08:00:15.500Z", LAUNCHED, 5500, 0, 5500},
		/* the ledger knows of a later moment */
		{"2026-11-21T08:00:15Z",
		 LAUNCHED "{\"event\":\"durable\",\"monotonic_ms\":6000}\n"
			  "{\"event\":\"x\",\"monotonic_ms\":9000}",
		 8000, 3000, 5000},
		/* a clock that was put back says nothing */
		{"2026-11-21T07:00:00Z", "", -1, -1, -1},
		{"2026-11-21T07:00:00Z", LAUNCHED, 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt_summary past = {.number = 3, .created = "2026-11-21T08:00:00Z"};
		struct bytes ledger = {.data = (uint8_t *)rows[i].lines,
				       .size = strlen(rows[i].lines)};
		struct attempt_costs costs = {0};

		attempt_costs_read(&costs, &past, rows[i].saved, false, &ledger);
		free(costs.bar.phases);
		if (costs.ran_ms != rows[i].ran_ms || costs.lost_ms != rows[i].lost_ms ||
		    costs.kept_ms != rows[i].kept_ms || !costs.at_least)
			fail_msg("row %zu: ran %lld, lost %lld, kept %lld", i,
				 (long long)costs.ran_ms, (long long)costs.lost_ms,
				 (long long)costs.kept_ms);
	}
#undef LAUNCHED
}

/* Only a later attempt says of one without an end that it is over. */
static void test_the_newest_may_still_run(void **state)
{
	static const struct {
		const char *outcome;
		bool newest;
		const char *said;
		bool interrupted, at_least;
		int64_t lost_ms;
	} rows[] = {
		{NULL, false, "lost without a word", true, true, 4000},
		{NULL, true, "running or vanished", false, true, -1},
		{"preempted", true, "preempted", true, false, 4000},
		{"not_durable", true, "not_durable", true, false, 4000},
		{"finished", true, "finished", false, false, 0},
		/* Work is lost whoever has ended it; an interruption is the machine's. */
		{"failed", true, "failed", false, false, 4000},
		{"stopped", true, "stopped", false, false, 4000},
	};
	static const char lines[] = "{\"event\":\"launched\",\"monotonic_ms\":1000}\n"
				    "{\"event\":\"checkpoint_complete\",\"monotonic_ms\":5000}\n";

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt_costs attempt_costs =
			read_one(rows[i].outcome, NULL, rows[i].newest, lines);
		struct attempt_costs_sum sum = sum_of(&attempt_costs, 1);

		assert_string_equal(attempt_costs.outcome, rows[i].said);
		assert_int_equal(attempt_costs.interrupted, rows[i].interrupted);
		assert_int_equal(attempt_costs.at_least, rows[i].at_least);
		assert_int_equal(attempt_costs.lost_ms, rows[i].lost_ms);
		assert_int_equal(attempt_costs.ran_ms, 4000);
		assert_int_equal(sum.interruptions, rows[i].interrupted);
		assert_int_equal(sum.lost_ms, rows[i].lost_ms > 0 ? rows[i].lost_ms : 0);
	}
}

static void test_nothing_is_saved_without_a_snapshot(void **state)
{
	struct attempt_costs attempt_costs =
		read_account("not_durable", "{\"ran_ms\":4014}",
			     "{\"event\":\"launched\",\"monotonic_ms\":1000}\n"
			     "{\"event\":\"child_exited\",\"monotonic_ms\":5000}\n");
	struct attempt_costs_sum sum = sum_of(&attempt_costs, 1);

	(void)state;
	assert_int_equal(attempt_costs.lost_ms, 4000);
	assert_int_equal(sum.saved_ms, 0);
	assert_false(sum.at_least);
}

/* What the supervisor has counted at the end stands; events alone do not tell when work ended. */
static void test_what_was_counted_at_the_end(void **state)
{
	static const struct {
		const char *outcome, *ended;
		int64_t lost_ms, kept_ms, unsaved_ms;
	} rows[] = {
		{"preempted", "\"lost\":0.25,\"kept\":4.5", 250, 4500, -1},
		{"preempted", "\"lost\":0,\"kept\":4.5", 0, 4500, -1},
		{"stopped", "\"lost\":1.5,\"kept\":0", 1500, 0, -1},
		{"failed", "\"lost\":1.5,\"kept\":4.5", 1500, 4500, -1},
		/* What has finished has lost nothing, and what came after its last save is said. */
		{"finished", "\"lost\":1.5,\"kept\":4.5", 0, 9000, 1500},
		/* of an attempt of before this was counted, and of none that can be believed */
		{"preempted", "\"outcome\":\"preempted\"", 6000, 3000, -1},
		{"preempted", "\"lost\":-1,\"kept\":4.5", 6000, 3000, -1},
		{"preempted", "\"lost\":\"all\",\"kept\":4.5", 6000, 3000, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_free char *lines =
			text_format("{\"event\":\"launched\",\"monotonic_ms\":1000}\n"
				    "{\"event\":\"durable\",\"monotonic_ms\":6000,\"seconds\":1.0,"
				    "\"age\":2.0}\n"
				    "{\"event\":\"child_exited\",\"monotonic_ms\":10000}\n"
				    "{\"event\":\"ended\",\"monotonic_ms\":12000,%s}\n",
				    rows[i].ended);
		struct attempt_costs costs =
			read_account(rows[i].outcome, "{\"ran_ms\":9000}", lines);

		if (costs.lost_ms != rows[i].lost_ms || costs.kept_ms != rows[i].kept_ms ||
		    costs.unsaved_ms != rows[i].unsaved_ms)
			fail_msg("row %zu: lost %lld, kept %lld, unsaved %lld", i,
				 (long long)costs.lost_ms, (long long)costs.kept_ms,
				 (long long)costs.unsaved_ms);
	}
}

static void test_what_is_not_known_is_marked_in_the_sum(void **state)
{
	struct attempt_costs silent = read_account(NULL, NULL, "");
	struct attempt_costs_sum sum = sum_of(&silent, 1), all = {0};

	(void)state;
	assert_true(sum.at_least);
	attempt_costs_add(&all, &silent, 1);
	assert_true(all.at_least);
}

static void test_sums_and_cost(void **state)
{
	static const struct attempt_costs items[] = {
		{.ran_ms = 10 * HOUR,
		 .lost_ms = 1 * HOUR,
		 .kept_ms = 9 * HOUR,
		 .interrupted = true,
		 .source = "aws",
		 .machines = 1},
		{.ran_ms = 5 * HOUR,
		 .lost_ms = 5 * HOUR,
		 .interrupted = true,
		 .restore_ms = HOUR,
		 .machines = 1},
		{.ran_ms = -1, .lost_ms = -1, .kept_ms = -1, .restore_ms = -1, .machines = 1},
		{.ran_ms = 3 * HOUR, .kept_ms = 3 * HOUR, .machines = 1},
	};
	struct attempt_costs_sum sum = sum_of(items, 4), twice = sum;
	auto_json json_t *all = attempt_costs_sum_json(&sum, &(struct report_prices){1, 3});
	auto_free char *text = json_fill(attempt_costs_sentence, all);

	(void)state;
	assert_int_equal(sum.attempts, 4);
	assert_int_equal(sum.interruptions, 2);
	assert_int_equal(sum.announced, 1);
	assert_int_equal(sum.ran_ms, 18 * HOUR);
	assert_int_equal(sum.lost_ms, 6 * HOUR);
	/* the second end would have taken nothing that counts */
	assert_int_equal(sum.saved_ms, 9 * HOUR);
	/* of the 19 hours that were paid for */
	assert_int_equal((int)(100 * real_of(all, "goodput")), 63);
	assert_int_equal((int)(100 * real_of(all, "goodput_without")), 15);
	assert_string_equal(text,
			    "Of 19 h 0 min paid for, 12 h 0 min count, 6 h 0 min are lost and 1 h "
			    "0 min went into "
			    "restoring, saving and ending. Without checkpoints, 9 h 0 min of what "
			    "counts would be lost too.");
	assert_true(real_of(all, "spot_cost") == 19 && real_of(all, "on_demand_cost") == 36 &&
		    real_of(all, "saved_cost") == 17);
	attempt_costs_add(&twice, items, 4);
	assert_int_equal(twice.ran_ms, 36 * HOUR);
	assert_int_equal(twice.saved_ms, 18 * HOUR);
	assert_int_equal(twice.announced, 2);
}

/* A gang's attempt is one, which lasts as long as one machine, and costs as much as all. */
static void test_a_gang(void **state)
{
	static const struct {
		const char *about;
		uint32_t machines;
	} rows[] = {
		{"{}", 1},
		{"{\"gang\":{\"members\":4}}", 4},
		{"{\"gang\":{\"members\":0}}", 1},
		{"{\"gang\":{\"members\":1000000}}", 1},
		{"{\"gang\":7}", 1},
	};
	static const struct attempt_costs items[] = {
		{.ran_ms = 10 * HOUR,
		 .lost_ms = 1 * HOUR,
		 .kept_ms = 9 * HOUR,
		 .interrupted = true,
		 .machines = 4},
		{.ran_ms = 5 * HOUR, .kept_ms = 5 * HOUR, .restore_ms = HOUR, .machines = 2},
	};
	struct attempt_costs_sum sum = sum_of(items, 2);
	auto_json json_t *all = attempt_costs_sum_json(&sum, &(struct report_prices){1, 3});
	struct bytes nothing = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_json json_t *about = json_loads(rows[i].about, 0, NULL);
		struct attempt_summary past = {.number = 1, .about = about};
		struct attempt_costs attempt_costs = {0};

		attempt_costs_read(&attempt_costs, &past, "", true, &nothing);
		assert_int_equal(attempt_costs.machines, rows[i].machines);
	}
	assert_int_equal(sum.attempts, 2);
	assert_int_equal(sum.ran_ms, 15 * HOUR);
	assert_true(real_of(all, "spot_cost") == 40 + 12);
	assert_true(real_of(all, "on_demand_cost") == 3 * (36 + 10));
}

/* Its job may well have finished: nobody goes on from that. */
static void test_a_superseded_attempt(void **state)
{
	static const char lines[] =
		"{\"event\":\"launched\",\"monotonic_ms\":1000}\n"
		"{\"event\":\"durable\",\"monotonic_ms\":6000,\"seconds\":1.0,\"age\":2.0}\n"
		"{\"event\":\"child_exited\",\"monotonic_ms\":10000}\n";
	static const struct {
		const char *end_about, *outcome;
		uint32_t by;
		int64_t lost_ms;
	} rows[] = {
		{"{\"superseded_by\":4}", "superseded by 4", 4, 6000},
		{"{}", "finished", 0, 0},
		/* of no later attempt */
		{"{\"superseded_by\":3}", "finished", 0, 0},
		{"{\"superseded_by\":-1}", "finished", 0, 0},
		{"{\"superseded_by\":4294967300}", "finished", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt_costs costs = read_account("finished", rows[i].end_about, lines);

		assert_string_equal(costs.outcome, rows[i].outcome);
		assert_int_equal(costs.superseded_by, rows[i].by);
		assert_int_equal(costs.lost_ms, rows[i].lost_ms);
		assert_false(costs.interrupted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_preempted_attempt),
		cmocka_unit_test(test_ends_of_other_kinds),
		cmocka_unit_test(test_what_snapshots_say_of_a_vanished_attempt),
		cmocka_unit_test(test_the_newest_may_still_run),
		cmocka_unit_test(test_nothing_is_saved_without_a_snapshot),
		cmocka_unit_test(test_what_was_counted_at_the_end),
		cmocka_unit_test(test_what_is_not_known_is_marked_in_the_sum),
		cmocka_unit_test(test_sums_and_cost),
		cmocka_unit_test(test_a_gang),
		cmocka_unit_test(test_a_superseded_attempt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
