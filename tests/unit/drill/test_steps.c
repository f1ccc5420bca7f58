#include "drill/verdict.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define PROVEN CONTINUATION_PROVEN
#define UNKNOWN CONTINUATION_UNKNOWN
#define ANEW CONTINUATION_ANEW
#define OLDER CONTINUATION_OLDER
#define AHEAD CONTINUATION_AHEAD

// clang-format off
/* What is printed, and which steps and epochs are found in it. -1: none. */
static const struct {
	const char *line;
	double step, epoch;
} lines[] = {
	{"step 120 loss 0.3", 120, -1},
	{"Step [100/500], Loss: 2.1", 100, -1},
	{"{'step': 7, 'epoch': 0.40}", 7, -1},
	{"iter=12", 12, -1},
	{"Epoch 3/10", -1, 3},
	{"epoch: 3.", -1, 3},
	{"resumed from step 118", -1, -1},
	{"reprieve: step 5", -1, -1},
	{"step reprieve: snapshot of step 90", -1, -1},
	{"footstep 5", -1, -1},
	{"loss 0.3", -1, -1},
	{"", -1, -1},
};

/* The job printed `first`..`last`; low..high when it saved, and `before` at the save before that. */
static const struct {
	const char *what;
	struct step_facts facts;
	enum continuation expected;
} counts[] = {
	/* The checkpoint's own step is one of the count: it alone decides. */
	{"the next step", {.first = 1, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 121}, PROVEN},
	{"counted from 0", {.first = 0, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 120}, PROVEN},
	{"each tenth is printed", {.first = 10, .low = 120, .high = 120, .before = 60, .last = 160, .stride = 10, .step = 123, .next = 130}, PROVEN},
	{"never loads", {.first = 1, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 1}, ANEW},
	{"an older one", {.first = 1, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 111}, OLDER},
	{"what no checkpoint has", {.first = 1, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 131}, AHEAD},
	{"resumed before, and from scratch now", {.first = 51, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 1}, ANEW},
	/* The checkpoint names no step, or another count's. */
	{"by the time of the save", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 121}, PROVEN},
	{"its name is an epoch", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = 3, .next = 121}, PROVEN},
	{"a state somewhat older than its file", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 115}, PROVEN},
	{"that of the save before", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 101}, OLDER},
	{"its lines come late", {.first = 1, .low = 60, .high = 60, .before = 1, .last = 200, .stride = 1, .step = -1, .next = 121}, PROVEN},
	{"its file was seen late", {.first = 1, .low = 160, .high = 161, .before = 100, .last = 170, .stride = 1, .step = 120, .next = 121}, PROVEN},
	{"beyond all that was done", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 500}, AHEAD},
	/* Counts that say little. */
	{"saved where it began", {.first = 1, .low = 1, .high = 1, .before = 1, .last = 1, .stride = 1, .step = -1, .next = 1}, UNKNOWN},
	{"the next epoch", {.first = 1, .low = 1, .high = 1, .before = 1, .last = 1, .stride = 1, .step = -1, .next = 2}, PROVEN},
	{"printed each second, and perhaps from scratch", {.first = 50, .low = 100, .high = 100, .before = 50, .last = 200, .stride = 60, .step = -1, .next = 55}, UNKNOWN},
};
// clang-format on

static void what_is_a_step(void **state)
{
	struct step_patterns patterns = {.count = 0};

	(void)state;
	assert_int_equal(step_patterns_make(&patterns, NULL, NULL), 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct job_steps steps = {.each = {{.count = 0}}};
		const double expected[] = {lines[i].step, lines[i].epoch};

		job_steps_add(&steps, &patterns, lines[i].line, strlen(lines[i].line), 5);
		for (size_t kind = 0; kind < STEPS_KINDS; kind++) {
			double got = steps.each[kind].count ? steps.each[kind].items[0].value : -1;

			if (got < expected[kind] || got > expected[kind])
				fail_msg("%s: %g", lines[i].line, got);
		}
		job_steps_release(&steps);
	}
	step_patterns_release(&patterns);
}

static void the_users_pattern_is_the_only_one(void **state)
{
	struct step_patterns patterns = {.count = 0};
	struct job_steps steps = {.each = {{.count = 0}}};
	struct err err;

	(void)state;
	assert_int_equal(step_patterns_make(&patterns, "(Iter|It): ([0-9.]+)", NULL), 0);
	job_steps_add(&steps, &patterns, "step 5 It: 2.5", 14, 5);
	assert_int_equal(steps.each[STEPS_OF_PATTERN].count, 1);
	assert_true(steps.each[STEPS_OF_PATTERN].items[0].value > 2.4);
	assert_int_equal(steps.each[STEPS_OF_EPOCHS].count, 0);
	job_steps_release(&steps);
	step_patterns_release(&patterns);
	assert_int_equal(step_patterns_make(&patterns, "step [0-9]+", &err), -1);
	step_patterns_release(&patterns);
	assert_int_equal(step_patterns_make(&patterns, "step ([0-9]+", &err), -1);
}

/* A line of another kind is left out; steps that begin anew in each epoch say nothing. */
static void steps_that_fall(void **state)
{
	static const struct {
		const char *lines[8];
		size_t count;
		bool fell;
	} rows[] = {
		{{"step 1", "step 2", "best at step 1", "step 3"}, 3, false},
		{{"step 1", "step 2", "step 1", "step 1", "step 2"}, 3, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct step_patterns patterns = {.count = 0};
		struct job_steps steps = {.each = {{.count = 0}}};

		assert_int_equal(step_patterns_make(&patterns, NULL, NULL), 0);
		for (size_t at = 0; rows[i].lines[at]; at++)
			job_steps_add(&steps, &patterns, rows[i].lines[at],
				      strlen(rows[i].lines[at]), 5);
		assert_int_equal(steps.each[STEPS_OF_PATTERN].count, rows[i].count);
		assert_int_equal(steps.each[STEPS_OF_PATTERN].fell, rows[i].fell);
		job_steps_release(&steps);
		step_patterns_release(&patterns);
	}
}

static void each_count(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct step_facts facts = counts[i].facts;

		facts.word = "step";
		facts.counted = facts.next_counted = true;
		if (step_facts_judge(&facts) != counts[i].expected)
			fail_msg("%s: %d", counts[i].what, (int)step_facts_judge(&facts));
	}
}

/* Steps 1..130 at 10 ms each, a save at step 119, and where the next machine begins. */
static struct step_facts facts_of(int from, int64_t first_save, const char *word)
{
	struct step_patterns patterns = {.count = 0};
	struct job_steps steps = {.each = {{.count = 0}}}, next = {.each = {{.count = 0}}};
	struct run_events events, next_events;
	struct step_facts facts;
	char line[40];

	event_log_reader_init(&events);
	event_log_reader_init(&next_events);
	events.commit = (struct run_commit){.id = {1, 1},
					    .checkpoint = {.at_ms = 1200, .captured_ms = 1195},
					    .step = 90};
	events.first_step = 30;
	for (int i = 0; i < 3; i++)
		events.checkpoints[events.checkpoint_count++] =
			(struct run_checkpoint){.at_ms = 400 * i, .step = 30 + 30 * i};
	next_events.first_step = first_save;
	step_patterns_make(&patterns, NULL, NULL);
	for (int i = 1; i <= 130 && word; i++) {
		snprintf(line, sizeof(line), "%s %d", word, i);
		job_steps_add(&steps, &patterns, line, strlen(line), 10 * i);
	}
	for (int i = from; i <= from + 3 && word; i++) {
		snprintf(line, sizeof(line), "%s %d", word, i);
		job_steps_add(&next, &patterns, line, strlen(line), 10 * i);
	}
	facts = step_facts_of(&steps, &events, &next, &next_events);
	step_patterns_release(&patterns);
	job_steps_release(&steps);
	job_steps_release(&next);
	return facts;
}

static void two_machines(void **state)
{
	static const struct {
		int from;
		int64_t first_save;
		const char *word, *counted;
		enum continuation expected;
	} rows[] = {
		{120, -1, "step", "step", PROVEN},
		{1, -1, "step", "step", ANEW},
		{120, -1, "epoch", "epoch", PROVEN},
		{0, 120, NULL, "checkpoint", PROVEN},
		{0, -1, NULL, NULL, UNKNOWN},
		/* Three may be the places of a rotation. */
		{0, 30, NULL, NULL, UNKNOWN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct step_facts facts = facts_of(rows[i].from, rows[i].first_save, rows[i].word);

		assert_int_equal(step_facts_judge(&facts), rows[i].expected);
		if (rows[i].counted)
			assert_string_equal(facts.word, rows[i].counted);
		else
			assert_null(facts.word);
	}
	assert_int_equal(facts_of(120, -1, "step").last, 130);
}

// clang-format off
/* Of a save at step 60, when the drill has seen the line of step 58. */
static const struct {
	double low, step, next;
	bool next_counted, exact;
} saves[] = {
	{60, 60, 0, false, true},
	{58, 60, 0, false, false},
	/* The next machine goes on right behind it. */
	{58, 60, 61, true, true},
	{58, 60, 70, true, false},
	{58, 3, 61, true, false},
	{58, 3, 1, true, false},
	{58, 200, 201, true, false},
};
// clang-format on

static void the_step_of_a_snapshot_is_one_of_the_count(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(saves) / sizeof(saves[0]); i++) {
		struct step_facts facts = {.first = 1, .last = 64, .stride = 1};

		facts.low = facts.high = saves[i].low;
		facts.step = saves[i].step;
		facts.next = saves[i].next;
		facts.next_counted = saves[i].next_counted;
		if (step_facts_are_exact(&facts) != saves[i].exact)
			fail_msg("row %zu", i);
	}
}

static void what_is_lost(void **state)
{
	struct step_facts facts =
		{.low = 119, .high = 121, .last = 130, .stride = 1, .step = 120, .next = 121};

	(void)state;
	assert_int_equal(steps_lost(&facts).most, 10);
	assert_int_equal(steps_lost(&facts).least, 10);
	facts.step = -1;
	facts.next = 100;
	assert_int_equal(steps_lost(&facts).most, 31);
	facts.stride = 50;
	facts.next = 150;
	assert_int_equal(steps_lost(&facts).least, 0);
	assert_int_equal(steps_lost(&facts).most, 79);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_a_step),
		cmocka_unit_test(the_users_pattern_is_the_only_one),
		cmocka_unit_test(steps_that_fall),
		cmocka_unit_test(each_count),
		cmocka_unit_test(two_machines),
		cmocka_unit_test(the_step_of_a_snapshot_is_one_of_the_count),
		cmocka_unit_test(what_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
