/* Who continues from whom: tables of claims and snapshots -> chain and states. */
#include "storage/records/lineage.h"

#include "base/text.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

#define MOST 12

/* "2L1.5": attempt 2, policy latest, from snapshot 1.5, "2L1.5!1.6" and not from 1.6; "N" none, "T"
 * this; "0.0" afresh; "3?" unknown; "2N0.0~" not confirmed. Snapshots: "1.1". */
struct story {
	const char *name;
	const char *claims[MOST];
	const char *snapshots[MOST];
	const char *chain;  /* newest first */
	const char *states; /* in the order of `snapshots`: Good, Late, Abandoned, Suspect */
};

// clang-format off
static const struct story stories[] = {
	{"nothing at all", {NULL}, {NULL}, "", ""},
	{"first attempt, nothing saved", {"1L0.0"}, {NULL}, "", ""},
	{"one attempt", {"1L0.0"}, {"1.1", "1.2"}, "1.2 1.1", "GG"},
	{"simple hand-over", {"1L0.0", "2L1.2"}, {"1.1", "1.2", "2.1"}, "2.1 1.2 1.1", "GGG"},
	{"claimed, nothing saved yet", {"1L0.0", "2L1.2"}, {"1.1", "1.2"}, "1.2 1.1", "GG"},
	{"late commit of the old machine",
		{"1L0.0", "2L1.2"}, {"1.1", "1.2", "1.3", "2.1"}, "2.1 1.2 1.1", "GGLG"},
	{"late commit before anything else was saved",
		{"1L0.0", "2L1.1"}, {"1.1", "1.2"}, "1.1", "GL"},
	{"late commit after a start from nothing", {"1L0.0", "2L0.0"}, {"1.1", "2.1"}, "2.1", "LG"},
	{"two hand-overs in a row",
		{"1L0.0", "2L1.2", "3L1.2"}, {"1.1", "1.2", "2.1", "3.1"}, "3.1 1.2 1.1", "GGLG"},
	{"each one continues",
		{"1L0.0", "2L1.1", "3L2.1"}, {"1.1", "2.1", "3.1"}, "3.1 2.1 1.1", "GGG"},
	{"an older one restored on purpose",
		{"1L0.0", "2T1.1"}, {"1.1", "1.2", "1.3"}, "1.1", "GAA"},
	{"on purpose, across attempts",
		{"1L0.0", "2L1.2", "3T1.1"}, {"1.1", "1.2", "2.1", "3.1"}, "3.1 1.1", "GAAG"},
	{"begun afresh on purpose", {"1L0.0", "2N0.0"}, {"1.1", "2.1"}, "2.1", "AG"},
	{"late first, abandoned later",
		{"1L0.0", "2L1.1", "3T1.1"}, {"1.1", "1.2", "2.1"}, "1.1", "GLA"},
	{"newest were damaged, older one taken",
		{"1L0.0", "2L1.1"}, {"1.1", "1.2", "1.3", "2.1"}, "2.1 1.1", "GLLG"},
	{"a claim again because a commit slipped in",
		{"1L0.0", "2L1.1", "3L1.2"}, {"1.1", "1.2", "3.1"}, "3.1 1.2 1.1", "GGG"},
	{"gap in the numbers", {"1L0.0", "4L1.2"}, {"1.1", "1.2", "4.1"}, "4.1 1.2 1.1", "GGG"},
	{"lost record, without snapshots", {"1L0.0", "3L1.1"}, {"1.1", "1.2"}, "1.1", "GL"},
	{"newest record unreadable, without snapshots",
		{"1L0.0", "2?"}, {"1.1", "1.2"}, "1.2 1.1", "GG"},
	{"record unreadable in the middle",
		{"1L0.0", "2?", "3L2.1"}, {"1.1", "1.2", "2.1", "3.1"}, "3.1 2.1 1.2 1.1", "GGGG"},
	{"no record at all of an attempt with snapshots",
		{"1L0.0"}, {"1.1", "2.1"}, "2.1 1.1", "GG"},
	{"a record that names itself", {"1L0.0", "2L2.1"}, {"1.1", "2.1"}, "2.1 1.1", "GG"},
	{"a record that names the future", {"1L7.1"}, {"1.1"}, "1.1", "G"},
	{"suspect", {"1L0.0", "2L1.1!1.2"}, {"1.1", "1.2", "1.3"}, "1.1", "GSL"},
	{"suspect, and taken again",
		{"1L0.0", "2L1.1!1.2", "3T1.2"}, {"1.1", "1.2"}, "1.2 1.1", "GG"},
	{"killed before the second look: what it did not see is no late commit",
		{"1L0.0", "2L1.1~", "3L1.2"}, {"1.1", "1.2", "3.1"}, "3.1 1.2 1.1", "GGG"},
	{"the same, and nobody came after it",
		{"1L0.0", "2L1.1~"}, {"1.1", "1.2"}, "1.2 1.1", "GG"},
	{"the same, and it was to begin afresh",
		{"1L0.0", "2N0.0~"}, {"1.1", "1.2"}, "1.2 1.1", "GG"},
	{"start names a snapshot that is gone",
		{"1L0.0", "2L1.2"}, {"1.1", "2.1"}, "2.1 1.1", "GG"},
};
// clang-format on

static struct snapshot_id parse_id(const char *text)
{
	struct snapshot_id id;

	assert_int_equal(sscanf(text, "%u.%u", &id.attempt, &id.sequence), 2);
	return id;
}

static struct lineage_attempt parse_claim(const char *text)
{
	struct lineage_attempt attempt = {0};
	char kind;

	assert_int_equal(sscanf(text, "%u%c", &attempt.number, &kind), 2);
	if (kind == '?')
		return attempt;
	attempt.known = true;
	attempt.policy = kind == 'L'   ? RESTORE_LATEST
			 : kind == 'N' ? RESTORE_NONE
				       : RESTORE_SPECIFIC;
	attempt.start = parse_id(strchr(text, kind) + 1);
	attempt.unconfirmed = strchr(text, '~');
	if (strchr(text, '!'))
		attempt.suspect = parse_id(strchr(text, '!') + 1);
	return attempt;
}

static void check(const struct story *story)
{
	struct lineage_attempt attempts[MOST];
	struct snapshot_id snapshots[MOST], chain[MOST];
	struct lineage lineage = {.attempts = attempts, .snapshots = snapshots};
	char text[256] = "", states[MOST + 1] = "";
	uint32_t newest = 0;
	size_t count;

	/* Beyond what there is, nothing is looked at. */
	memset(attempts, 0x5a, sizeof(attempts));
	memset(snapshots, 0x5a, sizeof(snapshots));
	for (; story->claims[lineage.attempt_count]; lineage.attempt_count++)
		attempts[lineage.attempt_count] = parse_claim(story->claims[lineage.attempt_count]);
	for (; story->snapshots[lineage.snapshot_count]; lineage.snapshot_count++)
		snapshots[lineage.snapshot_count] =
			parse_id(story->snapshots[lineage.snapshot_count]);
	for (size_t i = 0; i < lineage.attempt_count; i++)
		newest = attempts[i].number > newest ? attempts[i].number : newest;
	for (size_t i = 0; i < lineage.snapshot_count; i++)
		newest = snapshots[i].attempt > newest ? snapshots[i].attempt : newest;
	if (lineage_newest_attempt(&lineage) != newest)
		fail_msg("%s: newest attempt %u instead of %u", story->name,
			 lineage_newest_attempt(&lineage), newest);
	count = lineage_chain(&lineage, newest, chain);
	for (size_t i = 0; i < count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u.%u", i ? " " : "",
			 chain[i].attempt, chain[i].sequence);
	for (size_t i = 0; i < lineage.snapshot_count; i++) {
		static const char letters[] = {
			[SNAPSHOT_GOOD] = 'G',
			[SNAPSHOT_FENCED] = 'L',
			[SNAPSHOT_SUPERSEDED_BY_RESTORE] = 'A',
			[SNAPSHOT_SUSPECT] = 'S',
		};

		states[i] = letters[lineage_state(&lineage, snapshots[i])];
	}
	if (strcmp(text, story->chain) != 0 || strcmp(states, story->states) != 0)
		fail_msg("%s: chain \"%s\" and states %s instead of \"%s\" and %s", story->name,
			 text, states, story->chain, story->states);
}

static void test_stories(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
		check(&stories[i]);
}

/* Whatever the claims say, even contradictions: a snapshot is good exactly if it is on the chain,
 * and every walk ends. */
static void test_state_and_chain_agree_always(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct lineage_attempt attempts[4];
		struct snapshot_id snapshots[8], chain[8];
		enum snapshot_state states[8];
		struct lineage lineage = {attempts, 4, snapshots, 8};
		size_t count;

		for (uint32_t i = 0; i < 4; i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			attempts[i] = (struct lineage_attempt){
				.number = i + 1,
				.known = random % 8 != 0,
				.unconfirmed = random % 16 == 1,
				.start = {(uint32_t)(random >> 8) % 6,
					  (uint32_t)(random >> 16) % 4},
				.suspect = {(uint32_t)(random >> 24) % 5,
					    (uint32_t)(random >> 32) % 3},
				.policy = (enum restore_policy)(random % 3),
			};
		}
		for (uint32_t i = 0; i < 8; i++)
			snapshots[i] = (struct snapshot_id){i / 2 + 1, i % 2 + 1};
		count = lineage_chain(&lineage, 4, chain);
		lineage_states(&lineage, states);
		for (size_t i = 0; i < 8; i++) {
			bool there = false;

			assert_int_equal(states[i], lineage_state(&lineage, snapshots[i]));
			for (size_t j = 0; j < count; j++)
				there = there || snapshot_id_compare(chain[j], snapshots[i]) == 0;
			assert_int_equal(there,
					 lineage_state(&lineage, snapshots[i]) == SNAPSHOT_GOOD);
		}
		for (size_t j = 1; j < count; j++)
			assert_true(snapshot_id_compare(chain[j - 1], chain[j]) > 0);
	}
}

/* What is asked for, where what is in `there` exists and is found. */
static void test_names_are_asked_for_behind_the_newest_of_each(void **state)
{
	static const struct {
		uint32_t attempts[4];
		const char *listed[4], *there[4], *asked;
	} rows[] = {
		{{0}, {NULL}, {NULL}, ""},
		{{1}, {NULL}, {NULL}, "1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8"},
		/* Each that is there, and numbers that a failed save has taken. */
		{{1},
		 {"1.1", "1.2"},
		 {"1.3", "1.6"},
		 "1.3 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11 1.12 1.13 1.14"},
		{{1, 2},
		 {"1.1"},
		 {"2.1"},
		 "1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 2.9"},
		/* Behind what is forgotten, and before an attempt that has saved nothing. */
		{{1, 2, 4},
		 {"2.7"},
		 {NULL},
		 "2.8 2.9 2.10 2.11 2.12 2.13 2.14 2.15 4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8"},
		/* Of an older one, what is not listed was removed. */
		{{1, 2}, {"1.1", "2.3"}, {"1.2"}, "2.4 2.5 2.6 2.7 2.8 2.9 2.10 2.11"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lineage_attempt attempts[4] = {{0}};
		struct snapshot_id snapshots[MOST];
		struct lineage lineage = {.attempts = attempts, .snapshots = snapshots};
		char text[256] = "", one[32];
		struct snapshot_id id;
		bool there = false;

		while (lineage.attempt_count < 4 && rows[i].attempts[lineage.attempt_count]) {
			attempts[lineage.attempt_count].number =
				rows[i].attempts[lineage.attempt_count];
			lineage.attempt_count++;
		}
		for (size_t j = 0; j < 4 && rows[i].listed[j]; j++)
			snapshots[lineage.snapshot_count++] = parse_id(rows[i].listed[j]);
		id = lineage_ask_next(&lineage, (struct snapshot_id){0});
		while (id.attempt > 0) {
			snprintf(one, sizeof(one), "%u.%u", id.attempt, id.sequence);
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? " " : "", one);
			there = false;
			for (size_t j = 0; j < 4 && rows[i].there[j]; j++)
				there |= strcmp(rows[i].there[j], one) == 0;
			/* Behind all others, in these rows. */
			if (there)
				snapshots[lineage.snapshot_count++] = id;
			id = lineage_ask_next(&lineage, id);
		}
		assert_string_equal(text, rows[i].asked);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_state_and_chain_agree_always),
		cmocka_unit_test(test_names_are_asked_for_behind_the_newest_of_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
