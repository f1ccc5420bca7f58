/* What earlier attempts mean for the next one: tables. */
#include "restore/restore.h"

#include "unit.h"

#include <stdio.h>

#define MOST 7
#define QUICK 60000

/* Shorthands for one attempt, all with the same command. */
#define CRASH(...)                                                                             \
	{                                                                                      \
		.start = {__VA_ARGS__}, .ran_ms = QUICK, .crashed = true, .same_command = true \
	}
#define FROM_BEHIND(back, ...)                                                          \
	{                                                                               \
		.start = {__VA_ARGS__}, .rolled_back_from = {1, back}, .ran_ms = QUICK, \
		.crashed = true, .same_command = true                                   \
	}
#define IN_VAIN(...)                                                                            \
	{                                                                                       \
		.start = {__VA_ARGS__}, .ran_ms = QUICK, .crashed = true, .same_command = true, \
		.had_no_effect = true                                                           \
	}
#define LOST(...)                                                          \
	{                                                                  \
		.start = {__VA_ARGS__}, .ran_ms = -1, .same_command = true \
	}
#define SAVED(many)                                                                  \
	{                                                                            \
		.number = 1, .snapshots = (many), .newest = (many), .ran_ms = QUICK, \
		.same_command = true                                                 \
	}
/* Attempt n, whose newest snapshot is the `last`, from the one that is named; stepped back from
 * {1, back}, or not. */
#define LINE(n, last, back, ...)                                                                  \
	{                                                                                         \
		.number = (n), .start = {__VA_ARGS__}, .snapshots = (last) > 0, .newest = (last), \
		.rolled_back_from = {(back) ? 1 : 0, (back)}, .ran_ms = QUICK, .crashed = true,   \
		.same_command = true                                                              \
	}
#define DONE                                                            \
	{                                                               \
		.finished = true, .ran_ms = QUICK, .same_command = true \
	}

struct row {
	const char *name;
	struct attempt_outcome items[MOST]; /* newest first */
	size_t count;
	struct restart_rules rules;
	enum restart_action action;
	struct snapshot_id snapshot;
	uint32_t without_progress;
	bool had_no_effect;
};

#define LATEST                        \
	{                             \
		.may_roll_back = true \
	}
#define LIMIT(n)                                              \
	{                                                     \
		.may_roll_back = true, .max_no_progress = (n) \
	}

// clang-format off
static const struct row rows[] = {
	{"the first", {SAVED(0)}, 0, LIMIT(1), RESTART_PROCEED, {0, 0}, 0, false},
	{"an earlier end with 0 stops no start", {DONE}, 1, LATEST, RESTART_PROCEED, {0, 0}, 0, false},
	{"finished, and started again since",
		{SAVED(1), DONE}, 2, LATEST, RESTART_PROCEED, {0, 0}, 0, false},
	{"finished after a limit was reached",
		{DONE, LOST(0, 0), LOST(0, 0)}, 3, LIMIT(2), RESTART_PROCEED, {0, 0}, 0, false},

	{"below the limit",
		{LOST(1, 1), LOST(1, 1), SAVED(1)}, 3, LIMIT(3), RESTART_PROCEED, {0, 0}, 2, false},
	{"at the limit", {LOST(1, 1), LOST(1, 1), SAVED(1)}, 3, LIMIT(2), RESTART_NO_PROGRESS,
		{0, 0}, 2, false},
	{"at the limit, and nothing was ever saved",
		{LOST(0, 0), LOST(0, 0)}, 2, LIMIT(2), RESTART_NO_PROGRESS, {0, 0}, 2, false},
	{"beyond the limit, which is off",
		{LOST(0, 0), LOST(0, 0), LOST(0, 0)}, 3, LATEST, RESTART_PROCEED, {0, 0}, 3, false},
	{"progress resets it",
		{SAVED(1), LOST(0, 0), LOST(0, 0)}, 3, LIMIT(1), RESTART_PROCEED, {0, 0}, 0, false},
	{"to finish is progress",
		{LOST(0, 0), DONE, LOST(0, 0)}, 3, LIMIT(2), RESTART_PROCEED, {0, 0}, 1, false},
	{"whatever the outcomes",
		{CRASH(1, 1), LOST(1, 1)}, 2, LIMIT(2), RESTART_NO_PROGRESS, {0, 0}, 2, false},
	{"the limit comes before a step back",
		{CRASH(1, 2), CRASH(1, 2)}, 2, LIMIT(2), RESTART_NO_PROGRESS, {0, 0}, 2, false},

	{"what is trained again is none",
		{LINE(4, 1, 3, 1, 2), LINE(3, 0, 0, 1, 3), LINE(2, 0, 0, 1, 3), LINE(1, 3, 0, 0, 0)}, 4,
			LIMIT(3), RESTART_NO_PROGRESS, {0, 0}, 3, false},
	{"what goes beyond it is",
		{LINE(4, 2, 3, 1, 2), LINE(3, 0, 0, 1, 3), LINE(2, 0, 0, 1, 3), LINE(1, 3, 0, 0, 0)}, 4,
			LIMIT(3), RESTART_PROCEED, {0, 0}, 0, false},
	{"in two attempts, too",
		{LINE(5, 1, 0, 4, 1), LINE(4, 1, 3, 1, 2), LINE(3, 0, 0, 1, 3), LINE(2, 0, 0, 1, 3),
			LINE(1, 3, 0, 0, 0)}, 5, LIMIT(4), RESTART_PROCEED, {0, 0}, 0, false},
	{"the same piece again and again",
		{LINE(7, 1, 4, 1, 3), LINE(6, 0, 0, 4, 1), LINE(5, 0, 0, 4, 1), LINE(4, 1, 4, 1, 3),
			LINE(3, 0, 0, 1, 4), LINE(2, 0, 0, 1, 4), LINE(1, 4, 0, 0, 0)}, 7, LIMIT(6),
			RESTART_NO_PROGRESS, {0, 0}, 6, false},
	{"snapshots that were forgotten count",
		{LINE(2, 9, 0, 1, 40), LINE(1, 40, 0, 0, 0)}, 2, LIMIT(1), RESTART_PROCEED, {0, 0}, 0,
			false},
	{"the user begins from scratch",
		{LINE(2, 1, 0, 0, 0), LINE(1, 3, 0, 0, 0)}, 2, LIMIT(1), RESTART_PROCEED, {0, 0}, 0,
			false},
	{"or from an older one",
		{LINE(2, 1, 0, 1, 1), LINE(1, 3, 0, 0, 0)}, 2, LIMIT(1), RESTART_PROCEED, {0, 0}, 0,
			false},

	{"one crash is none",
		{CRASH(1, 2), SAVED(2)}, 2, LATEST, RESTART_PROCEED, {0, 0}, 1, false},
	{"two in a row", {CRASH(1, 2), CRASH(1, 2), SAVED(2)}, 3, LATEST, RESTART_ROLL_BACK, {1, 2},
		2, false},
	{"the user has chosen", {CRASH(1, 2), CRASH(1, 2)}, 2, {0},
		RESTART_PROCEED, {0, 0}, 2, false},
	{"of two starts", {CRASH(1, 2), CRASH(1, 1)}, 2, LATEST, RESTART_PROCEED, {0, 0}, 2, false},
	{"of none", {CRASH(0, 0), CRASH(0, 0)}, 2, LATEST, RESTART_PROCEED, {0, 0}, 2, false},
	{"a machine lost in between", {CRASH(1, 2), LOST(1, 2), CRASH(1, 2)}, 3, LATEST,
		RESTART_PROCEED, {0, 0}, 3, false},
	{"the command was changed",
		{CRASH(1, 2), {.start = {1, 2}, .ran_ms = QUICK, .crashed = true}}, 2, LATEST,
			RESTART_PROCEED, {0, 0}, 2, false},
	{"late in its run",
		{CRASH(1, 2),
			{.start = {1, 2}, .ran_ms = RESTART_EARLY_CRASH_MS, .crashed = true,
				.same_command = true}}, 2, LATEST,
		RESTART_PROCEED, {0, 0}, 2, false},
	{"nobody knows when",
		{CRASH(1, 2),
			{.start = {1, 2}, .ran_ms = -1, .crashed = true, .same_command = true}}, 2,
				LATEST, RESTART_PROCEED, {0, 0}, 2, false},
	{"it had saved again",
		{CRASH(1, 2),
			{.start = {1, 2}, .ran_ms = QUICK, .crashed = true, .same_command = true,
				.checkpoint_complete = true}}, 2, LATEST,
		RESTART_PROCEED, {0, 0}, 2, false},

	{"the one before, and then each further one",
		{FROM_BEHIND(3, 1, 2), CRASH(1, 3), CRASH(1, 3)}, 3, LATEST, RESTART_ROLL_BACK, {1, 2}, 3,
			false},
	{"a machine lost in between is no step",
		{{.start = {1, 2}, .rolled_back_from = {1, 3}, .ran_ms = -1, .same_command = true},
			CRASH(1, 3), CRASH(1, 3)}, 3, LATEST, RESTART_PROCEED, {0, 0}, 3, false},
	{"none is left",
		{FROM_BEHIND(2, 1, 1), FROM_BEHIND(2, 1, 1), CRASH(1, 2), CRASH(1, 2)}, 4, LATEST,
			RESTART_REVERT, {1, 2}, 4, true},
	{"there was none before", {FROM_BEHIND(2, 1, 2), FROM_BEHIND(2, 1, 2)}, 2, LATEST,
		RESTART_PROCEED, {0, 0}, 2, false},
	{"no second step",
		{IN_VAIN(1, 2), IN_VAIN(1, 2)}, 2, LATEST, RESTART_PROCEED, {0, 0}, 2, true},
	{"progress makes it forget",
		{CRASH(4, 1), CRASH(4, 1), {.number = 4, .snapshots = 1, .newest = 1, .had_no_effect = true}}, 3, LATEST,
			RESTART_ROLL_BACK, {4, 1}, 2, false},
};
// clang-format on

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct restart_decision decision =
			restart_rules_decide(row->items, row->count, &row->rules);

		if (decision.action != row->action ||
		    snapshot_id_compare(decision.snapshot, row->snapshot) != 0 ||
		    decision.without_progress != row->without_progress ||
		    decision.had_no_effect != row->had_no_effect)
			fail_msg("%s: action %d, snapshot %u.%u, streak %u, in vain %d", row->name,
				 decision.action, decision.snapshot.attempt,
				 decision.snapshot.sequence, decision.without_progress,
				 decision.had_no_effect);
	}
}

/* Fed with its own rulings, a job that dies of whatever it is given: back to the oldest, step by
 * step, then to the newest, and then no more. */
static void test_a_job_that_always_dies(void **state)
{
	struct attempt_outcome items[12] = {{.snapshots = 0}};
	struct restart_rules rules = LATEST;
	struct snapshot_id start = {1, 3};
	unsigned steps = 0, returns = 0;

	(void)state;
	for (size_t n = 0; n < 12; n++) {
		struct restart_decision decision = restart_rules_decide(items + 12 - n, n, &rules);

		steps += decision.action == RESTART_ROLL_BACK;
		returns += decision.action == RESTART_REVERT;
		if (decision.action == RESTART_ROLL_BACK && start.sequence > 1)
			start.sequence--;
		if (decision.action == RESTART_REVERT)
			start = decision.snapshot;
		items[12 - n - 1] = (struct attempt_outcome)CRASH(start.attempt, start.sequence);
		items[12 - n - 1].rolled_back_from = decision.rolled_back_from;
		items[12 - n - 1].had_no_effect = decision.had_no_effect;
	}
	/* The last one finds none. */
	assert_int_equal(steps, 3);
	assert_int_equal(returns, 1);
	assert_int_equal(start.sequence, 3);
}

/* A scheduler starts the same command again. */
static void test_a_chosen_snapshot_counts_once(void **state)
{
	static const struct {
		struct snapshot_id wanted, before;
		bool same_command, had;
	} cases[] = {
		{{0}, {0}, true, false},       {{3, 2}, {0}, true, false},
		{{3, 2}, {3, 2}, true, true},  {{3, 2}, {3, 2}, false, false},
		{{3, 2}, {3, 1}, true, false}, {{0}, {3, 2}, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct attempt_outcome before = {.wanted = cases[i].before,
						 .same_command = cases[i].same_command};
		struct restart_rules rules = {.wanted = cases[i].wanted};

		assert_int_equal(restart_rules_decide(&before, 1, &rules).had_wanted, cases[i].had);
		assert_false(restart_rules_decide(&before, 0, &rules).had_wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_a_job_that_always_dies),
		cmocka_unit_test(test_a_chosen_snapshot_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
