#include "reconcile.h"

#include "base/text.h"
#include "local_files.h"

#include <stdlib.h>
#include <string.h>

static size_t count_checkpoint_files(const struct reconcile_facts *facts,
				     const struct snapshot_files *files)
{
	size_t count = 0;

	for (size_t i = 0; i < files->count; i++)
		count += local_is_of_checkpoint(facts, files->items[i].path);
	return count;
}

static bool local_equals_snapshot(const struct reconcile_facts *facts)
{
	if (count_checkpoint_files(facts, facts->local) !=
	    count_checkpoint_files(facts, facts->snapshot))
		return false;
	for (size_t i = 0; i < facts->local->count; i++) {
		const struct snapshot_file *local = &facts->local->items[i];

		if (local_is_of_checkpoint(facts, local->path) &&
		    !file_list_same_file(local, file_list_find(facts->snapshot, local->path)))
			return false;
	}
	return true;
}

static bool any_intact(const struct judgement *judgement)
{
	for (size_t i = 0; i < judgement->facts->local->count; i++)
		if (judgement->files[i].state == FILE_INTACT)
			return true;
	return false;
}

/* What a framework leaves behind under a temporary name is nothing to resume from. */
static bool may_be_used(const struct judgement *judgement, size_t i)
{
	const struct reconcile_facts *facts = judgement->facts;

	return judgement->files[i].state == FILE_UNVOUCHED &&
	       !profile_is_temporary_path(facts->profile, facts->local->items[i].path);
}

/* A checkpoint that became complete after the record: with a higher number than what is recorded
 * and saved; or a recorded name with new content. */
static bool is_newer(const struct judgement *judgement, size_t i)
{
	const struct reconcile_facts *facts = judgement->facts;
	const struct judged_file *file = &judgement->files[i];
	const char *path = facts->local->items[i].path;

	if (!may_be_used(judgement, i))
		return false;
	if (file->step < 0)
		return facts->complete && file_list_find(facts->complete, path);
	return file->step > judgement->recorded_step && file->step > judgement->saved_step;
}

static bool any_newer(const struct judgement *judgement)
{
	for (size_t i = 0; i < judgement->facts->local->count; i++)
		if (is_newer(judgement, i))
			return true;
	return false;
}

/* Has the store no copy of something that stays and that the job may resume from? */
static bool any_unsaved(const struct judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;

	for (size_t i = 0; i < facts->local->count; i++) {
		const struct judged_file *file = &judgement->files[i];

		if (!may_be_used(judgement, i))
			continue;
		if (!facts->snapshot || is_newer(judgement, i))
			return true;
		if (file->step < 0 && !file_list_find(facts->snapshot, facts->local->items[i].path))
			return true;
	}
	return false;
}

static bool is_moved(const struct reconcile_facts *facts, const char *path)
{
	for (char *const *moved = facts->moved; moved && *moved; moved++)
		if (text_equal(*moved, path))
			return true;
	return false;
}

/* Is a file of the recorded checkpoint gone, and no newer one there? The job may delete its old
 * checkpoints, but not the newest. What was moved aside comes back. */
static bool misses_newest_checkpoint(const struct judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;
	bool newer = any_newer(judgement);

	for (size_t i = 0; i < facts->complete->count; i++) {
		const char *path = facts->complete->items[i].path;
		int64_t step = step_of_path(path);

		if (local_is_of_checkpoint(facts, path) && !file_list_find(facts->local, path) &&
		    !(is_moved(facts, path) && reconcile_may_put_back(facts, path)) &&
		    (step < 0 || (step == judgement->recorded_step && !newer)))
			return true;
	}
	return false;
}

/* A file that is later than what the snapshot has: by its number, or a fixed name by its time. */
static bool is_ahead(const struct judgement *judgement, size_t i)
{
	const struct reconcile_facts *facts = judgement->facts;
	const struct judged_file *file = &judgement->files[i];
	const struct snapshot_file *local = &facts->local->items[i], *saved;

	if (file->state != FILE_INTACT && !may_be_used(judgement, i))
		return false;
	if (file->step >= 0)
		return file->step > judgement->saved_step;
	saved = facts->snapshot ? file_list_find(facts->snapshot, local->path) : NULL;
	return saved && local->mtime_ns > saved->mtime_ns;
}

static bool any_ahead(const struct judgement *judgement)
{
	for (size_t i = 0; i < judgement->facts->local->count; i++)
		if (is_ahead(judgement, i))
			return true;
	return false;
}

static bool is_only_here(const struct judgement *judgement, size_t i)
{
	const struct snapshot_files *snapshot = judgement->facts->snapshot;
	const struct snapshot_file *local = &judgement->facts->local->items[i];

	return judgement->files[i].state != FILE_PASSED_OVER &&
	       !(snapshot && file_list_same_file(local, file_list_find(snapshot, local->path)));
}

/* Named is the one that the others go with. */
static void add_torn(struct files_aside *aside, const struct judgement *judgement, size_t i)
{
	enum torn_reason reason = judgement->files[i].reason;

	aside->torn_count++;
	aside->of_two_saves |= reason == TORN_SET;
	if (aside->torn && (aside->reason != TORN_SET || reason == TORN_SET))
		return;
	aside->torn = judgement->facts->local->items[i].path;
	aside->reason = reason;
}

static struct files_aside files_aside(const struct judgement *judgement)
{
	struct files_aside aside = {.newer = any_ahead(judgement), .step = -1};

	for (size_t i = 0; i < judgement->facts->local->count; i++) {
		const struct judged_file *file = &judgement->files[i];
		bool only_here = is_only_here(judgement, i);

		if (file->state >= FILE_TORN && only_here)
			add_torn(&aside, judgement, i);
		if (file->state >= FILE_TORN)
			continue;
		aside.usable += only_here;
		if ((aside.newer ? is_ahead(judgement, i) : only_here) && file->step > aside.step)
			aside.step = file->step;
	}
	return aside;
}

/* Why the snapshot must replace the local files; NULL: they are as good. */
static const char *why_restore(const struct judgement *judgement, int age)
{
	if (age < 0)
		return "the local files are of an older attempt";
	if (judgement->facts->abandoned)
		return "the local checkpoint was left on purpose";
	if (!judgement->facts->snapshot)
		return NULL;
	if (judgement->facts->of_other && !any_ahead(judgement))
		return "the local files are another job's, and not newer";
	/* The store has this very checkpoint, and all of its files. */
	if (age == 0 && misses_newest_checkpoint(judgement))
		return "local files of the newest checkpoint are gone";
	if (!any_intact(judgement) && !any_newer(judgement))
		return "no complete local checkpoint is left";
	return NULL;
}

static void keep_local_files(const struct judgement *judgement, struct reconcile_plan *plan)
{
	const struct snapshot_files *local = judgement->facts->local;

	plan->action = RECONCILE_KEEP;
	plan->torn = memory_new((local->count + 1) * sizeof(plan->torn[0]));
	for (size_t i = 0; i < local->count; i++)
		if (judgement->files[i].state == FILE_TORN)
			plan->torn[plan->torn_count++] = (struct torn_file){
				text_copy(local->items[i].path),
				judgement->files[i].reason,
			};
	for (size_t i = local->count; i-- > 0;)
		if (judgement->files[i].state == FILE_BROKEN &&
		    judgement->files[i].reason != TORN_SET)
			plan->broken = local->items[i].path;
	plan->prune = judgement->facts->complete || plan->torn_count > 0;
}

static void decide_with_record(const struct judgement *judgement, struct reconcile_plan *plan)
{
	const struct reconcile_facts *facts = judgement->facts;
	int age = facts->of_other ? 0 : snapshot_id_compare(facts->complete_id, facts->start);
	bool unsaved = any_unsaved(judgement);

	plan->action = RECONCILE_RESTORE;
	plan->reason = why_restore(judgement, age);
	if (plan->reason)
		return;
	keep_local_files(judgement, plan);
	plan->newer_than_store = unsaved || ((age > 0 || facts->of_other) && any_intact(judgement));
	plan->reason = plan->newer_than_store ? "the local checkpoint is newer than the store's"
					      : "the local checkpoint is the newest one";
	/* What the store has is compared with it byte by byte: a restore takes from here what is
	 * equal. */
	if (facts->rebooted && !plan->newer_than_store && facts->snapshot) {
		reconcile_plan_release(plan);
		plan->action = RECONCILE_RESTORE;
		plan->reason = "the machine was restarted since the local checkpoint was written";
	}
}

/* A journal, a database or a state that is never closed is all that the job has, and here it is no
 * older than in the store: without us the job would go on from it. */
static bool only_running_files_go_on(const struct reconcile_facts *facts)
{
	const struct snapshot_files *saved = facts->snapshot;

	if (!saved || count_checkpoint_files(facts, saved) > 0 || facts->rebooted ||
	    facts->abandoned || facts->of_other ||
	    (facts->complete && snapshot_id_compare(facts->complete_id, facts->start) < 0))
		return false;
	for (size_t i = 0; i < saved->count; i++) {
		const struct snapshot_file *file = &saved->items[i];
		const struct snapshot_file *local = file_list_find(facts->local, file->path);

		if (!local || local->mtime_ns < file->mtime_ns ||
		    (local->size == 0 && file->size > 0))
			return false;
	}
	return saved->count > 0;
}

void reconcile_decide(const struct reconcile_facts *facts, struct reconcile_plan *plan)
{
	auto_(judgement_release) struct judgement judgement = {0};

	*plan = (struct reconcile_plan){0};
	local_files_judge(facts, &judgement);
	if (only_running_files_go_on(facts)) {
		keep_local_files(&judgement, plan);
		plan->reason = "the local files have gone on since the newest snapshot";
	} else if (count_checkpoint_files(facts, facts->local) == 0) {
		plan->action = facts->snapshot ? RECONCILE_RESTORE : RECONCILE_FRESH;
		plan->reason = "the checkpoint directory has no checkpoint";
	} else if (facts->complete) {
		decide_with_record(&judgement, plan);
	} else if (!facts->snapshot) {
		keep_local_files(&judgement, plan);
		plan->newer_than_store = any_unsaved(&judgement);
		plan->reason = "files were here before the first attempt";
	} else if (local_equals_snapshot(facts)) {
		plan->action = RECONCILE_KEEP;
		plan->reason = "the local checkpoint is the newest one";
	} else {
		plan->action = RECONCILE_RESTORE;
		plan->reason = "no record says that the local files are complete";
	}
	plan->aside = files_aside(&judgement);
	plan->any_checkpoint = plan->action == RECONCILE_KEEP ||
			       (facts->snapshot && count_checkpoint_files(facts, facts->snapshot));
}

void reconcile_plan_release(struct reconcile_plan *plan)
{
	for (size_t i = 0; i < plan->torn_count; i++)
		free(plan->torn[i].path);
	free(plan->torn);
	*plan = (struct reconcile_plan){0};
}

const char *torn_reason_verb(enum torn_reason reason)
{
	return reason == TORN_HALF || reason == TORN_SET ? "is not used" : "is torn";
}

const char *torn_reason_text(enum torn_reason reason)
{
	static const char *const texts[TORN_REASONS] = {
		[TORN_UNDER_WAY] = "its writer ended while it was being written",
		[TORN_HALF] = ("it is whole, but " UNDER_WAY_ENDED_TEXT),
		[TORN_EMPTIED] = "it is empty, and was not when it was complete",
		[TORN_REDUCED] = "files of its checkpoint are gone, as if it was being deleted",
		[TORN_REST] = "another file of its checkpoint is torn",
		[TORN_SET] = "another file of its save was being written over",
	};

	return texts[reason];
}
