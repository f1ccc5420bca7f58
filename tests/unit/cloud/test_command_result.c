/* What the end of a notice command means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cloud/command_result.h"

#include <string.h>

#define NOW_MS 50000
#define NOW_WALL_MS 1775944800000

static void ends(void **state)
{
	// clang-format off
	static const struct {
		const char *name;
		bool ended;
		int code;
		const char *text;
		enum verdict_kind kind;
		enum notice_kind notice;
		const char *identity;
		int64_t left_ms;
	} rows[] = {
		{"says so", true, 0, "", VERDICT_POSITIVE, NOTICE_STOP,
			"command-f97691246db266f1", 30000},
		{"in words", true, 0, "node drain\n", VERDICT_POSITIVE, NOTICE_STOP,
			"command-f97691246db266f1", 30000},
		{"in JSON", true, 0, "{\"id\": \"e7\", \"in_seconds\": 90}", VERDICT_POSITIVE,
			NOTICE_STOP, "e7", 90000},
		{"an identity in two lines", true, 0,
			"{\"id\": \"e\\n7\"}", VERDICT_POSITIVE, NOTICE_STOP, "e 7", 30000},
		{"advice", true, 0, "{\"kind\": \"advice\"}", VERDICT_POSITIVE, NOTICE_ADVICE,
			"command-f97691246db266f1", 0},
		{"always answers",
			true, 0, "{\"kind\": \"none\"}", VERDICT_NEGATIVE, NOTICE_CANCELLED, "", 0},
		{"in the words of watch --json", true, 0,
			"{\"event\": \"notice\", \"kind\": \"cancelled\", \"reason\": \"over\"}",
			VERDICT_NEGATIVE, NOTICE_CANCELLED, "", 0},
		{"a kind that is not known", true, 0, "{\"kind\": \"bogus\"}", VERDICT_POSITIVE,
			NOTICE_STOP, "command-f97691246db266f1", 30000},
		{"none", true, 1, "", VERDICT_NEGATIVE, NOTICE_NONE, "", 0},
		{"none, with words", true, 1, "terminate", VERDICT_NEGATIVE, NOTICE_NONE, "", 0},
		{"fails", true, 2, "terminate", VERDICT_UNKNOWN, NOTICE_NONE, "", 0},
		{"is not there", true, 127, "", VERDICT_UNKNOWN, NOTICE_NONE, "", 0},
		{"is not executable", true, 126, "", VERDICT_UNKNOWN, NOTICE_NONE, "", 0},
		{"died of a signal", true, 143, "", VERDICT_UNKNOWN, NOTICE_NONE, "", 0},
		{"hangs", false, 0, "terminate", VERDICT_UNKNOWN, NOTICE_NONE, "", 0},
		{"half of JSON", true, 0, "{\"kind\":", VERDICT_UNKNOWN, NOTICE_NONE, "", 0},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct command_result end = {
			.command = "probe",
			.ended = rows[i].ended,
			.code = rows[i].code,
			.text = rows[i].text,
			.size = strlen(rows[i].text),
			.seen_ms = NOW_MS,
			.seen_wall_ms = NOW_WALL_MS,
		};
		struct verdict verdict;

		command_result_judge(&end, &verdict);
		if (verdict.kind != rows[i].kind || verdict.notice.kind != rows[i].notice)
			fail_msg("%s: %d", rows[i].name, (int)verdict.kind);
		assert_string_equal(verdict.notice.identity, rows[i].identity);
		if (verdict.notice.kind == NOTICE_STOP)
			assert_int_equal(verdict.notice.deadline_ms - NOW_MS, rows[i].left_ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
