/* Which packs are worn: what the newest snapshot needs of them is sent anew. */
#include "storage/transfer/pack_wear.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "storage/format/format.h"

#define PACKS_MOST 6

/* As FORMAT.md lays a pack out: then one of which all is needed has nothing dead. */
static void test_what_is_needed_of_a_pack(void **state)
{
	static const struct {
		uint64_t stored[3];
		size_t count;
		uint64_t used;
	} rows[] = {
		{{0}, 0, 0},
		{{100}, 1, PACK_MAGIC_SIZE + 100 + PACK_RECORD_SIZE + PACK_FOOTER_SIZE},
		{{1, 2, 4}, 3, PACK_MAGIC_SIZE + 7 + 3 * PACK_RECORD_SIZE + PACK_FOOTER_SIZE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pack_wear pack = {0};

		for (size_t j = 0; j < rows[i].count; j++)
			pack_wear_add_chunk(&pack, rows[i].stored[j]);
		assert_int_equal(pack.used, rows[i].used);
	}
}

static void test_which_packs_are_worn(void **state)
{
	static const struct {
		const char *what;
		uint32_t snapshots;
		uint64_t most;
		struct {
			uint64_t bytes, used;
		} packs[PACKS_MOST];
		/* By the positions of the packs. */
		const char *worn;
		uint64_t given_up;
	} rows[] = {
		{"nothing", 1, 0, {{0}}, "", 0},
		{"all of it is needed", 1, 0, {{100, 100}, {50, 50}}, "--", 0},
		{"a third is not", 1, 0, {{100, 50}, {50, 50}}, "--", 0},
		{"just a little more", 1, 0, {{100, 40}, {50, 50}, {30, 10}}, "--w", 10},
		/* As little is sent as frees enough. */
		{"the least use first", 1, 0, {{100, 30}, {100, 10}, {100, 100}}, "-w-", 10},
		{"as many as it takes", 1, 0, {{100, 10}, {100, 12}, {100, 80}}, "ww-", 22},
		{"with the same use, the larger", 1, 0, {{10, 1}, {100, 10}, {50, 50}}, "-w-", 10},
		{"a quarter at once", 1, 0, {{100, 20}, {100, 22}, {58, 58}}, "w--", 20},
		{"between a fifth and a quarter", 1, 22, {{100, 24}, {100, 76}}, "--", 0},
		{"not one that is more than that", 1, 0, {{200, 60}}, "-", 0},
		{"but a smaller one", 1, 0, {{1000, 60}, {100, 20}, {100, 100}}, "-w-", 20},
		{"not more than there was room for",
		 1,
		 11,
		 {{100, 10}, {100, 12}, {100, 80}},
		 "w--",
		 10},
		/* The others may need it. */
		{"of two snapshots", 2, 0, {{100, 25}, {100, 80}}, "--", 0},
		{"of two, and too much", 2, 0, {{200, 10}, {100, 80}}, "w-", 10},
		{"of ten snapshots", 10, 0, {{200, 10}, {100, 80}}, "--", 0},
		{"of a number that is not known", 0, 0, {{200, 10}, {100, 80}}, "--", 0},
		/* A manifest says what it likes. */
		{"more is needed than there is", 1, 0, {{10, 100}, {100, 2}}, "-w", 2},
		{"no size", 1, 0, {{0, 10}, {100, 2}}, "-w", 2},
		{"a large number", 1, 0, {{UINT64_MAX, 1}, {100, 100}}, "w-", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pack_wear packs[PACKS_MOST] = {{0}};
		char worn[PACKS_MOST + 1] = "";
		size_t count = 0;
		const struct pack_wear_bounds bounds = {
			.snapshots = rows[i].snapshots,
			.most = rows[i].most,
		};
		uint64_t given_up;

		while (rows[i].worn[count]) {
			packs[count].bytes = rows[i].packs[count].bytes;
			packs[count].used = rows[i].packs[count].used;
			packs[count++].worn = true;
		}
		given_up = pack_wear_decide(packs, count, &bounds);
		for (size_t j = 0; j < count; j++)
			worn[j] = packs[j].worn ? 'w' : '-';
		printf("%s\n", rows[i].what);
		assert_string_equal(worn, rows[i].worn);
		assert_int_equal(given_up, rows[i].given_up);
	}
}

/* A save sends all of a snapshot at most. So the next one finds room as long as what is dead here
 * leaves so much; what is sent anew for that takes room itself. */
static void test_the_next_snapshot_has_room(void **state)
{
	static const struct {
		const char *what;
		struct pack_wear_bounds bounds;
		struct {
			uint64_t bytes, used;
		} packs[PACKS_MOST];
		const char *worn;
		uint64_t given_up;
	} rows[] = {
		{"just enough", {1, 0, 253, 60, 1}, {{100, 50}, {50, 50}}, "--", 0},
		{"one byte less", {1, 0, 252, 60, 1}, {{100, 50}, {50, 50}}, "w-", 50},
		{"more than a quarter", {1, 1, 252, 60, 1}, {{100, 50}, {50, 50}}, "w-", 50},
		{"as it frees enough", {1, 0, 218, 60, 1}, {{60, 30}, {80, 70}}, "w-", 30},
		{"nothing is dead", {1, 0, 150, 50, 1}, {{100, 100}}, "-", 0},
		{"what is sent anew has no room",
		 {1, 0, 252, 49, 1},
		 {{100, 50}, {50, 50}},
		 "--",
		 0},
		{"in a store for less than two",
		 {1, 0, 180, 60, 1},
		 {{100, 50}, {50, 50}},
		 "w-",
		 50},
		{"three, and one byte less", {2, 0, 352, 60, 2}, {{100, 50}, {50, 50}}, "w-", 50},
		{"three, and just enough", {2, 0, 353, 60, 2}, {{100, 50}, {50, 50}}, "--", 0},
		{"one of two that are to be kept",
		 {1, 0, 252, 60, 2},
		 {{100, 50}, {50, 50}},
		 "--",
		 0},
		/* It has what two share: more is not gained by sharing less. */
		{"for less than three", {2, 0, 302, 60, 2}, {{100, 50}, {50, 50}}, "--", 0},
		{"not more than is left",
		 {1, 0, 9000, 11, 1},
		 {{100, 10}, {100, 12}, {100, 80}},
		 "w--",
		 10},
		{"a number that is not known", {0, 0, 10, 60, 0}, {{100, 50}, {50, 50}}, "--", 0},
		{"large numbers",
		 {UINT32_MAX, 0, UINT64_MAX, 1, UINT32_MAX},
		 {{UINT64_MAX, 1}},
		 "-",
		 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pack_wear packs[PACKS_MOST] = {{0}};
		char worn[PACKS_MOST + 1] = "";
		size_t count = strlen(rows[i].worn);
		uint64_t given_up;

		for (size_t j = 0; j < count; j++)
			packs[j] = (struct pack_wear){rows[i].packs[j].bytes, rows[i].packs[j].used,
						      true};
		given_up = pack_wear_decide(packs, count, &rows[i].bounds);
		for (size_t j = 0; j < count; j++)
			worn[j] = packs[j].worn ? 'w' : '-';
		printf("%s\n", rows[i].what);
		assert_string_equal(worn, rows[i].worn);
		assert_int_equal(given_up, rows[i].given_up);
	}
	assert_int_equal(pack_wear_room(100, 50, 1), 253);
	assert_int_equal(pack_wear_room(100, 0, 2), 303);
	assert_int_equal(pack_wear_room(UINT64_MAX, 50, 2), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_needed_of_a_pack),
		cmocka_unit_test(test_which_packs_are_worn),
		cmocka_unit_test(test_the_next_snapshot_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
