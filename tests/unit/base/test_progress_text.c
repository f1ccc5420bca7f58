/* What a bar, a line and a countdown say: tables. */
#include "base/progress.h"

#include "unit.h"

#include <string.h>

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static void test_lines(void **state)
{
	static const struct {
		struct progress_facts facts;
		const char *line;
	} rows[] = {
		// clang-format off
		{{"restoring", 0, 40 * GIB, 0, 0}, "restoring: 0 B of 40 GiB (0 %)"},
		{{"restoring", 20 * GIB, 40 * GIB, 0, 0}, "restoring: 20 GiB of 40 GiB (50 %)"},
		{{"saving", 20 * GIB, 40 * GIB, 512 * MIB, 0},
			"saving: 20 GiB of 40 GiB (50 %), 512 MiB/s, 40 s left"},
		/* Nothing moves: the rate of a moment ago says nothing, nor does a rate that
		 * would take days. */
		{{"saving", 20 * GIB, 40 * GIB, 512 * MIB, 4999},
			"saving: 20 GiB of 40 GiB (50 %), 512 MiB/s, 40 s left"},
		{{"saving", 20 * GIB, 40 * GIB, 512 * MIB, 5000},
			"saving: 20 GiB of 40 GiB (50 %), nothing moved for 5 s"},
		{{"saving", 20 * GIB, 40 * GIB, 512 * MIB, 125000},
			"saving: 20 GiB of 40 GiB (50 %), nothing moved for 2 min 5 s"},
		{{"saving", 20 * GIB, 40 * GIB, 100000, 0},
			"saving: 20 GiB of 40 GiB (50 %), 98 KiB/s"},
		{{"saving", 0, 40 * GIB, 64 * MIB, 0},
			"saving: 0 B of 40 GiB (0 %), 64 MiB/s, 10 min 40 s left"},
		/* At its end there is nothing left, and nothing that should move. */
		{{"reading", 1000, 1000, 500, 0}, "reading: 1000 B of 1000 B (100 %), 500 B/s"},
		{{"reading", 1000, 1000, 0, 60000}, "reading: 1000 B of 1000 B (100 %)"},
		{{"reading", 999, 1000, 1, 0},
			"reading: 999 B of 1000 B (99 %), 1 B/s, 1 s left"},
		/* More than was thought, an unknown total, and nothing at all. */
		{{"reading", 2000, 1000, 500, 0}, "reading: 2.0 KiB of 1000 B (100 %), 500 B/s"},
		{{"fetching", 2000, 0, 500, 0}, "fetching: 2.0 KiB, 500 B/s"},
		{{"fetching", 2000, 0, 500, 7000}, "fetching: 2.0 KiB, nothing moved for 7 s"},
		{{"reading", 0, 0, 0, 0}, "reading: 0 B"},
		{{NULL, 1, 2, 0, 0}, "1 B of 2 B (50 %)"},
		// clang-format on
	};
	char buffer[160];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(progress_text_line(&rows[i].facts, buffer, sizeof(buffer)),
				    rows[i].line);
}

static void test_countdowns(void **state)
{
	static const struct {
		struct {
			int64_t left_ms;
			const char *doing;
			bool sending;
			struct progress_facts sent;
		} facts;
		const char *text;
	} rows[] = {
		// clang-format off
		{{87000, NULL, true, {"", 3 * GIB, 4 * GIB, 20 * MIB, 0}},
			"preempted: 1 min 27 s left, 3.0 GiB of 4.0 GiB sent, 52 s at this rate"},
		{{30000, NULL, true, {"", 3 * GIB, 4 * GIB, 20 * MIB, 0}},
			"preempted: 30 s left, 3.0 GiB of 4.0 GiB sent, 52 s at this rate: too slow"},
		{{30000, NULL, true, {"", 3 * GIB, 4 * GIB, 20 * MIB, 6000}},
			"preempted: 30 s left, 3.0 GiB of 4.0 GiB sent, nothing moved for 6 s"},
		{{30000, NULL, true, {"", 4 * GIB, 4 * GIB, 20 * MIB, 6000}},
			"preempted: 30 s left, 4.0 GiB of 4.0 GiB sent"},
		{{30000, NULL, true, {"", 0, 0, 0, 0}}, "preempted: 30 s left, 0 B sent"},
		/* Nothing is sent yet, or nothing is known of the end. */
		{{29001, "the job is saving", false, {0}},
			"preempted: 30 s left, the job is saving"},
		{{0, NULL, false, {0}}, "preempted: 0 s left"},
		{{-1, "the job is ending", false, {0}}, "preempted, the job is ending"},
		{{-1, NULL, true, {"", 1, 2, 1, 0}},
			"preempted, 1 B of 2 B sent, 1 s at this rate"},
		// clang-format on
	};
	char buffer[160];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(progress_text_countdown(rows[i].facts.left_ms,
							    rows[i].facts.doing,
							    rows[i].facts.sending
								    ? &rows[i].facts.sent
								    : NULL,
							    buffer, sizeof(buffer)),
				    rows[i].text);
}

static unsigned lines_of_countdown(int64_t from_ms)
{
	int64_t said_ms = from_ms;
	unsigned lines = 0;

	for (int64_t left_ms = from_ms; left_ms >= 0; left_ms -= 250)
		if (countdown_is_worth_a_line(said_ms, left_ms)) {
			said_ms = left_ms;
			lines++;
		}
	return lines;
}

static void test_lines_of_a_countdown(void **state)
{
	(void)state;
	assert_int_equal(lines_of_countdown(3600000), 9);
	assert_int_equal(lines_of_countdown(120000), 4);
	assert_int_equal(lines_of_countdown(30000), 2);
	assert_int_equal(lines_of_countdown(8000), 0);
	assert_int_equal(lines_of_countdown(-1), 0);
}

static void test_short_buffers(void **state)
{
	struct progress_facts facts = {"restoring", 20 * GIB, 40 * GIB, 512 * MIB, 0};
	char buffer[64];

	(void)state;
	for (size_t capacity = 1; capacity < sizeof(buffer); capacity++) {
		memset(buffer, 'x', sizeof(buffer));
		progress_text_line(&facts, buffer, capacity);
		assert_true(strlen(buffer) < capacity);
		progress_text_countdown(87000, NULL, &facts, buffer, capacity);
		assert_true(strlen(buffer) < capacity);
		assert_int_equal(buffer[capacity], 'x');
	}
}

static void test_rate(void **state)
{
	uint64_t rate = 0;

	(void)state;
	assert_int_equal(transfer_rate(0, 1000, 500), 2000);
	assert_int_equal(transfer_rate(2000, 1000, 500), 2000);
	assert_int_equal(transfer_rate(1000, 0, 500), 700);
	assert_int_equal(transfer_rate(1000, 500, 0), 1000);
	for (int i = 0; i < 40; i++)
		rate = transfer_rate(rate, i < 20 ? 1000 : 5000, 1000);
	assert_in_range(rate, 4900, 5000);
}

static void test_a_meter(void **state)
{
	struct transfer_meter meter = transfer_meter_new(1000, 50);

	(void)state;
	transfer_meter_add(&meter, 1100, 150);
	assert_int_equal(meter.rate, 0); /* too early for a rate */
	transfer_meter_add(&meter, 1500, 550);
	assert_int_equal(meter.rate, 1000);
	/* Less than before is a thread that reports late. */
	transfer_meter_add(&meter, 1700, 100);
	assert_int_equal(meter.done, 550);
	assert_int_equal(transfer_meter_facts(&meter, "x", 900, 2500).still_ms, 1000);
	/* After a pause, the rate is measured anew. */
	transfer_meter_add(&meter, 6500, 1550);
	assert_int_equal(meter.rate, 200);
	assert_int_equal(transfer_meter_facts(&meter, "x", 2000, 6500).still_ms, 0);
}

static void test_time_left(void **state)
{
	(void)state;
	assert_int_equal(progress_left_ms(&(struct progress_facts){"x", 0, 1000, 100, 0}), 10000);
	assert_int_equal(progress_left_ms(&(struct progress_facts){"x", 0, 1000, 0, 0}), -1);
	assert_int_equal(progress_left_ms(&(struct progress_facts){"x", 5, 1, 10, 0}), -1);
	assert_int_equal(progress_left_ms(&(struct progress_facts){"x", 0, UINT64_MAX, 1, 0}), -1);
}

static unsigned lines_of_an_hour(bool moves)
{
	int64_t line_ms = -PROGRESS_LINE_BEFORE_MS;
	unsigned lines = 0;

	for (int64_t now_ms = 0; now_ms < 3600000; now_ms += 200)
		if (progress_is_worth_a_line(now_ms - line_ms, moves ? 0 : now_ms)) {
			line_ms = now_ms;
			lines++;
		}
	return lines;
}

/* A store that hangs is worth few lines, and one that works two a minute. */
static void test_lines_of_a_log(void **state)
{
	(void)state;
	assert_false(progress_is_worth_a_line(29999, 0));
	assert_true(progress_is_worth_a_line(30000, 0));
	assert_false(progress_is_worth_a_line(5000, 4999));
	assert_true(progress_is_worth_a_line(5000, 5000));
	assert_false(progress_is_worth_a_line(5000, 20000));
	assert_true(progress_is_worth_a_line(10000, 20000));
	assert_int_equal(lines_of_an_hour(true), 120);
	assert_int_equal(lines_of_an_hour(false), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_countdowns),
		cmocka_unit_test(test_lines_of_a_countdown),
		cmocka_unit_test(test_short_buffers),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_a_meter),
		cmocka_unit_test(test_time_left),
		cmocka_unit_test(test_lines_of_a_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
