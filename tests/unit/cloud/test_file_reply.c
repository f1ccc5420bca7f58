/* What a notice file says. */
#include "unit.h"

#include "base/clock.h"
#include "cloud/watcher.h"

#include <stdio.h>
#include <string.h>

/* Seen at 2026-04-11T22:00:00Z, and 50000 on the monotonic clock. */
enum {
	SEEN_MS = 50000
};
#define SEEN_WALL_MS 1775944800000

static void contents(void **state)
{
	// clang-format off
	static const struct {
		const char *name, *text;
		int age_ms;
		enum verdict_kind kind;
		enum notice_kind notice;
		int64_t left_ms;
		const char *reason;
	} rows[] = {
		{"empty", "", 0, VERDICT_POSITIVE, NOTICE_STOP, 30000, "/run/notice is there"},
		{"words", "node is drained\nsecond line", 100, VERDICT_POSITIVE, NOTICE_STOP, 29900,
			"node is drained"},
		{"all", "{\"reason\": \"drain\", \"in_seconds\": 90}", 0, VERDICT_POSITIVE,
			NOTICE_STOP, 90000, "drain"},
		{"counted from its appearing", "{\"in_seconds\": 90}", 60000, VERDICT_POSITIVE,
			NOTICE_STOP, 30000, "/run/notice is there"},
		{"a fraction", "{\"in_seconds\": 1.5}", 0, VERDICT_POSITIVE, NOTICE_STOP, 1500,
			"/run/notice is there"},
		{"a time", "{\"deadline\": \"2026-04-11T22:05:00Z\"}", 999999, VERDICT_POSITIVE,
			NOTICE_STOP, 300000, "/run/notice is there"},
		{"a time that is just over", "{\"deadline\": \"2026-04-11T21:59:30Z\"}", 0,
			VERDICT_POSITIVE, NOTICE_STOP, 0, "/run/notice is there"},
		{"left over", "{\"deadline\": \"2026-04-11T21:00:00Z\"}", 0, VERDICT_NEGATIVE,
			NOTICE_NONE, 0, ""},
		{"left over, without a time", "", 3600000, VERDICT_NEGATIVE, NOTICE_NONE, 0, ""},
		{"nothing but a time", "2026-04-11T22:05:00Z\n", 999999, VERDICT_POSITIVE,
			NOTICE_STOP, 300000, "/run/notice is there"},
		{"nothing but a time that is long over",
			"2026-04-11T21:00:00Z", 0, VERDICT_NEGATIVE, NOTICE_NONE, 0, ""},
		{"a time among words", "gone at 2026-04-11T22:05:00Z", 0, VERDICT_POSITIVE,
			NOTICE_STOP, 30000, "gone at 2026-04-11T22:05:00Z"},
		{"a broken time", "{\"deadline\": \"soon\"}", 0, VERDICT_POSITIVE, NOTICE_STOP,
			30000, "/run/notice is there"},
		{"a negative time", "{\"in_seconds\": -5}", 0, VERDICT_POSITIVE, NOTICE_STOP, 30000,
			"/run/notice is there"},
		{"advice", "{\"kind\": \"advice\", \"reason\": \"later\"}", 3600000,
			VERDICT_POSITIVE, NOTICE_ADVICE, 0, "later"},
		{"cancelled", "{\"kind\": \"cancelled\", \"reason\": \"over\"}", 0,
			VERDICT_NEGATIVE, NOTICE_CANCELLED, 0, ""},
		{"no notice", "{\"kind\": \"none\"}", 0, VERDICT_NEGATIVE, NOTICE_CANCELLED, 0, ""},
		{"a kind that is not known", "{\"kind\": \"bogus\", \"reason\": \"drain\"}", 0,
			VERDICT_POSITIVE, NOTICE_STOP, 30000,
			"drain (its kind \"bogus\" is not known: taken for a stop)"},
		{"in other letters", "{\"kind\": \"Advice\"}", 0, VERDICT_POSITIVE, NOTICE_STOP,
			30000,
			"/run/notice is there (its kind \"Advice\" is not known: taken for a "
			"stop)"},
		{"words that are not UTF-8",
			"caf\xe9 closes", 0, VERDICT_POSITIVE, NOTICE_STOP, 30000, "caf? closes"},
		{"words in two lines", "{\"reason\": \"a\\nb\\u001b[2J\"}", 0, VERDICT_POSITIVE,
			NOTICE_STOP, 30000, "a b [2J"},
		{"being written", "{\"reason\": \"dr", 100, VERDICT_UNKNOWN, NOTICE_NONE, 0, ""},
		{"broken for good", "{\"reason\": \"dr", 2000, VERDICT_POSITIVE, NOTICE_STOP, 28000,
			"/run/notice is there, but its JSON cannot be read"},
	};
	// clang-format on

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct file_content content = {
			.path = "/run/notice",
			.text = rows[i].text,
			.size = strlen(rows[i].text),
			.appeared_wall_ms = SEEN_WALL_MS - rows[i].age_ms,
			.seen_ms = SEEN_MS,
			.seen_wall_ms = SEEN_WALL_MS,
			.settled = rows[i].age_ms > 1000,
		};
		struct verdict verdict;

		file_reply(&content, &verdict);
		if (verdict.kind != rows[i].kind || verdict.notices[0].kind != rows[i].notice)
			fail_msg("%s: %d", rows[i].name, (int)verdict.kind);
		assert_string_equal(verdict.notices[0].reason, rows[i].reason);
		if (verdict.notices[0].kind == NOTICE_STOP)
			assert_int_equal(verdict.notices[0].deadline_ms - SEEN_MS, rows[i].left_ms);
	}
}

/* What has no effect is said, with the names that are known. */
#define KNOWN " (known are kind, reason, deadline, in_seconds)"

static void remarks(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"{\"kind\": \"stop\", \"reason\": \"x\", \"in_seconds\": 9}", ""},
		{"{}", ""},
		{"", ""},
		{"seconds: 90", ""},
		{"{\"seconds\": 90}", "but \"seconds\" is not known" KNOWN},
		{"{\"seconds_left\": 90}", "but \"seconds_left\" is not known" KNOWN},
		{"{\"reasons\": \"x\", \"colour\": 1}",
		 "but \"reasons\" is not known, \"colour\" is not known" KNOWN},
		{"{\"in_seconds\": \"90\"}", "but \"in_seconds\" is no number of seconds"},
		{"{\"in_seconds\": -5}", "but \"in_seconds\" is no number of seconds"},
		{"{\"deadline\": \"soon\"}",
		 "but \"deadline\" is no time (write 2026-04-11T22:05:00Z)"},
		{"{\"deadline\": null}", ""},
		{"{\"id\": \"e7\"}", "but \"id\" is not known" KNOWN},
		{"{\"a\\u001b\\nb\": 1}", "but \"a  b\" is not known" KNOWN},
		{"{\"kind\": \"cancelled\", \"seconds\": 1}", "but \"seconds\" is not known" KNOWN},
		/* As `reprieve watch --json` prints it. */
		{"{\"time\": \"2026-04-11T22:00:00Z\", \"event\": \"notice\", \"kind\": \"stop\", "
		 "\"source\": \"aws\", \"identity\": \"e\", \"reason\": \"x\", \"deadline\": null, "
		 "\"seconds_left\": 9, \"guessed\": false}",
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct file_content content = {
			.path = "/run/notice",
			.text = rows[i].text,
			.size = strlen(rows[i].text),
			.appeared_wall_ms = SEEN_WALL_MS,
			.seen_ms = SEEN_MS,
			.seen_wall_ms = SEEN_WALL_MS,
		};
		struct verdict verdict;

		file_reply(&content, &verdict);
		if (strcmp(verdict.why, rows[i].why) != 0)
			fail_msg("%s: %s", rows[i].text, verdict.why);
	}
}

/* More than fits is cut off. */
static void many_remarks(void **state)
{
	char text[2000] = "{";
	struct file_content content = {.path = "/run/notice", .text = text};
	struct verdict verdict;

	(void)state;
	for (int i = 0; i < 60; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\"unknown-%d\": 1",
			 i ? ", " : "", i);
	strcat(text, "}");
	content.size = strlen(text);
	file_reply(&content, &verdict);
	assert_int_equal(verdict.kind, VERDICT_POSITIVE);
	assert_int_equal(strlen(verdict.why), sizeof(verdict.why) - 1);
}

/* Two long paths that differ in their ends stay two notices. */
static void identity_is_the_paths_end(void **state)
{
	char path[200];
	struct file_content content = {
		.path = path,
		.appeared_wall_ms = 0,
		.seen_ms = 0,
	};
	struct verdict verdict;

	(void)state;
	memset(path, 'd', sizeof(path));
	memcpy(path + sizeof(path) - 5, "/end", 5);
	file_reply(&content, &verdict);
	assert_int_equal(strlen(verdict.notices[0].identity),
			 sizeof(verdict.notices[0].identity) - 1);
	assert_string_equal(verdict.notices[0].identity + strlen(verdict.notices[0].identity) - 4,
			    "/end");
}

/* Only a deadline that the file does not name is a guess. */
static void guessed_deadlines(void **state)
{
	static const struct {
		const char *text;
		bool guessed;
	} rows[] = {
		{"", true},
		{"node is drained", true},
		{"{\"reason\": \"drain\"}", true},
		{"{\"in_seconds\": -5}", true},
		{"{\"deadline\": \"soon\"}", true},
		{"{\"in_seconds\": 1000000000}", true},
		{"{\"in_seconds\": 999999999}", false},
		{"{\"in_seconds\": 0}", false},
		{"{\"in_seconds\": 90}", false},
		{"{\"deadline\": \"2026-04-11T22:05:00Z\"}", false},
		{"2026-04-11T22:05:00Z\n", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct file_content content = {
			.path = "/run/notice",
			.text = rows[i].text,
			.size = strlen(rows[i].text),
			.appeared_wall_ms = SEEN_WALL_MS,
			.seen_ms = SEEN_MS,
			.seen_wall_ms = SEEN_WALL_MS,
		};
		struct verdict verdict;

		file_reply(&content, &verdict);
		assert_int_equal(verdict.kind, VERDICT_POSITIVE);
		if (verdict.notices[0].guessed != rows[i].guessed)
			fail_msg("%s", rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents),          cmocka_unit_test(remarks),
		cmocka_unit_test(many_remarks),      cmocka_unit_test(identity_is_the_paths_end),
		cmocka_unit_test(guessed_deadlines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
