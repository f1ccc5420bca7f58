#include "reconcile.h"

#include "base/text.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

static bool same_file_set(const struct snapshot_files *a, const struct snapshot_files *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i].path, b->items[i].path) != 0 ||
		    !file_list_same_file(&a->items[i], &b->items[i]))
			return false;
	return true;
}

/* Two files of one checkpoint: in the same directory below the top, or both at the top with the
 * same number, such as the files of rank 0 and rank 1 of step 10. */
static bool in_same_checkpoint(const char *a, const char *b)
{
	size_t length = strcspn(a, "/");

	if (!a[length] && !strchr(b, '/'))
		return step_of_path(a) >= 0 && step_of_path(a) == step_of_path(b);
	return strcspn(b, "/") == length && strncmp(a, b, length) == 0;
}

/* Paths that were recorded as complete and are gone, without logs. */
struct missing {
	const char **paths;
	size_t count;
};

static void find_missing(const struct reconcile_facts *facts, struct missing *missing)
{
	missing->paths = memory_new((facts->complete->count + 1) * sizeof(char *));
	missing->count = 0;
	for (size_t i = 0; i < facts->complete->count; i++) {
		const char *complete = facts->complete->items[i].path;

		if (!log_files_match(complete) && !file_list_find(facts->local, complete))
			missing->paths[missing->count++] = complete;
	}
}

/* If some files of a complete checkpoint are gone, it was being deleted when the job ended: the
 * rest of it is torn. */
static bool partly_deleted(const struct missing *missing, const char *path)
{
	for (size_t i = 0; i < missing->count; i++)
		if (in_same_checkpoint(missing->paths[i], path))
			return true;
	return false;
}

/* The job may delete its old checkpoints, but not the newest. */
static bool misses_newest_checkpoint(const struct reconcile_facts *facts,
				     const struct missing *missing)
{
	int64_t newest = -1;

	for (size_t i = 0; i < facts->complete->count; i++) {
		int64_t step = step_of_path(facts->complete->items[i].path);

		newest = step > newest ? step : newest;
	}
	for (size_t i = 0; i < missing->count; i++) {
		int64_t step = step_of_path(missing->paths[i]);

		if (step < 0 || step == newest)
			return true;
	}
	return false;
}

static bool overwritten_in_place(const struct reconcile_facts *facts)
{
	for (size_t i = 0; i < facts->complete->count; i++) {
		const struct snapshot_file *complete = &facts->complete->items[i];
		const struct snapshot_file *local = file_list_find(facts->local, complete->path);

		if (local && !file_list_same_file(local, complete))
			return true;
	}
	return false;
}

static bool is_intact(const struct reconcile_facts *facts, const struct missing *missing,
		      const struct snapshot_file *local)
{
	return file_list_same_file(local, file_list_find(facts->complete, local->path)) &&
	       !partly_deleted(missing, local->path);
}

static bool any_intact_left(const struct reconcile_facts *facts, const struct missing *missing)
{
	for (size_t i = 0; i < facts->local->count; i++)
		if (!log_files_match(facts->local->items[i].path) &&
		    is_intact(facts, missing, &facts->local->items[i]))
			return true;
	return false;
}

static void keep_intact_files(const struct reconcile_facts *facts, const struct missing *missing,
			      struct reconcile_plan *plan)
{
	plan->action = RECONCILE_KEEP;
	plan->torn = memory_new(facts->local->count * sizeof(char *));
	for (size_t i = 0; i < facts->local->count; i++) {
		const struct snapshot_file *local = &facts->local->items[i];

		if (!log_files_match(local->path) && !is_intact(facts, missing, local))
			plan->torn[plan->torn_count++] = text_copy(local->path);
	}
}

/* Why the snapshot must replace the local files; NULL: they are as good. */
static const char *why_restore(const struct reconcile_facts *facts, const struct missing *missing,
			       int age)
{
	if (age < 0)
		return "the local files are of an older attempt";
	if (!facts->snapshot)
		return NULL;
	if (overwritten_in_place(facts))
		return "the local checkpoint was being overwritten when the job ended";
	/* The store has this very checkpoint, and all of its files. */
	if (age == 0 && misses_newest_checkpoint(facts, missing))
		return "local files of the newest checkpoint are gone";
	if (!any_intact_left(facts, missing))
		return "no complete local checkpoint is left";
	return NULL;
}

static void decide_with_record(const struct reconcile_facts *facts, struct reconcile_plan *plan)
{
	int age = snapshot_id_compare(facts->complete_id, facts->start);
	struct missing missing;

	find_missing(facts, &missing);
	plan->action = RECONCILE_RESTORE;
	plan->reason = why_restore(facts, &missing, age);
	if (!plan->reason) {
		keep_intact_files(facts, &missing, plan);
		plan->newer_than_store = age > 0 && any_intact_left(facts, &missing);
		plan->prune = true;
		plan->reason =
			age > 0 ? "the local checkpoint is complete and newer than the store's"
				: "the local checkpoint is the newest one";
	}
	free(missing.paths);
}

void reconcile_decide(const struct reconcile_facts *facts, struct reconcile_plan *plan)
{
	*plan = (struct reconcile_plan){0};
	if (facts->local->count == 0) {
		plan->action = facts->snapshot ? RECONCILE_RESTORE : RECONCILE_FRESH;
		plan->reason = "the checkpoint directory is empty";
	} else if (facts->complete) {
		decide_with_record(facts, plan);
	} else if (!facts->snapshot) {
		plan->action = RECONCILE_KEEP;
		plan->newer_than_store = true;
		plan->reason = "files were here before the first attempt";
	} else if (same_file_set(facts->local, facts->snapshot)) {
		plan->action = RECONCILE_KEEP;
		plan->reason = "the local checkpoint is the newest one";
	} else {
		plan->action = RECONCILE_RESTORE;
		plan->reason = "no record says that the local files are complete";
	}
}

void reconcile_plan_release(struct reconcile_plan *plan)
{
	for (size_t i = 0; i < plan->torn_count; i++)
		free(plan->torn[i]);
	free(plan->torn);
	*plan = (struct reconcile_plan){0};
}
