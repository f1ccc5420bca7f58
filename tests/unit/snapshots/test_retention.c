/* What is kept, and why: tables of snapshots and policies -> reasons; of packs -> verdicts. */
#include "storage/snapshots/forget.h"

#include "base/text.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 12
#define HOUR_MS 3600000LL
/* Beside the `last` of a story: and the last of each day. */
#define DAILY 100

/*
 * A snapshot, newest first: "3-2 G 1200 10h tag" is id, state (Good, Late, Abandoned, Damaged,
 * Suspect, lower-case n: of a newer version), step or -, age in hours before `now` or ? for
 * unreadable, and behind it any of: * newest, s started from, p pinned, #tag. Reasons per snapshot:
 * letters in order, "." for forgotten: N newest, > newer, S start, P pinned, U unknown, L last, D
 * last of its day, W within, E every, T tag. (`now` is 8 o'clock: 0 to 8 hours ago is today.)
 */
struct story {
	const char *name;
	const char *items[MOST];
	uint32_t last;
	int64_t within_h, every;
	const char *tags[3];
	const char *reasons;
};

static const struct story stories[] = {
	// clang-format off
	{"nothing at all", {NULL}, 3, 0, 0, {NULL}, ""},
	{"the newest good one survives an empty policy",
		{"1-3 G 30 1 *", "1-2 G 20 2", "1-1 G 10 3"}, 0, 0, 0, {NULL}, "N . ."},
	{"last", {"1-4 G 40 1 *", "1-3 G 30 2", "1-2 G 20 3", "1-1 G 10 4"}, 2, 0, 0, {NULL},
		"NL L . ."},
	{"last, more than there are", {"1-2 G 20 1 *", "1-1 G 10 2"}, 9, 0, 0, {NULL}, "NL L"},
	{"late and damaged ones do not count, and damaged ones stay as long as good ones would",
		{"3-1 G 50 1 *", "2-1 L 30 3", "1-4 D - ?", "1-3 D 25 4", "1-2 G 20 4",
			"1-1 D 10 5"},
		2, 0, 0, {NULL}, "NL . L L L ."},
	{"so does a suspect one",
		{"5-1 G 30 1 *", "1-2 S 20 4", "1-1 G 10 4 s"}, 2, 0, 0, {NULL}, "NL L SL"},
	{"every: a damaged first one of a range is no reason to lose the next, nor is the next one",
		{"1-5 G 2500 1 *", "1-4 D 1600 2", "1-3 G 1500 3", "1-2 D 1000 4", "1-1 G 500 5"},
		0, 0, 1000, {NULL}, "NE . E E E"},
	{"abandoned ones count among themselves",
		{"3-1 G 50 1 *",
			"2-3 A 45 1", "2-2 A 40 2", "2-1 A 30 3", "1-2 G 20 4", "1-1 G 10 5"},
		2, 0, 0, {NULL}, "NL L L . L ."},
	{"a new line's first commit does not end the old one",
		{"2-1 G 10 1 *", "1-3 A 30 2", "1-2 A 20 3", "1-1 A 10 4"}, 5, 0, 0, {NULL},
			"NL L L L"},
	{"what an attempt started from",
		{"3-1 G 50 1 *", "2-1 G 40 2 s", "1-2 L 30 3", "1-1 G 20 4 s"}, 1, 0, 0, {NULL},
			"NL S . S"},
	{"pinned", {"1-3 G 30 1 *", "1-2 G 20 2 p", "1-1 L 10 3 p"}, 1, 0, 0, {NULL}, "NL P P"},
	{"pinned and started from", {"2-1 G 30 1 *", "1-1 G 10 3 ps"}, 1, 0, 0, {NULL}, "NL SP"},
	{"damaged ones newer than the newest good one stay",
		{"1-4 D 40 1", "1-3 D - ?", "1-2 G 20 3 *", "1-1 G 10 4"}, 1, 0, 0, {NULL},
			">L >L NL ."},
	{"no good one at all: everything stays",
		{"1-2 D 20 1", "1-1 D 10 2"}, 1, 0, 0, {NULL}, ">L >L"},
	{"of a newer version",
		{"1-3 G 30 1 *", "1-2 n - ?", "1-1 G 10 3"}, 1, 0, 0, {NULL}, "NL U ."},
	{"within, seen from the newest",
		{"1-4 G 40 100 *", "1-3 G 30 101", "1-2 G 20 102", "1-1 G 10 103"}, 0, 2, 0, {NULL},
			"NW W W ."},
	{"within: a clock in the future makes nobody else old",
		{"1-3 G 30 -1000 *", "1-2 G 20 1", "1-1 G 10 3"}, 0, 2, 0, {NULL}, "NW W ."},
	{"within: late and abandoned ones have an age too",
		{"2-1 G 30 1 *", "1-3 L 30 1", "1-2 A 20 2", "1-1 L 10 9"}, 0, 2, 0, {NULL},
			"NW W W ."},
	{"within: an unknown age is young",
		{"1-3 G 30 1 *", "1-2 D - ?", "1-1 G 10 9"}, 0, 2, 0, {NULL}, "NW W ."},
	{"every: exact multiples",
		{"1-6 G 2500 1 *", "1-5 G 2000 2", "1-4 G 1500 3", "1-3 G 1100 4", "1-2 G 1000 5",
			"1-1 G 500 6"}, 0, 0, 1000, {NULL},
		"N E . . E E"},
	{"every: steps that never meet it",
		{"1-4 G 2999 1 *", "1-3 G 1999 2", "1-2 G 1500 3", "1-1 G 999 4"}, 0, 0, 1000,
			{NULL}, "NE . E E"},
	{"every: unknown steps and late ones play no part",
		{"2-1 G 2100 1 *", "1-3 L 2000 2", "1-2 G - 3", "1-1 G 1000 4"}, 0, 0, 1000, {NULL},
		"NE . . E"},
	{"every: abandoned ones among themselves",
		{"2-1 G 1100 1 *", "1-4 A 2200 2", "1-3 A 2000 2", "1-2 A 1500 3", "1-1 G 100 4"},
			0, 0, 1000, {NULL},
		"NE . E E E"},
	{"daily: the last of each day, and the day begins at midnight",
		{"1-7 G 70 1 *", "1-6 G 60 8", "1-5 G 50 9", "1-4 G 40 32", "1-3 G 30 33",
			"1-2 G 20 34", "1-1 G 10 80"},
		0 + DAILY, 0, 0, {NULL}, "ND . D . D . D"},
	{"daily and last add up",
		{"1-6 G 60 1 *", "1-5 G 50 2", "1-4 G 40 3", "1-3 G 30 9", "1-2 G 20 10",
			"1-1 G 10 40"},
		2 + DAILY, 0, 0, {NULL}, "NLD L . D . D"},
	{"daily: a damaged one behind the last good one stays with it, and of an unknown day",
		{"1-5 G 50 1 *", "1-4 D 40 9", "1-3 G 30 10", "1-2 D 20 11", "1-1 D - ?"},
		0 + DAILY, 0, 0, {NULL}, "ND D D . D"},
	{"daily: superseded ones among themselves, and no late ones",
		{"3-1 G 50 1 *", "2-1 L 40 9", "1-3 A 30 2", "1-2 A 20 3", "1-1 A 10 9"},
		0 + DAILY, 0, 0, {NULL}, "ND . D . D"},
	{"daily: a wrong clock keeps more, never less",
		{"1-4 G 40 1 *", "1-3 G 30 9000", "1-2 G 20 2", "1-1 G 10 -9000"},
		0 + DAILY, 0, 0, {NULL}, "ND D D D"},
	{"the last one with a step stays behind those without",
		{"1-5 G - 1 *", "1-4 G - 2", "1-3 D 30 3", "1-2 G 20 4", "1-1 G 10 5"},
		1, 0, 0, {NULL}, "NL . . N ."},
	{"without any step, the newest alone is such a one",
		{"1-3 G - 1 *", "1-2 G - 2", "1-1 L 9 3"}, 1, 0, 0, {NULL}, "NL . ."},
	{"tags", {"1-4 G 40 1 *", "1-3 G 30 2 #best", "1-2 D 20 3 #eval", "1-1 G 10 4 #other"}, 0,
		0, 0, {"best", "eval"}, "N T T ."},
	{"rules add up",
		{"1-5 G 50 1 *", "1-4 G 40 2", "1-3 G 30 3 #best", "1-2 G 20 4", "1-1 G 10 5"}, 2,
			0, 40, {"best"}, "NL LE T . E"},
	{"a second look keeps what the first one kept",
		{"1-5 G 50 1 *", "1-4 G 40 2", "1-3 G 30 3 #best", "1-1 G 10 5"}, 2, 0, 40,
			{"best"}, "NL LE T E"},
	// clang-format on
};

static const int64_t now_ms = 1800000000000;

static void parse_age(const char *text, char created[32])
{
	long long hours;
	time_t seconds;
	struct tm broken;

	if (text[0] == '?')
		return;
	assert_int_equal(sscanf(text, "%lld", &hours), 1);
	seconds = (time_t)((now_ms - hours * HOUR_MS) / 1000);
	assert_non_null(gmtime_r(&seconds, &broken));
	strftime(created, 32, "%Y-%m-%dT%H:%M:%S.000Z", &broken);
}

static struct snapshot_info parse_item(const char *text)
{
	struct snapshot_info info = {.step = -1};
	char id[24], state, step[24], age[24], flags[32] = "";

	assert_true(sscanf(text, "%23s %c %23s %23s %31s", id, &state, step, age, flags) >= 4);
	assert_true(snapshot_id_parse(id, &info.id));
	info.state = state == 'G'   ? SNAPSHOT_GOOD
		     : state == 'L' ? SNAPSHOT_FENCED
		     : state == 'A' ? SNAPSHOT_SUPERSEDED_BY_RESTORE
		     : state == 'S' ? SNAPSHOT_SUSPECT
				    : SNAPSHOT_DAMAGED;
	info.newer = state == 'n';
	if (step[0] != '-')
		info.step = atoll(step);
	parse_age(age, info.created);
	if (flags[0] == '#') {
		text_set(info.tag, sizeof(info.tag), flags + 1);
		return info;
	}
	info.newest = strchr(flags, '*') != NULL;
	info.pinned = strchr(flags, 'p') != NULL;
	info.started_from = strchr(flags, 's') != NULL;
	return info;
}

static void check(const struct story *story)
{
	static const char letters[KEEP_REASONS + 1] = "N>SPULDWET";
	struct snapshot_info items[MOST] = {0};
	unsigned reasons[MOST] = {0};
	struct forget_policy policy = {
		.keep_last = story->last % DAILY,
		.keep_daily = story->last >= DAILY,
		.keep_within_ms = story->within_h * HOUR_MS,
		.keep_every = story->every,
		.keep_tags = story->tags,
	};
	char text[128] = "";
	size_t count = 0;

	while (story->tags[policy.keep_tag_count])
		policy.keep_tag_count++;
	for (; story->items[count]; count++)
		items[count] = parse_item(story->items[count]);
	retention_decide(&policy, items, count, now_ms, reasons);
	for (size_t i = 0; i < count; i++) {
		char word[KEEP_REASONS + 2] = "", *at = word;

		for (int reason = 0; reason < KEEP_REASONS; reason++)
			if (reasons[i] & 1u << reason)
				*at++ = letters[reason];
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 word[0] ? word : ".");
	}
	if (strcmp(text, story->reasons) != 0)
		fail_msg("%s: \"%s\" instead of \"%s\"", story->name, text, story->reasons);
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
		check(&stories[i]);
}

static void test_reasons_have_names(void **state)
{
	(void)state;
	for (int i = 0; i < KEEP_REASONS; i++)
		assert_true(keep_reason_name((enum keep_reason)i)[0] != '\0');
}

static void test_packs(void **state)
{
	const int64_t day = 24 * HOUR_MS;
	const struct {
		const char *name;
		struct retention_pack pack;
		struct snapshot_id newest;
		int64_t now_ms, age_ms;
		enum pack_verdict expected;
	} rows[] = {
		// clang-format off
		{"old and unnamed",
			{{2, 3}, false, now_ms - day - 1}, {2, 4}, now_ms, day, PACK_COLLECT},
		{"of the newest snapshot's number",
			{{2, 4}, false, now_ms - day - 1}, {2, 4}, now_ms, day, PACK_COLLECT},
		{"named", {{2, 3}, true, now_ms - 9 * day}, {2, 4}, now_ms, day, PACK_NEEDED},
		{"just young enough",
			{{2, 3}, false, now_ms - day + 1}, {2, 4}, now_ms, day, PACK_DEFER},
		{"from the future", {{2, 3}, false, now_ms + day}, {2, 4}, now_ms, day, PACK_DEFER},
		{"for the snapshot that is under way",
			{{2, 5}, false, now_ms - 9 * day}, {2, 4}, now_ms, day, PACK_DEFER},
		{"left by a killed attempt, nothing newer committed",
			{{3, 1}, false, now_ms - 9 * day}, {2, 4}, now_ms, day, PACK_DEFER},
		{"no good snapshot",
			{{1, 1}, false, now_ms - 9 * day}, {0, 0}, now_ms, day, PACK_DEFER},
		{"of unknown age", {{2, 3}, false, 0}, {2, 4}, now_ms, day, PACK_DEFER},
		{"the store does not tell the time",
			{{2, 3}, false, now_ms - 9 * day}, {2, 4}, 0, day, PACK_DEFER},
		{"young, but nobody else saves",
			{{2, 3}, false, now_ms}, {2, 4}, now_ms, RETENTION_ANY_AGE, PACK_COLLECT},
		{"of unknown age, but nobody else saves",
			{{2, 3}, false, 0}, {2, 4}, 0, RETENTION_ANY_AGE, PACK_COLLECT},
		{"nobody else saves, and we do",
			{{2, 5}, false, 1}, {2, 4}, now_ms, RETENTION_ANY_AGE, PACK_DEFER},
		{"named, whoever saves",
			{{2, 3}, true, 1}, {2, 4}, now_ms, RETENTION_ANY_AGE, PACK_NEEDED},
		{"not one of ours",
			{{0, 0}, false, now_ms - 9 * day}, {2, 4}, now_ms, day, PACK_NEEDED},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (retention_judge_pack(&rows[i].pack, rows[i].newest, rows[i].now_ms,
					 rows[i].age_ms) != rows[i].expected)
			fail_msg("%s", rows[i].name);
}

static void test_pack_keys(void **state)
{
	static const struct {
		const char *key;
		struct snapshot_id id;
	} rows[] = {
		// clang-format off
		{"packs/000003/000012-0123456789abcdef0123456789abcdef-0001.pack", {3, 12}},
		{"packs/1234567/7654321-00-0001.pack", {1234567, 7654321}},
		{"packs/000003/000012-00-0001.pack.bak", {0, 0}},
		{"packs/000003/000012", {0, 0}},
		{"packs/000003/x-00-0001.pack", {0, 0}},
		{"packs/000000/000012-00-0001.pack", {0, 0}},
		{"packs/notes.txt", {0, 0}},
		{"snapshots/000003-000012.json", {0, 0}},
		{"", {0, 0}},
		// clang-format on
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (snapshot_id_compare(retention_pack_id(rows[i].key), rows[i].id) != 0)
			fail_msg("%s", rows[i].key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_reasons_have_names),
		cmocka_unit_test(test_packs),
		cmocka_unit_test(test_pack_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
