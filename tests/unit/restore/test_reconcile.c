/* What lies in the checkpoint directory x what the last supervisor knew x what the
 * store has -> what is done. */
#include "restore/reconcile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* "a:1 b/c:2" -> files of size 10 with that mtime; sorted as written. */
static struct snapshot_files parse(const char *text)
{
	struct snapshot_files files = {.items = calloc(16, sizeof(struct snapshot_file))};
	char *copy = strdup(text), *rest = copy, *word;

	while ((word = strsep(&rest, " "))) {
		char *colon = strchr(word, ':');

		if (!colon)
			continue;
		*colon = '\0';
		files.items[files.count++] = (struct snapshot_file){
			.path = strdup(word),
			.size = 10,
			.mtime_ns = atoll(colon + 1),
		};
	}
	free(copy);
	return files;
}

static void release(struct snapshot_files *files)
{
	for (size_t i = 0; i < files->count; i++)
		free(files->items[i].path);
	free(files->items);
}

struct row {
	const char *what;
	const char *local, *snapshot, *complete; /* NULL: there is none */
	struct snapshot_id start, complete_id;
	enum reconcile_action action;
	bool newer;
	const char *torn; /* joined by spaces */
};

static const struct row rows[] = {
	// clang-format off
	{"first start", "", NULL, NULL, {0, 0}, {0, 0}, RECONCILE_FRESH, false, ""},
	{"new machine", "", "s1:1", NULL, {1, 4}, {0, 0}, RECONCILE_RESTORE, false, ""},
	{"the user's own files, first start", "s1:1", NULL, NULL, {0, 0}, {0, 0}, RECONCILE_KEEP,
		true, ""},
	{"equal without a record", "s1:1 s2:2", "s1:1 s2:2", NULL, {1, 4}, {0, 0}, RECONCILE_KEEP,
		false, ""},
	{"unknown leftovers", "s1:1 s9:9", "s1:1 s2:2", NULL, {1, 4}, {0, 0}, RECONCILE_RESTORE,
		false, ""},
	{"requeue, nothing new", "s1:1 s2:2", "s1:1 s2:2", "s1:1 s2:2", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, ""},
	{"requeue, local is newer", "s2:2 s3:3", "s1:1 s2:2", "s2:2 s3:3", {1, 4}, {1, 5},
		RECONCILE_KEEP, true, ""},
	{"requeue, killed in a save", "s2:2 s3:3", "s1:1 s2:2", "s1:1 s2:2", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, "s3"},
	{"requeue, sealed but never committed, no snapshot", "s1:1 s2:2", NULL, "s1:1", {0, 0},
		{1, 1}, RECONCILE_KEEP, true, "s2"},
	{"overwritten in place", "last:7", "last:5", "last:5", {1, 4}, {1, 4}, RECONCILE_RESTORE,
		false, ""},
	{"overwritten in place, no snapshot", "last:7", NULL, "last:5", {0, 0}, {1, 1},
		RECONCILE_KEEP, false, "last"},
	{"stale machine comes back", "s1:1", "s5:5", "s1:1", {3, 1}, {1, 4}, RECONCILE_RESTORE,
		false, ""},
	{"all that was sealed is gone", "s9:9", "s1:1", "s1:1", {1, 4}, {1, 4}, RECONCILE_RESTORE,
		false, ""},
	{"old ones deleted while the next was written", "s3:3 s4:4", "s1:1 s2:2 s3:3",
		"s1:1 s2:2 s3:3", {1, 4}, {1, 4}, RECONCILE_KEEP, false, "s4"},
	{"the newest one half deleted", "step9.r0:9", "step9.r0:9 step9.r1:9",
		"step9.r0:9 step9.r1:9", {1, 4}, {1, 4}, RECONCILE_RESTORE, false, ""},
	{"the only one, a directory, half deleted", "d9/b:1", "d9/a:1 d9/b:1", "d9/a:1 d9/b:1",
		{1, 4}, {1, 4}, RECONCILE_RESTORE, false, ""},
	{"without numbers, half deleted", "model:9", "model:9 state:9", "model:9 state:9", {1, 4},
		{1, 4}, RECONCILE_RESTORE, false, ""},
	{"a log that is gone", "s1:1", "s1:1 x.log:1", "s1:1 x.log:1", {1, 4}, {1, 4},
		RECONCILE_KEEP, false, ""},
	{"newer than the store, and half deleted", "s8:8 step9.r0:9", "s8:8",
		"s8:8 step9.r0:9 step9.r1:9", {1, 4}, {1, 5}, RECONCILE_KEEP, true, "step9.r0"},
	{"the same, and nothing else", "step9.r0:9", "s8:8", "step9.r0:9 step9.r1:9", {1, 4},
		{1, 5}, RECONCILE_RESTORE, false, ""},
	{"the same, and no snapshot", "step9.r0:9", NULL, "step9.r0:9 step9.r1:9", {0, 0}, {1, 1},
		RECONCILE_KEEP, false, "step9.r0"},
	{"newer, without numbers: perhaps no part of it", "model:9", NULL, "model:9 state:9",
		{0, 0}, {1, 1}, RECONCILE_KEEP, true, ""},
	{"nothing is known to be complete", "s1:1", NULL, "", {0, 0}, {0, 1}, RECONCILE_KEEP, false,
		"s1"},
	{"the same beside a snapshot", "s2:2", "s1:1", "", {1, 4}, {0, 1}, RECONCILE_RESTORE, false,
		""},
	{"a directory half deleted", "d1/b:1 d2/a:2 d2/b:2", "d1/a:1 d1/b:1 d2/a:2 d2/b:2",
		"d1/a:1 d1/b:1 d2/a:2 d2/b:2", {1, 4}, {1, 4}, RECONCILE_KEEP, false, "d1/b"},
	// clang-format on
};

static void check(const struct row *row)
{
	struct snapshot_files local = parse(row->local), snapshot = {0}, complete = {0};
	struct reconcile_facts facts = {
		.local = &local,
		.start = row->start,
		.complete_id = row->complete_id,
	};
	struct reconcile_plan plan;
	char torn[256] = "";

	if (row->snapshot) {
		snapshot = parse(row->snapshot);
		facts.snapshot = &snapshot;
	}
	if (row->complete) {
		complete = parse(row->complete);
		facts.complete = &complete;
	}
	reconcile_decide(&facts, &plan);
	for (size_t i = 0; i < plan.torn_count; i++) {
		strcat(torn, i ? " " : "");
		strcat(torn, plan.torn[i]);
	}
	if (plan.action != row->action || plan.newer_than_store != row->newer ||
	    strcmp(torn, row->torn) != 0)
		fail_msg("%s: action %d, newer %d, torn '%s' (%s)", row->what, (int)plan.action,
			 plan.newer_than_store, torn, plan.reason);
	reconcile_plan_release(&plan);
	release(&local);
	release(&snapshot);
	release(&complete);
}

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(&rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
