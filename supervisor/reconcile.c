#include "reconcile.h"

#include "base/text.h"
#include "run_log.h"

#include <stdlib.h>
#include <string.h>

static int compare_path(const void *key, const void *item)
{
	return strcmp(key, ((const struct snapshot_file *)item)->path);
}

const struct snapshot_file *reconcile_find(const struct snapshot_files *files, const char *path)
{
	if (files->count == 0)
		return NULL;
	return bsearch(path, files->items, files->count, sizeof(files->items[0]), compare_path);
}

bool reconcile_same_file(const struct snapshot_file *a, const struct snapshot_file *b)
{
	return a && b && a->size == b->size && a->mtime_ns == b->mtime_ns;
}

static bool same_set(const struct snapshot_files *a, const struct snapshot_files *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i].path, b->items[i].path) != 0 ||
			!reconcile_same_file(&a->items[i], &b->items[i]))
			return false;
	return true;
}

static bool same_first_component(const char *a, const char *b)
{
	size_t length = strcspn(a, "/");

	return strcspn(b, "/") == length && strncmp(a, b, length) == 0;
}

/* A directory of which some sealed files are gone was being deleted when everything ended: what is left of it is torn. */
static bool partly_deleted(const struct reconcile_facts *facts, const char *path)
{
	if (!strchr(path, '/'))
		return false;
	for (size_t i = 0; i < facts->sealed->count; i++) {
		const char *sealed = facts->sealed->items[i].path;

		if (same_first_component(sealed, path) && !reconcile_find(facts->local, sealed))
			return true;
	}
	return false;
}

static bool overwritten_in_place(const struct reconcile_facts *facts)
{
	for (size_t i = 0; i < facts->sealed->count; i++) {
		const struct snapshot_file *sealed = &facts->sealed->items[i];
		const struct snapshot_file *local = reconcile_find(facts->local, sealed->path);

		if (local && !reconcile_same_file(local, sealed))
			return true;
	}
	return false;
}

static bool anything_sealed_is_left(const struct reconcile_facts *facts)
{
	for (size_t i = 0; i < facts->local->count; i++)
		if (reconcile_find(facts->sealed, facts->local->items[i].path))
			return true;
	return false;
}

static void keep_what_is_sealed(const struct reconcile_facts *facts, struct reconcile_plan *plan)
{
	plan->action = RECONCILE_KEEP;
	plan->torn = memory_new(facts->local->count * sizeof(char *));
	for (size_t i = 0; i < facts->local->count; i++) {
		const struct snapshot_file *local = &facts->local->items[i];
		const struct snapshot_file *sealed = reconcile_find(facts->sealed, local->path);

		if (run_log_matches(local->path) ||
			(reconcile_same_file(local, sealed) && !partly_deleted(facts, local->path)))
			continue;
		plan->torn[plan->torn_count++] = text_copy(local->path);
	}
}

static void decide_with_record(const struct reconcile_facts *facts, struct reconcile_plan *plan)
{
	int age = snapshot_id_compare(facts->sealed_id, facts->start);

	plan->action = RECONCILE_RESTORE;
	if (age < 0) {
		plan->reason = "an older attempt left its checkpoints here";
		return;
	}
	if (facts->snapshot && overwritten_in_place(facts)) {
		plan->reason =
			"a complete checkpoint was being overwritten here when the job ended";
		return;
	}
	if (facts->snapshot && !anything_sealed_is_left(facts)) {
		plan->reason = "nothing complete is left here";
		return;
	}
	keep_what_is_sealed(facts, plan);
	plan->newer_than_store = age > 0 && anything_sealed_is_left(facts);
	plan->prune = true;
	plan->reason = age > 0 ? "a complete checkpoint here is newer than what is in the store"
			       : "the checkpoint here is the newest one";
}

void reconcile_decide(const struct reconcile_facts *facts, struct reconcile_plan *plan)
{
	*plan = (struct reconcile_plan){0};
	if (facts->local->count == 0) {
		plan->action = facts->snapshot ? RECONCILE_RESTORE : RECONCILE_FRESH;
		plan->reason = "the checkpoint directory is empty";
	} else if (facts->sealed) {
		decide_with_record(facts, plan);
	} else if (!facts->snapshot) {
		plan->action = RECONCILE_KEEP;
		plan->newer_than_store = true;
		plan->reason = "files were here before the first attempt";
	} else if (same_set(facts->local, facts->snapshot)) {
		plan->action = RECONCILE_KEEP;
		plan->reason = "the checkpoint here is the newest one";
	} else {
		plan->action = RECONCILE_RESTORE;
		plan->reason = "nothing says that what lies here is complete";
	}
}

void reconcile_plan_release(struct reconcile_plan *plan)
{
	for (size_t i = 0; i < plan->torn_count; i++)
		free(plan->torn[i]);
	free(plan->torn);
	*plan = (struct reconcile_plan){0};
}
