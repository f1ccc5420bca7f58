/* Merging: what each further notice means for the whole. */
#include "unit.h"

#include "base/clock.h"
#include "base/text.h"
#include "cloud/cloud.h"

#include <stdio.h>

#define STOP NOTICE_STOP
#define ADVICE NOTICE_ADVICE
#define GONE NOTICE_CANCELLED

struct step {
	enum notice_kind kind;
	const char *source, *identity;
	int64_t deadline;
	enum notice_change change;
	int64_t effective; /* deadline of the stop after it; -1: none */
};

static struct notice make(enum notice_kind kind, const char *source, const char *identity,
			  int64_t deadline)
{
	struct notice notice = {.kind = kind, .deadline_ms = deadline};

	text_set(notice.source, sizeof(notice.source), source);
	text_set(notice.identity, sizeof(notice.identity), identity);
	return notice;
}

static void sequences(void **state)
{
	// clang-format off
	static const struct {
		const char *name;
		struct step steps[6];
	} rows[] = {
		{"the same again", {
			{STOP, "aws", "terminate", 100, NOTICE_FIRST_STOP, 100},
			{STOP, "aws", "terminate", 100, NOTICE_NOTHING_NEW, 100}}},
		{"the same with a later time does not gain time (a mock that counts from each "
			"request; a second SIGTERM)", {
			{STOP, "aws", "terminate", 100, NOTICE_FIRST_STOP, 100},
			{STOP, "aws", "terminate", 130, NOTICE_NOTHING_NEW, 100}}},
		{"the same, sooner", {
			{STOP, "azure", "E1", 100, NOTICE_FIRST_STOP, 100},
			{STOP, "azure", "E1", 50, NOTICE_EARLIER_DEADLINE, 50}}},
		{"two sources, the earlier one counts", {
			{STOP, "aws", "terminate", 100, NOTICE_FIRST_STOP, 100},
			{STOP, "sigterm", "sigterm", 30, NOTICE_EARLIER_DEADLINE, 30},
			{STOP, "file", "/x", 200, NOTICE_NOTHING_NEW, 30}}},
		{"one of two is withdrawn, then the other", {
			{STOP, "azure", "E1", 100, NOTICE_FIRST_STOP, 100},
			{STOP, "azure", "E2", 60, NOTICE_EARLIER_DEADLINE, 60},
			{GONE, "azure", "E2", 0, NOTICE_LATER_DEADLINE, 100},
			{GONE, "azure", "E1", 0, NOTICE_ALL_CANCELLED, -1},
			{GONE, "azure", "E1", 0, NOTICE_NOTHING_NEW, -1},
			{STOP, "azure", "E3", 70, NOTICE_FIRST_STOP, 70}}},
		{"the later of two is withdrawn", {
			{STOP, "azure", "E1", 100, NOTICE_FIRST_STOP, 100},
			{STOP, "azure", "E2", 160, NOTICE_NOTHING_NEW, 100},
			{GONE, "azure", "E2", 0, NOTICE_WITHDRAWN, 100}}},
		{"the same identity of another source is another notice", {
			{STOP, "azure", "E1", 100, NOTICE_FIRST_STOP, 100},
			{GONE, "aws", "E1", 0, NOTICE_NOTHING_NEW, 100}}},
		{"advice, then a stop of the same event, which does not soften", {
			{ADVICE, "azure", "E1", CLOCK_NEVER, NOTICE_NEW_ADVICE, -1},
			{ADVICE, "azure", "E1", CLOCK_NEVER, NOTICE_NOTHING_NEW, -1},
			{STOP, "azure", "E1", 100, NOTICE_FIRST_STOP, 100},
			{ADVICE, "azure", "E1", CLOCK_NEVER, NOTICE_NOTHING_NEW, 100}}},
		{"withdrawn advice is no news of a stop", {
			{ADVICE, "gcp", "maintenance", CLOCK_NEVER, NOTICE_NEW_ADVICE, -1},
			{GONE, "gcp", "maintenance", 0, NOTICE_WITHDRAWN, -1},
			{ADVICE, "gcp", "maintenance", CLOCK_NEVER, NOTICE_NEW_ADVICE, -1}}},
		{"no notice", {
			{NOTICE_NONE, "aws", "", 0, NOTICE_NOTHING_NEW, -1}}},
		{"a stop without a known end", {
			{STOP, "slurm", "end", CLOCK_NEVER, NOTICE_FIRST_STOP, CLOCK_NEVER},
			{STOP, "aws", "terminate", 100, NOTICE_EARLIER_DEADLINE, 100}}},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct notices notices = {0};

		for (size_t j = 0; j < 6 && rows[i].steps[j].source; j++) {
			const struct step *step = &rows[i].steps[j];
			struct notice notice =
				make(step->kind, step->source, step->identity, step->deadline);
			enum notice_change change = notices_add(&notices, &notice);
			const struct notice *stop = notices_stop(&notices);

			if (change != step->change ||
			    (stop ? stop->deadline_ms : -1) != step->effective)
				fail_msg("%s, step %zu", rows[i].name, j);
		}
	}
}

/* However many come, an earlier stop finds room, and advice does not push a stop out. */
static void a_full_table_keeps_what_matters(void **state)
{
	struct notices notices = {0};
	struct notice notice;
	char identity[16];

	(void)state;
	for (int i = 0; i < NOTICES_MOST; i++) {
		snprintf(identity, sizeof(identity), "E%d", i);
		notice = make(i == 3 ? ADVICE : STOP, "azure", identity, 1000 + i);
		notices_add(&notices, &notice);
	}
	notice = make(STOP, "aws", "terminate", 5);
	assert_int_equal(notices_add(&notices, &notice), NOTICE_EARLIER_DEADLINE);
	notice = make(ADVICE, "aws", "rebalance", CLOCK_NEVER);
	assert_int_equal(notices_add(&notices, &notice), NOTICE_NOTHING_NEW);
	notice = make(STOP, "file", "/late", 9999);
	assert_int_equal(notices_add(&notices, &notice), NOTICE_NOTHING_NEW);
	notice = make(STOP, "file", "/soon", 4);
	assert_int_equal(notices_add(&notices, &notice), NOTICE_EARLIER_DEADLINE);
	assert_int_equal(notices.count, NOTICES_MOST);
	assert_int_equal(notices_stop(&notices)->deadline_ms, 4);
}

/* The end of the job's time is no reason to requeue it; any other stop is. */
static void test_what_slurms_limit_is(void **state)
{
	static const struct {
		struct {
			enum notice_kind kind;
			const char *source, *identity;
		} notices[2];
		bool limit;
	} rows[] = {
		{{{.kind = NOTICE_NONE}}, false},
		{{{ADVICE, "aws", "rebalance"}}, false},
		{{{STOP, "slurm", "end"}}, true},
		{{{STOP, "slurm", "end"}, {ADVICE, "aws", "rebalance"}}, true},
		{{{STOP, "slurm", "end"}, {STOP, "sigterm", "signal"}}, false},
		{{{STOP, "slurm", "signal"}}, false},
		/* Another member of the gang has seen it first. */
		{{{STOP, "gang", "1"}, {STOP, "slurm", "end"}}, true},
		{{{STOP, "gang", "1"}}, false},
		{{{STOP, "gang", "1"}, {STOP, "sigterm", "signal"}}, false},
		{{{STOP, "aws", "end"}}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct notices notices = {0};

		for (size_t j = 0; j < 2 && rows[i].notices[j].source; j++) {
			struct notice notice =
				make(rows[i].notices[j].kind, rows[i].notices[j].source,
				     rows[i].notices[j].identity, 1000 + (int64_t)j);

			notices_add(&notices, &notice);
		}
		if (notices_are_slurm_limit(&notices) != rows[i].limit)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences),
		cmocka_unit_test(a_full_table_keeps_what_matters),
		cmocka_unit_test(test_what_slurms_limit_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
