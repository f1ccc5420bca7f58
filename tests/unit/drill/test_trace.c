#include "base/clock.h"
#include "drill/drill.h"

#include "unit.h"

// clang-format off
static const struct {
	const char *text;
	size_t count; /* 0: it is refused */
	int64_t at_ms, notice_ms; /* of the last one */
} texts[] = {
	{"3600 120\n", 1, 3600000, 120000},
	{"# a day\n\n60\n  90.5 30 # the second\r\n", 2, 90500, 30000},
	{"60\n61", 2, 61000, 0},
	{"", 0, 0, 0},
	{"# nothing\n", 0, 0, 0},
	{"60 1\n60 1\n", 0, 0, 0},
	{"0\n", 0, 0, 0},
	{"-60\n", 0, 0, 0},
	{"60 -1\n", 0, 0, 0},
	{"60 1 2\n", 0, 0, 0},
	{"60s\n", 0, 0, 0},
	{"nan\n", 0, 0, 0},
	{"inf\n", 0, 0, 0},
};
// clang-format on

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		static struct trace trace;
		auto_free char *text = text_copy(texts[i].text);
		struct err err = {0};

		assert_int_equal(trace_parse(text, &trace, &err), texts[i].count ? 0 : -1);
		if (texts[i].count == 0) {
			assert_int_equal(err.kind, ERR_INVALID);
			continue;
		}
		assert_int_equal(trace.count, texts[i].count);
		assert_int_equal(trace.stops[trace.count - 1].at_ms, texts[i].at_ms);
		assert_int_equal(trace.stops[trace.count - 1].notice_ms, texts[i].notice_ms);
	}
}

static void test_gaps_and_goodput(void **state)
{
	static const struct trace trace = {.stops = {{1000, 0}, {4000, 0}}, .count = 2};
	struct lane lane = {.finished = true, .paid_ms = 400};

	(void)state;
	assert_int_equal(trace_gap_ms(&trace, 0, 10), 100);
	assert_int_equal(trace_gap_ms(&trace, 1, 10), 300);
	assert_int_equal(trace_gap_ms(&trace, 2, 10), CLOCK_NEVER);
	assert_true(trace_goodput(&lane, 100) == 0.25);
	lane.finished = false;
	assert_true(trace_goodput(&lane, 100) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_gaps_and_goodput),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
