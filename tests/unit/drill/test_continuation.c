#include "drill/continuation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PROVEN CONTINUATION_PROVEN
#define UNKNOWN CONTINUATION_UNKNOWN
#define ANEW CONTINUATION_ANEW
#define OLDER CONTINUATION_OLDER
#define AHEAD CONTINUATION_AHEAD

// clang-format off
/* The job printed `first`..`last`; low..high when it saved, and `before` at the save before that. */
static const struct {
	const char *what;
	struct count_facts facts;
	enum continuation expected;
} counts[] = {
	/* The checkpoint's own step is one of the count: it alone decides. */
	{"the next step", {.first = 1, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 121}, PROVEN},
	{"counted from 0", {.first = 0, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 120}, PROVEN},
	{"each tenth is printed", {.first = 10, .low = 120, .high = 120, .before = 60, .last = 160, .stride = 10, .step = 123, .next = 130}, PROVEN},
	{"never loads", {.first = 1, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 1}, ANEW},
	{"never loads, and ran much longer after the save", {.first = 1, .low = 9, .high = 11, .before = 1, .last = 900, .stride = 1, .step = 10, .next = 1}, ANEW},
	{"an older one", {.first = 1, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 111}, OLDER},
	{"what no checkpoint has", {.first = 1, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 131}, AHEAD},
	{"resumed before, and from scratch now", {.first = 51, .low = 119, .high = 121, .before = 110, .last = 130, .stride = 1, .step = 120, .next = 1}, ANEW},

	/* The checkpoint names no step, or another count's. */
	{"by the time of the save", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 121}, PROVEN},
	{"its name is an epoch", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = 3, .next = 121}, PROVEN},
	{"a state somewhat older than its file", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 115}, PROVEN},
	{"that of the save before", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 101}, OLDER},
	{"never loads", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 1}, ANEW},
	{"its lines come late", {.first = 1, .low = 60, .high = 60, .before = 1, .last = 200, .stride = 1, .step = -1, .next = 121}, PROVEN},
	{"beyond all that was done", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 500}, AHEAD},

	/* Counts that say little. */
	{"saved where it began", {.first = 1, .low = 1, .high = 1, .before = 1, .last = 1, .stride = 1, .step = -1, .next = 1}, UNKNOWN},
	{"the next epoch", {.first = 1, .low = 1, .high = 1, .before = 1, .last = 1, .stride = 1, .step = -1, .next = 2}, PROVEN},
	{"never changes", {.first = 32, .low = 32, .high = 32, .before = 32, .last = 32, .stride = 1, .step = -1, .next = 32}, UNKNOWN},
	{"printed each second, and perhaps from scratch", {.first = 50, .low = 100, .high = 100, .before = 50, .last = 200, .stride = 60, .step = -1, .next = 55}, UNKNOWN},
	{"a bare number that goes on", {.first = 1, .low = 119, .high = 121, .before = 100, .last = 130, .stride = 1, .step = -1, .next = 121, .bare = true}, PROVEN},
	{"a stop watch", {.first = 0, .low = 12, .high = 12, .before = 6, .last = 20, .stride = 1, .step = -1, .next = 0, .bare = true}, UNKNOWN},
	{"a clock", {.first = 1000, .low = 1012, .high = 1012, .before = 1006, .last = 1020, .stride = 1, .step = -1, .next = 1050, .bare = true}, UNKNOWN},

	/* Checkpoints are counted. */
	{"the next checkpoint", {.first = 10, .low = 120, .high = 120, .before = 10, .last = 120, .stride = 10, .step = 120, .next = 130, .saves = true}, PROVEN},
	{"the same again, from the one before", {.first = 10, .low = 120, .high = 120, .before = 10, .last = 120, .stride = 10, .step = 120, .next = 110, .saves = true}, OLDER},
	{"the first checkpoint again", {.first = 10, .low = 120, .high = 120, .before = 10, .last = 120, .stride = 10, .step = 120, .next = 10, .saves = true}, ANEW},
	{"only the last one", {.first = 10, .low = 120, .high = 120, .before = 10, .last = 120, .stride = 10, .step = 120, .next = 5000, .saves = true}, UNKNOWN},
};
// clang-format on

static void each_count(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (continuation_judge(&counts[i].facts) != counts[i].expected)
			fail_msg("%s: %d", counts[i].what, continuation_judge(&counts[i].facts));
}

/* --- two whole machines --- */

/* "12: step 3" for each line: the second at which it was seen; "0: x-10.pt": a file. */
static void add_lines(struct job_log *log, const char *const *lines)
{
	for (; *lines; lines++) {
		int second = 0, skip = 0;

		assert_int_equal(sscanf(*lines, "%d: %n", &second, &skip), 1);
		if (second == 0)
			job_log_add_name(log, *lines + skip);
		else
			job_log_add(log, *lines + skip, strlen(*lines + skip), second * 1000);
	}
}

/* Saves at 10 s and at 20 s. */
static struct run_events saving(int64_t first_step, int64_t step)
{
	struct run_events events;

	event_log_reader_init(&events);
	events.first_step = first_step;
	events.checkpoints[0] = (struct run_checkpoint){10200, 10000, first_step};
	events.checkpoints[1] = (struct run_checkpoint){20200, 20000, step};
	events.checkpoint_count = 2;
	events.commit = (struct run_commit){
		.id = {1, 2},
		.at_ms = 20500,
		.checkpoint = events.checkpoints[1],
		.step = step,
		.written_ms = 20100,
	};
	return events;
}

// clang-format off
static const struct {
	const char *what;
	const char *one[8], *next[8];
	int64_t first_step, step, next_first_step;
	enum continuation expected;
	const char *word;
} machines[] = {
	{"steps", {"1: step 1", "9: step 10", "19: step 20", "25: step 25"}, {"1: step 21"}, -1, -1, -1, PROVEN, "step"},
	{"steps from scratch", {"1: step 1", "9: step 10", "19: step 20", "25: step 25"}, {"1: step 1"}, -1, -1, -1, ANEW, "step"},
	{"a faked line first", {"1: step 1", "9: step 10", "19: step 20"}, {"1: step 21", "2: step 1", "3: step 2"}, -1, -1, -1, UNKNOWN, ""},
	{"epochs go on while their steps begin anew", {"1: epoch 1 step 1", "9: epoch 1 step 9", "19: epoch 1 step 19"}, {"1: epoch 2 step 1"}, -1, -1, -1, PROVEN, "epoch"},
	{"steps of many epochs", {"1: epoch 1 step 1", "9: epoch 1 step 9", "19: epoch 2 step 2"}, {"1: epoch 2 step 3"}, -1, -1, -1, PROVEN, "epoch"},
	{"an older step of the same epoch", {"1: epoch 1, step 1", "9: epoch 1, step 10", "19: epoch 1, step 20"}, {"1: epoch 1, step 11"}, 10, 20, -1, OLDER, "step"},
	{"no step, but checkpoints", {"1: hello"}, {"1: hello"}, 10, 20, 30, PROVEN, "checkpoint"},
	{"names that reprieve has not all seen", {"0: m-10.pt", "0: m-15.pt", "0: m-20.pt"}, {"0: m-25.pt", "0: m-30.pt"}, 10, 20, 60, PROVEN, "checkpoint"},
	{"names, and again from the second", {"0: m-5.pt", "0: m-10.pt", "0: m-15.pt", "0: m-20.pt"}, {"0: m-15.pt"}, 10, 20, -1, OLDER, "checkpoint"},
	{"names of two places in turn", {"0: m-0.pt", "0: m-1.pt", "0: m-0.pt", "0: m-1.pt"}, {"0: m-0.pt"}, -1, 1, -1, UNKNOWN, ""},
	{"names that count something else", {"0: m-1-of-2.pt", "0: m-2-of-2.pt", "0: m-1-of-2.pt"}, {"0: m-1-of-2.pt"}, -1, 20, -1, UNKNOWN, ""},
	{"two places in turn", {"1: hello"}, {"1: hello"}, 0, 1, 0, UNKNOWN, ""},
	{"checkpoints that all name one number", {"1: hello"}, {"1: hello"}, 22, 22, 22, UNKNOWN, ""},
	{"one line before the save, and the interval is seen later", {"19: step 10"}, {"1: step 20", "2: step 30"}, -1, -1, -1, PROVEN, "step"},
	{"one line, and much is left out", {"19: step 10"}, {"1: step 60", "2: step 70"}, -1, -1, -1, AHEAD, "step"},
	{"one line on each, whose interval nobody knows", {"19: step 10"}, {"1: step 20"}, -1, -1, -1, UNKNOWN, ""},
	{"one line, and again from scratch", {"19: step 10"}, {"1: step 10", "2: step 20"}, -1, -1, -1, UNKNOWN, ""},
	{"nothing", {"1: hello"}, {"1: hello"}, -1, -1, -1, UNKNOWN, ""},
};
// clang-format on

static void whole_machines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		auto_(job_log_release) struct job_log one = {0};
		auto_(job_log_release) struct job_log next = {0};
		struct run_events events = saving(machines[i].first_step, machines[i].step);
		struct run_events after;
		struct continuation_facts found;
		struct save_time written;

		event_log_reader_init(&after);
		after.first_step = machines[i].next_first_step;
		add_lines(&one, machines[i].one);
		add_lines(&next, machines[i].next);
		continuation_time_of_save(&events, &written);
		found = continuation_of_machines(&one, &events, &written, &next, &after);
		if (found.continuation != machines[i].expected ||
		    strcmp(found.word, machines[i].word) != 0)
			fail_msg("%s: %d by %s", machines[i].what, found.continuation, found.word);
	}
}

/* Its save came too early, which is no lack of a count. */
static void only_the_next_machine_counts(void **state)
{
	static const char *const one[] = {"1: hello", NULL};
	static const char *const next[] = {"1: step 20", "2: step 30", NULL};
	auto_(job_log_release) struct job_log log = {0};
	auto_(job_log_release) struct job_log next_log = {0};
	struct run_events events = saving(-1, -1), after;
	struct save_time written;

	(void)state;
	event_log_reader_init(&after);
	add_lines(&log, one);
	continuation_time_of_save(&events, &written);
	assert_false(continuation_of_machines(&log, &events, &written, &next_log, &after).counted);
	add_lines(&next_log, next);
	assert_true(continuation_of_machines(&log, &events, &written, &next_log, &after).counted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_count),
		cmocka_unit_test(whole_machines),
		cmocka_unit_test(only_the_next_machine_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
