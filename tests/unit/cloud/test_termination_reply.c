/* Canned answers of Alibaba's and Tencent's metadata services. */
#include "answer.h"
#include "unit.h"

#include <string.h>

static void termination_times(void **state)
{
	// clang-format off
	static const struct {
		const struct termination_form *form;
		int status;
		const char *body;
		enum verdict_kind kind;
		int64_t left_ms;
	} rows[] = {
		{&termination_alibaba, 404, "<?xml version=\"1.0\"?><html>", VERDICT_NEGATIVE, 0},
		{&termination_alibaba, 200, "", VERDICT_NEGATIVE, 0},
		{&termination_alibaba, 200, "2026-04-11T22:05:00Z", VERDICT_POSITIVE, 300000},
		{&termination_alibaba, 200, "2026-04-11T22:05:00Z\n", VERDICT_POSITIVE, 300000},
		{&termination_alibaba, 200,
			"2026-04-11T23:05:00Z", VERDICT_POSITIVE, TERMINATION_MOST_MS},
		{&termination_alibaba, 200, "2026-04-11T21:59:30Z", VERDICT_POSITIVE, 0},
		{&termination_alibaba, 200, "2015-01-05T18:02:00Z", VERDICT_NEGATIVE, 0},
		{&termination_alibaba, 200, "soon", VERDICT_UNKNOWN, 0},
		{&termination_alibaba, 200, "<html>2026-04-11T22:05:00Z", VERDICT_UNKNOWN, 0},
		{&termination_alibaba, 200, "{\"error\": 1}", VERDICT_UNKNOWN, 0},
		{&termination_alibaba, 404, "{ \"error\": \"Not found\" }", VERDICT_UNKNOWN, 0},
		{&termination_alibaba, 403, "", VERDICT_UNKNOWN, 0},
		{&termination_alibaba, 429, "", VERDICT_UNKNOWN, 0},
		{&termination_alibaba, 503, "2026-04-11T22:05:00Z", VERDICT_UNKNOWN, 0},
		/* Beijing's time, and without a zone. */
		{&termination_tencent, 200, "2026-04-12 06:02:00", VERDICT_POSITIVE, 120000},
		{&termination_tencent, 200, "2026-04-11T22:02:00Z", VERDICT_POSITIVE, 120000},
		{&termination_tencent, 200, "2026-04-12T06:02:00+08:00", VERDICT_POSITIVE, 120000},
		{&termination_tencent, 200, "2018-08-18 12:05:33", VERDICT_NEGATIVE, 0},
		{&termination_tencent, 404, "", VERDICT_NEGATIVE, 0},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = answer_of(rows[i].status, rows[i].body);
		struct verdict verdict;

		termination_reply(rows[i].form, &reply, &verdict);
		if (verdict.kind != rows[i].kind)
			fail_msg("%d %s: %d", rows[i].status, rows[i].body, (int)verdict.kind);
		if (verdict.kind != VERDICT_POSITIVE)
			continue;
		assert_int_equal(verdict.notices[0].kind, NOTICE_STOP);
		assert_int_equal(verdict.notices[0].deadline_ms - NOW_MS, rows[i].left_ms);
		assert_string_equal(verdict.notices[0].source, rows[i].form->source);
	}
}

static void instance_ids(void **state)
{
	static const struct {
		const struct termination_form *form;
		int status;
		const char *body;
		bool good;
	} rows[] = {
		{&termination_alibaba, 200, "i-bp67acfmxazb4p", true},
		{&termination_alibaba, 200, "i-", false},
		{&termination_alibaba, 200, "<html>", false},
		{&termination_alibaba, 404, "i-bp67acfmxazb4p", false},
		{&termination_tencent, 200, "ins-3a4b5c", true},
		{&termination_tencent, 200, "i-bp67acfmxazb4p", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reply reply = answer_of(rows[i].status, rows[i].body);

		assert_int_equal(termination_instance_reply(rows[i].form, &reply), rows[i].good);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(termination_times),
		cmocka_unit_test(instance_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
