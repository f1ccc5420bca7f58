/* How often a job saves, as far as its saves tell. */
#include "planning/planning.h"

#include "unit.h"

struct row {
	const char *name;
	int64_t saves_ms[24]; /* when each was complete; 0: no more */
	int64_t least_ms, most_ms;
};

// clang-format off
static const struct row rows[] = {
	{"nothing is saved", {0}, 0, 0},
	{"one save tells nothing", {5000}, 0, 0},
	{"two saves", {5000, 7000}, 2000, 2000},
	{"a steady job", {5000, 7000, 9010, 11000, 12990}, 1900, 2100},
	{"two checkpoints in each save",
		{5000, 5100, 15000, 15100, 25000, 25100, 35000}, 9900, 10100},
	{"and they are a second apart",
		{5000, 6000, 16000, 17000, 27000, 28000, 38000, 39000, 49000, 50000, 60000,
			61000, 71000, 72000, 82000, 83000, 93000}, 8000, 11500},
	{"an evaluation in between",
		{5000, 15000, 25000, 625000, 635000, 645000, 655000}, 10000, 18000},
	{"it has become faster",
		{10000, 20000, 30000, 31000, 32000, 33000, 34000, 35000, 36000, 37000, 38000,
			39000, 40000, 41000, 42000, 43000, 44000, 45000, 46000, 47000}, 1000, 4500},
	{"a save in each step", {5000, 5100, 5200, 5300, 5400, 5500, 5600}, 250, 350},
};
// clang-format on

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct save_rhythm rhythm = {0};

		for (size_t j = 0; row->saves_ms[j]; j++)
			save_rhythm_note(&rhythm, row->saves_ms[j]);
		if (rhythm.gap_ms < row->least_ms || rhythm.gap_ms > row->most_ms)
			fail_msg("%s: %lld ms", row->name, (long long)rhythm.gap_ms);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
