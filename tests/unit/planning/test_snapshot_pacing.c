/* When a snapshot is begun: a table, and jobs that save at many rates. */
#include "planning/planning.h"

#include "unit.h"

#define NEVER SNAPSHOT_PACING_NEVER
/* The clock of the rows: far from 0, as CLOCK_MONOTONIC is. */
#define NOW 1000000
#define INTERVAL 10000

struct row {
	const char *name;
	struct snapshot_pacing_facts facts; /* now_ms is added */
	int64_t paid_until_ms;
	int64_t wait_ms;
};

// clang-format off
static const struct row rows[] = {
	{"nothing to save", {.interval_ms = INTERVAL}, 0, NEVER},
	{"nothing to save, and a notice", {.interval_ms = INTERVAL, .urgent = true}, 0, NEVER},

	{"a checkpoint, and stillness since",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 60, .last_write_ms = NOW - 60}, 0, 0},
	{"a checkpoint just now",
		{.interval_ms = INTERVAL, .pending_ms = NOW, .last_write_ms = NOW}, 0, 50},
	{"a file that names it was written just now",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 40, .last_write_ms = NOW}, 0, 50},
	{"the writes go on",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 180, .last_write_ms = NOW}, 0, 20},
	{"the writes go on for long",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 5000, .last_write_ms = NOW}, 0, 0},
	{"urgent, just now: what names it is waited for as well",
		{.interval_ms = INTERVAL, .pending_ms = NOW, .last_write_ms = NOW, .urgent = true},
		0, 50},

	{"fixed names are being written",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 1000, .last_write_ms = NOW,
			.replacing_most_ms = 30000}, 0, 29000},
	{"they are not, for all the patience",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 30000, .last_write_ms = NOW,
			.replacing_most_ms = 30000}, 0, 0},
	{"fixed names are being written, and there is a notice",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 500, .last_write_ms = NOW,
			.replacing_most_ms = 2000, .urgent = true}, 0, 1500},
	{"no patience with them is shorter than the settling",
		{.interval_ms = INTERVAL, .pending_ms = NOW, .last_write_ms = NOW,
			.replacing_most_ms = 10, .urgent = true}, 0, 50},

	{"what belongs to the checkpoint is awaited",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 1000, .last_write_ms = NOW - 1000,
			.partners_until_ms = NOW + 800}, 0, 800},
	{"but not for ever",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 29000, .last_write_ms = NOW - 29000,
			.partners_until_ms = NOW + 8000}, 0, 1000},

	{"the second of a few",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 60, .last_write_ms = NOW - 60},
		NOW + INTERVAL, 0},
	{"the third of a few",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 60, .last_write_ms = NOW - 60},
		NOW + 2 * INTERVAL, 0},
	{"the fourth has to wait",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 60, .last_write_ms = NOW - 60},
		NOW + 3 * INTERVAL, INTERVAL},
	{"and not when it is urgent",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 60, .last_write_ms = NOW - 60,
			.urgent = true}, NOW + 3 * INTERVAL, 0},
	{"but two a second, if they go on and on",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 60, .last_write_ms = NOW - 60,
			.urgent = true, .begun_ms = NOW - 100}, NOW + 3 * INTERVAL, 400},
	{"the second one that is urgent follows at once",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 60, .last_write_ms = NOW - 60,
			.urgent = true, .begun_ms = NOW - 100}, NOW + INTERVAL, 0},
	{"the last one of all waits for nothing",
		{.interval_ms = INTERVAL, .pending_ms = NOW - 60, .last_write_ms = NOW - 60,
			.urgent = true, .last = true, .begun_ms = NOW - 100}, NOW + 3 * INTERVAL, 0},
	{"and not without an interval",
		{.pending_ms = NOW - 60, .last_write_ms = NOW - 60}, NOW + 3 * INTERVAL, 0},

	{"running files alone, in the first interval",
		{.interval_ms = INTERVAL, .only_running = true, .launched_ms = NOW - 4000}, 0, 6000},
	{"running files alone, after it",
		{.interval_ms = INTERVAL, .only_running = true, .launched_ms = NOW - 10000}, 0, 0},
	{"running files alone, after the last snapshot",
		{.interval_ms = INTERVAL, .only_running = true, .launched_ms = NOW - 900000,
			.begun_ms = NOW - 4000}, 0, 6000},
	{"running files alone, in a long run: a hundredth of it",
		{.interval_ms = 1000, .only_running = true, .launched_ms = NOW - 900000,
			.begun_ms = NOW - 4000}, 0, 5000},
	{"running files alone, and a notice",
		{.interval_ms = INTERVAL, .only_running = true, .launched_ms = NOW - 4000,
			.urgent = true}, 0, 0},
	{"running files alone, and one just begun at a notice",
		{.interval_ms = INTERVAL, .only_running = true, .launched_ms = NOW - 40000,
			.begun_ms = NOW - 300, .urgent = true}, 0, 700},
	{"a checkpoint beside them does not wait for their interval",
		{.interval_ms = INTERVAL, .only_running = true, .launched_ms = NOW - 4000,
			.pending_ms = NOW - 60, .last_write_ms = NOW - 60}, 0, 0},
};
// clang-format on

static void test_table(void **state)
{
	unsigned failed = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot_pacing_facts facts = rows[i].facts;
		struct snapshot_pacer pacer = {rows[i].paid_until_ms};
		int64_t wait_ms;

		facts.now_ms = NOW;
		wait_ms = snapshot_pacing_wait_ms(&pacer, &facts);
		if (wait_ms == rows[i].wait_ms)
			continue;
		print_error("%s: %lld ms\n", rows[i].name, (long long)wait_ms);
		failed++;
	}
	assert_int_equal(failed, 0);
}

/* --- jobs that save at a rate --- */

#define HOUR 3600000

struct saver {
	int64_t every_ms; /* a checkpoint is complete so often */
	int64_t save_ms;  /* one takes so long */
	int64_t interval_ms;
};

struct course {
	int64_t snapshots;
	int64_t longest_ms;   /* from a checkpoint to the beginning of a snapshot with it or a newer
			       */
	int64_t most_at_once; /* snapshots within one interval */
};

/* An hour of a job, millisecond by millisecond; a snapshot takes one second. */
static struct course run(const struct saver *saver)
{
	struct course course = {0};
	struct snapshot_pacer pacer = {0};
	struct snapshot_pacing_facts facts = {
		.interval_ms = saver->interval_ms,
		.launched_ms = NOW,
	};
	int64_t busy_until_ms = 0, window_ms = NOW, in_window = 0;

	for (facts.now_ms = NOW; facts.now_ms < NOW + HOUR; facts.now_ms++) {
		int64_t phase_ms = (facts.now_ms - NOW) % saver->every_ms;

		if (phase_ms >= saver->every_ms - saver->save_ms)
			facts.last_write_ms = facts.now_ms;
		if (phase_ms == saver->every_ms - 1 && facts.pending_ms == 0)
			facts.pending_ms = facts.now_ms;
		if (facts.now_ms < busy_until_ms || snapshot_pacing_wait_ms(&pacer, &facts) > 0)
			continue;
		snapshot_pacing_note_begun(&pacer, facts.now_ms, saver->interval_ms);
		if (facts.now_ms - facts.pending_ms > course.longest_ms)
			course.longest_ms = facts.now_ms - facts.pending_ms;
		course.snapshots++;
		if (facts.now_ms - window_ms >= saver->interval_ms) {
			window_ms = facts.now_ms;
			in_window = 0;
		}
		if (++in_window > course.most_at_once)
			course.most_at_once = in_window;
		facts.pending_ms = 0;
		busy_until_ms = facts.now_ms + 1000;
	}
	return course;
}

static void test_rates(void **state)
{
	static const int64_t every[] = {20,   100,   300,   999,   1000,  3333,
					9999, 10000, 10001, 25000, 60000, 600000};
	static const int64_t intervals[] = {1000, 10000, 60000};

	(void)state;
	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++)
		for (size_t k = 0; k < sizeof(intervals) / sizeof(intervals[0]); k++) {
			struct saver saver = {every[i], every[i] / 2, intervals[k]};
			struct course course = run(&saver);
			int64_t most = HOUR / saver.interval_ms + SNAPSHOT_PACING_BURST + 1;
			int64_t slower = saver.every_ms > saver.interval_ms ? saver.every_ms
									    : saver.interval_ms;

			/* What the requests cost is bounded. */
			assert_true(course.snapshots <= most);
			assert_true(course.most_at_once <= SNAPSHOT_PACING_BURST + 1);
			/* No checkpoint waits longer than an interval, and what goes before it. */
			assert_true(course.longest_ms <= saver.interval_ms + 1000 + 250);
			/* There is one in each interval, if there is something to save; and one of
			 * each checkpoint of a job that saves seldom. */
			assert_true(course.snapshots >= HOUR / slower - 2);
		}
}

/* Three that follow each other closely after a pause, and then one in each interval again. */
static void test_a_few_after_a_pause(void **state)
{
	struct snapshot_pacer pacer = {0};
	struct snapshot_pacing_facts facts = {.interval_ms = INTERVAL};
	int64_t waits[6];

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		facts.now_ms = NOW + (int64_t)i;
		facts.pending_ms = facts.last_write_ms = facts.now_ms - 100;
		waits[i] = snapshot_pacing_wait_ms(&pacer, &facts);
		if (waits[i] == 0)
			snapshot_pacing_note_begun(&pacer, facts.now_ms, INTERVAL);
	}
	assert_int_equal(waits[0], 0);
	assert_int_equal(waits[1], 0);
	assert_int_equal(waits[2], 0);
	assert_true(waits[3] > INTERVAL - 10 && waits[3] <= INTERVAL);
	/* The pause is no credit for more than these. */
	facts.now_ms = NOW + 100 * INTERVAL;
	facts.pending_ms = facts.last_write_ms = facts.now_ms - 100;
	for (size_t i = 0; i < SNAPSHOT_PACING_BURST; i++) {
		assert_int_equal(snapshot_pacing_wait_ms(&pacer, &facts), 0);
		snapshot_pacing_note_begun(&pacer, facts.now_ms, INTERVAL);
	}
	assert_int_equal(snapshot_pacing_wait_ms(&pacer, &facts), INTERVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_a_few_after_a_pause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
