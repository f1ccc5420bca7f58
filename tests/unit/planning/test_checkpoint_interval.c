/* How often it pays to save: tables of costs, losses and announcements. */
#include "planning/planning.h"

#include "unit.h"

#define HOUR 3600000LL

struct row {
	const char *name;
	struct checkpoint_interval_facts facts;
	int64_t every_ms; /* to a second */
};

#define NEVER                 \
	{                     \
		.save_ms = -1 \
	}
/* Nine in ten, by Laplace's rule. */
#define MOSTLY                                \
	{                                     \
		.save_ms = -1, .announced = 8 \
	}

// clang-format off
static const struct row rows[] = {
	/* T = sqrt(2CM) where nothing is announced in time. */
	{"30 s, 4 h", {.past = NEVER, .save_ms = 30000, .mtbf_ms = 4 * HOUR}, 929516},
	{"120 s, 4 h", {.past = NEVER, .save_ms = 120000, .mtbf_ms = 4 * HOUR}, 1859032},
	{"5 s, 1 h", {.past = NEVER, .save_ms = 5000, .mtbf_ms = HOUR}, 189737},
	{"announced, but it does not fit",
		{.past = MOSTLY, .save_ms = 30000, .mtbf_ms = 4 * HOUR}, 929516},
	/* And by sqrt(1/(1-p)) longer where it is. */
	{"30 s, 4 h, nine in ten",
		{.past = MOSTLY, .save_ms = 30000, .mtbf_ms = 4 * HOUR, .fits = true}, 2939388},
	{"nothing has happened yet: one in two",
		{.past = NEVER, .save_ms = 30000, .mtbf_ms = 4 * HOUR, .fits = true}, 1314534},
	{"never announced so far",
		{.past = {.save_ms = -1, .unannounced = 8}, .save_ms = 30000, .mtbf_ms = 4 * HOUR,
			.fits = true}, 979796},
	{"always so far, and still not for certain",
		{.past = {.save_ms = -1, .announced = 10000}, .save_ms = 30000, .mtbf_ms = 4 * HOUR,
			.fits = true}, 4156922},
	/* M of the past, as if there had been one more interruption, after 4 h. */
	{"by default 4 h", {.past = NEVER, .save_ms = 30000}, 929516},
	{"three after an hour each",
		{.past = {.save_ms = -1, .ran_ms = 3 * HOUR, .interruptions = 3}, .save_ms = 30000},
			614817},
	{"the user knows better",
		{.past = {.save_ms = -1, .ran_ms = 3 * HOUR, .interruptions = 3}, .save_ms = 30000,
			.mtbf_ms = 4 * HOUR}, 929516},
	/* C of the past, until this attempt has measured its own. */
	{"not measured at all", {.past = NEVER, .save_ms = -1}, CHECKPOINT_INTERVAL_FIRST_MS},
	{"measured by an earlier attempt", {.past = {.save_ms = 30000}, .save_ms = -1}, 929516},
	{"measured by both", {.past = {.save_ms = 90000}, .save_ms = 30000}, 929516},
	/* The ends. */
	{"costs nothing",
		{.past = NEVER, .save_ms = 0, .mtbf_ms = 4 * HOUR}, CHECKPOINT_INTERVAL_LEAST_MS},
	{"costs as much as machines last",
		{.past = NEVER, .save_ms = HOUR, .mtbf_ms = HOUR}, 2 * HOUR},
	{"costs more than anybody has",
		{.past = NEVER, .save_ms = 3 * HOUR, .mtbf_ms = HOUR}, CHECKPOINT_INTERVAL_MOST_MS},
	{"machines last for weeks", {.past = NEVER, .save_ms = 120000, .mtbf_ms = 700 * HOUR},
		CHECKPOINT_INTERVAL_MOST_MS},
};
// clang-format on

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct checkpoint_interval interval = checkpoint_interval_choose(&rows[i].facts);

		if (interval.every_ms < rows[i].every_ms - 1000 ||
		    interval.every_ms > rows[i].every_ms + 1000)
			fail_msg("%s: %lld ms instead of %lld", rows[i].name,
				 (long long)interval.every_ms, (long long)rows[i].every_ms);
	}
}

/* No other interval wastes less, by the formula that the choice comes from. */
static double waste(const struct checkpoint_interval *interval, double every)
{
	double cost = (double)interval->save_ms, mean = (double)interval->mtbf_ms;

	return cost / every + (1 - interval->announced) * every / (2 * mean);
}

static void test_it_is_the_least_waste(void **state)
{
	struct checkpoint_interval_facts facts = {
		.past = MOSTLY,
		.save_ms = 45000,
		.mtbf_ms = 3 * HOUR,
		.fits = true,
	};
	struct checkpoint_interval best = checkpoint_interval_choose(&facts);
	double least = waste(&best, (double)best.every_ms);

	(void)state;
	for (double factor = 0.3; factor < 3; factor += 0.07)
		assert_true(waste(&best, factor * (double)best.every_ms) >= least * 0.999999);
}

static void test_what_is_worth_a_line(void **state)
{
	struct checkpoint_interval old = {.every_ms = 900000}, now = old;

	(void)state;
	assert_false(checkpoint_interval_differs(&old, &now));
	now.every_ms = 1300000;
	assert_false(checkpoint_interval_differs(&old, &now));
	now.every_ms = 1400000;
	assert_true(checkpoint_interval_differs(&old, &now));
	now.every_ms = 590000;
	assert_true(checkpoint_interval_differs(&old, &now));
	assert_int_equal(checkpoint_interval_smooth(-1, 400), 400);
	assert_int_equal(checkpoint_interval_smooth(400, 800), 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_it_is_the_least_waste),
		cmocka_unit_test(test_what_is_worth_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
