#include "reconcile.h"

#include "completion/completion.h"

#include <string.h>

/* --- what is known of each file --- */

enum file_state {
	/* a running or an excluded file: it stays, and decides nothing */
	FILE_PASSED_OVER,
	/* as in the record */
	FILE_INTACT,
	/* neither in the record nor known to be torn */
	FILE_UNVOUCHED,
	FILE_TORN,
	/* the same, and what it was is nowhere: it stays */
	FILE_BROKEN,
};

struct local_judgement;

/* A local file, with what the record and the snapshot have under its name; NULL: nothing. */
struct judged_file {
	const struct local_judgement *all;
	const char *path;
	const struct snapshot_file *local, *recorded, *saved;
	bool fixed; /* no other file is torn with it */
	enum file_state state;
	enum torn_reason reason; /* TORN, BROKEN */
	int64_t step;            /* -1: it has none */
};

struct local_judgement {
	const struct reconcile_facts *facts;
	struct path_set groups;
	struct judged_file *files;
	size_t count;
	/* the highest step in the record and in the snapshot; -1: none */
	int64_t recorded_step, saved_step;
};

#define each_file(file, judgement)                             \
	for (struct judged_file * (file) = (judgement)->files; \
	     (file) < (judgement)->files + (judgement)->count; (file)++)

/* Marks of the checkpoints that have more than one file: see group_of(). */
enum group_mark {
	/* in the list of what was being written */
	GROUP_LISTED = 1,
	/* in that list, and a file of it was written */
	GROUP_TORN = 2,
	/* a file of it is torn by its content: it is moved aside already, or is empty */
	GROUP_REST = 4,
	/* a recorded file of it is gone */
	GROUP_REDUCED = 8,
	/* a file of it was written since the record, and is not in the list */
	GROUP_WRITTEN = 16,
	/* it is in that list as a directory that was renamed into place since */
	GROUP_PLACED = 32,
};

/* Files that are written all the time, or that the user has excluded, decide nothing. */
static bool local_is_of_checkpoint(const struct reconcile_facts *facts, const char *path)
{
	const struct snapshot_file *saved = file_list_find(facts->snapshot, path);

	return file_patterns_kind(facts->patterns, path) == FILE_KIND_ORDINARY &&
	       !(saved && saved->running);
}

static size_t count_checkpoint_files(const struct reconcile_facts *facts,
				     const struct snapshot_files *files)
{
	size_t count = 0;

	for (size_t i = 0; i < files->count; i++)
		count += local_is_of_checkpoint(facts, files->items[i].path);
	return count;
}

static int64_t highest_step(const struct reconcile_facts *facts, const struct snapshot_files *files)
{
	int64_t highest = -1;

	for (size_t i = 0; files && i < files->count; i++) {
		const char *path = files->items[i].path;
		int64_t step = local_is_of_checkpoint(facts, path) ? step_of_path(path) : -1;

		highest = step > highest ? step : highest;
	}
	return highest;
}

/* --- what is known of each file --- */

/*
 * Files of one group are torn together: the numbered directory, or the number in the names. "": a
 * fixed name, which stands for itself. A directory under its temporary name is another group than
 * the final one, which may be whole beside it. The caller frees.
 */
static char *group_of(const char *path)
{
	size_t unit = checkpoint_directory_length(path);

	return unit > 0 ? text_copy_n(path, unit + 1) : checkpoint_name_key(path);
}

static void mark_group(struct local_judgement *judgement, const char *path, unsigned marks)
{
	auto_free char *group = group_of(path);

	if (*group)
		path_set_mark(&judgement->groups, group, marks);
}

static unsigned marks_of(const struct local_judgement *judgement, const char *path)
{
	auto_free char *group = group_of(path);

	return *group ? path_set_marks(&judgement->groups, group) : 0;
}

static bool is_fixed_name(const char *path)
{
	auto_free char *group = group_of(path);

	return !*group;
}

static bool is_recorded(const struct judged_file *file)
{
	return file_list_same_file(file->local, file->recorded);
}

/*
 * It is empty, and what the last supervisor here knew of it had content. Its writer has opened it
 * anew, and was killed before it wrote: so soon after that even the list does not have it yet.
 */
static bool is_emptied(const struct judged_file *file)
{
	const struct snapshot_file *known = file->recorded ? file->recorded : file->saved;

	/* A list or a note may be emptied for good. */
	return file->local->size == 0 && known && known->size > 0 && !companion_file_is(file->path);
}

/* Was it there before the save under way? */
static bool is_known(const struct judged_file *file)
{
	return file->recorded || file->saved;
}

static bool is_behind(const struct judged_file *file, const char *front)
{
	return under_way_has_behind(file->all->facts->under_way, front, file->path);
}

static bool is_listed(const struct judged_file *file)
{
	unsigned marks = marks_of(file->all, file->path);

	if (is_behind(file, UNDER_WAY_WITH))
		return is_known(file);
	return (under_way_has(file->all->facts->under_way, file->path) &&
		!(marks & GROUP_PLACED)) ||
	       (marks & GROUP_LISTED);
}

/* Does a file lie below the directory, "s-3/"? */
static bool any_below(const struct snapshot_files *files, const char *directory)
{
	for (size_t i = 0; i < files->count; i++)
		if (text_starts(files->items[i].path, directory))
			return true;
	return false;
}

/* Is it listed under a temporary name too, and gone from there? */
static bool has_left_temporary_name(const struct reconcile_facts *facts, const char *directory)
{
	bool left = false;

	for (char *const *path = facts->under_way; path && *path; path++) {
		size_t unit = checkpoint_directory_length(*path);
		auto_free char *key = checkpoint_name_key(*path);
		auto_free char *temporary = text_copy_n(*path, unit > 0 ? unit + 1 : 0);

		if (text_ends(*path, "/") || unit == 0 || !text_equal(key, directory))
			continue;
		if (text_equal(temporary, directory) || any_below(facts->local, temporary))
			return false;
		left = true;
	}
	return left;
}

/* Its writer has renamed it into place since the list was written, as the last thing that it does
 * to it: a killed one renames nothing. */
static bool was_placed_whole(const struct reconcile_facts *facts, const char *directory)
{
	return !facts->rebooted && any_below(facts->local, directory) &&
	       has_left_temporary_name(facts, directory);
}

static void mark_groups(struct local_judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;

	for (char *const *path = facts->under_way; path && *path; path++)
		if (text_ends(*path, "/") && was_placed_whole(facts, *path))
			mark_group(judgement, *path, GROUP_PLACED);
	/* What was listed and is gone has another name by now. */
	for (char *const *path = facts->under_way; path && *path; path++)
		if (!text_starts(*path, UNDER_WAY_ALONE) && !text_starts(*path, UNDER_WAY_REST) &&
		    file_list_find(facts->local, *path))
			mark_group(judgement, *path, GROUP_LISTED);
	for (char *const *path = facts->moved; path && *path; path++)
		if (!under_way_has_behind(facts->under_way, UNDER_WAY_ALONE, *path))
			mark_group(judgement, *path, GROUP_REST);
	each_file (file, judgement)
		if (file->state != FILE_PASSED_OVER && !is_recorded(file) &&
		    !is_behind(file, UNDER_WAY_ALONE))
			mark_group(judgement, file->path,
				   is_emptied(file)  ? GROUP_REST
				   : is_listed(file) ? GROUP_TORN
						     : GROUP_WRITTEN);
	for (size_t i = 0; facts->complete && i < facts->complete->count; i++) {
		const char *path = facts->complete->items[i].path;

		if (local_is_of_checkpoint(facts, path) && !file_list_find(facts->local, path))
			mark_group(judgement, path, GROUP_REDUCED);
	}
}

static void judge_file(struct judged_file *file)
{
	const struct path_set *whole = file->all->facts->whole;
	unsigned group = marks_of(file->all, file->path);

	if (file->state == FILE_PASSED_OVER)
		return;
	file->state = FILE_TORN;
	if ((group & GROUP_TORN) || (!is_recorded(file) && is_listed(file)))
		file->reason =
			whole && path_set_marks(whole, file->path) ? TORN_HALF : TORN_UNDER_WAY;
	else if (is_emptied(file))
		file->reason = TORN_EMPTIED;
	else if (group & GROUP_REST)
		file->reason = TORN_REST;
	/* One that was written anew meanwhile may have fewer files, or others. */
	else if ((group & (GROUP_REDUCED | GROUP_WRITTEN)) == GROUP_REDUCED)
		file->reason = TORN_REDUCED;
	else
		file->state = is_recorded(file) ? FILE_INTACT : FILE_UNVOUCHED;
}

/* True if the snapshot has this file, under its name or under the one from before it was put
 * aside. */
static bool is_saved(const struct snapshot_files *snapshot, const struct snapshot_file *local)
{
	for (size_t i = 0; local && i < snapshot->count; i++)
		if (file_list_same_file(local, &snapshot->items[i]))
			return true;
	return false;
}

/* Is another fixed name here as the snapshot does not have it, and not under way? */
static bool would_mix(const struct reconcile_facts *facts, const char *path)
{
	for (size_t i = 0; i < facts->snapshot->count; i++) {
		const struct snapshot_file *saved = &facts->snapshot->items[i];

		if (!text_equal(saved->path, path) && is_fixed_name(saved->path) &&
		    local_is_of_checkpoint(facts, saved->path) && !companion_file_is(saved->path) &&
		    !under_way_has(facts->under_way, saved->path) &&
		    !is_saved(facts->snapshot, file_list_find(facts->local, saved->path)))
			return true;
	}
	return false;
}

bool reconcile_may_put_back(const struct reconcile_facts *facts, const char *path)
{
	const struct snapshot_file *known = file_list_find(facts->complete, path);
	const struct snapshot_file *saved = file_list_find(facts->snapshot, path);

	/* Of names that are written over all the time the record has none. */
	if (!saved || (known ? !file_list_same_file(known, saved) : !is_fixed_name(path)))
		return false;
	return !is_fixed_name(path) || !would_mix(facts, path);
}

/* Torn under a fixed name, and it was there before the save under way. (A number that is written
 * over is moved aside: the job finds the one before.) */
static bool is_written_over(const struct judged_file *file)
{
	return file->state == FILE_TORN && file->fixed && is_known(file);
}

/* None comes back if one cannot: they may be of one save. And then those at rest that are of its
 * set are no checkpoint either. */
static void judge_written_over(struct local_judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;
	bool broken = false;

	each_file (file, judgement)
		broken |= is_written_over(file) && !reconcile_may_put_back(facts, file->path);
	for (char *const *path = facts->moved; path && *path; path++)
		broken |= is_fixed_name(*path) && under_way_has(facts->under_way, *path) &&
			  !reconcile_may_put_back(facts, *path);
	each_file (file, judgement) {
		bool rest = file->state != FILE_PASSED_OVER && is_behind(file, UNDER_WAY_REST);

		if (!broken || (!is_written_over(file) && !rest))
			continue;
		file->reason = is_written_over(file) ? file->reason : TORN_SET;
		file->state = FILE_BROKEN;
	}
}

/* A file that has grown for less than this is half of a save. A save that takes longer mostly has a
 * checkpoint's name. */
#define OUTPUT_AGE_NS (INT64_C(1000) * 1000 * 1000)

/* Returns true if the file may be an output of the job: it was open at the end and has grown for a
 * while, and it is whole by its format (HDF5 that is flushed) or has no checkpoint's name. */
static bool may_be_output(const struct judged_file *file)
{
	const struct snapshot_file *local = file->local;

	return file->state == FILE_TORN &&
	       (file->reason == TORN_HALF ||
		(file->reason == TORN_UNDER_WAY && !file_format_is_checkpoint_name(file->path) &&
		 !file_is_called_state(file->path))) &&
	       !is_behind(file, UNDER_WAY_WITH) && file->step < 0 && local->born_ns != 0 &&
	       local->mtime_ns - local->born_ns >= OUTPUT_AGE_NS;
}

/*
 * A half is moved aside for what is better: an older checkpoint, or a start from scratch instead of
 * one that fails. An output that is open since the start, as a trajectory or a chain, fails no
 * start: where outputs are all that there is, here and in the store, the job goes on from them
 * without us, and so it does with us. None of them is a checkpoint: nothing is saved of it before
 * the job writes to it again.
 */
static void judge_outputs(struct local_judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;
	bool better = facts->abandoned || facts->of_other ||
		      (facts->snapshot && count_checkpoint_files(facts, facts->snapshot) > 0);

	each_file (file, judgement)
		better |= file->state >= FILE_TORN
				  ? !may_be_output(file)
				  : file->state != FILE_PASSED_OVER &&
					    (file_format_is_checkpoint_name(file->path) ||
					     (!file->fixed && !companion_file_is(file->path)));
	each_file (file, judgement)
		if (file->state == FILE_TORN && !better)
			file->state = FILE_PASSED_OVER;
}

static void local_files_judge(const struct reconcile_facts *facts,
			      struct local_judgement *judgement)
{
	*judgement = (struct local_judgement){
		.facts = facts,
		.files = memory_new((facts->local->count + 1) * sizeof(struct judged_file)),
		.count = facts->local->count,
		.recorded_step = highest_step(facts, facts->complete),
		.saved_step = highest_step(facts, facts->snapshot),
	};
	for (size_t i = 0; i < judgement->count; i++) {
		const char *path = facts->local->items[i].path;

		judgement->files[i] = (struct judged_file){
			.all = judgement,
			.path = path,
			.local = &facts->local->items[i],
			.recorded = file_list_find(facts->complete, path),
			.saved = file_list_find(facts->snapshot, path),
			.fixed = is_fixed_name(path),
			.state = local_is_of_checkpoint(facts, path) ? FILE_UNVOUCHED
								     : FILE_PASSED_OVER,
			.step = step_of_path(path),
		};
	}
	mark_groups(judgement);
	each_file (file, judgement)
		judge_file(file);
	judge_written_over(judgement);
	judge_outputs(judgement);
}

static void local_judgement_release(struct local_judgement *judgement)
{
	path_set_release(&judgement->groups);
	free(judgement->files);
}
AUTO(struct local_judgement, local_judgement_release);

/* --- the decision --- */

static bool any(const struct local_judgement *judgement,
		bool (*has)(const struct judged_file *file))
{
	each_file (file, judgement)
		if (has(file))
			return true;
	return false;
}

static bool is_intact(const struct judged_file *file)
{
	return file->state == FILE_INTACT;
}

/* What a framework leaves behind under a temporary name is nothing to resume from. */
static bool may_be_used(const struct judged_file *file)
{
	return file->state == FILE_UNVOUCHED &&
	       !profile_is_temporary_path(file->all->facts->profile, file->path);
}

static bool is_same_but_digits(const char *one, const char *other)
{
	const char *const digits = "0123456789";

	for (;;) {
		one += strspn(one, digits);
		other += strspn(other, digits);
		if (*one != *other || !*one)
			return *one == *other;
		one++, other++;
	}
}

/* Returns true if the file has replaced the recorded one, which is gone: it is newer, and its name
 * differs in digits only, as the dates of CKPT+2026-11-30+18-40-00/ do. */
static bool succeeds(const struct judged_file *file, const struct snapshot_file *recorded)
{
	return !file->recorded && file->local->mtime_ns > recorded->mtime_ns &&
	       is_same_but_digits(file->path, recorded->path) &&
	       !file_list_find(file->all->facts->local, recorded->path);
}

static bool is_successor(const struct judged_file *file)
{
	const struct snapshot_files *complete = file->all->facts->complete;

	for (size_t i = 0; complete && i < complete->count; i++)
		if (succeeds(file, &complete->items[i]))
			return true;
	return false;
}

/* A checkpoint that became complete after the record: with a higher number than what is recorded
 * and saved; or a recorded name with new content. */
static bool is_newer(const struct judged_file *file)
{
	if (!may_be_used(file))
		return false;
	if (file->step < 0)
		return file->recorded || is_successor(file);
	return file->step > file->all->recorded_step && file->step > file->all->saved_step;
}

/* Has the store no copy of it, though it stays and the job may resume from it? */
static bool is_unsaved(const struct judged_file *file)
{
	return may_be_used(file) &&
	       (!file->all->facts->snapshot || is_newer(file) || (file->step < 0 && !file->saved));
}

static bool is_moved(const struct reconcile_facts *facts, const char *path)
{
	for (char *const *moved = facts->moved; moved && *moved; moved++)
		if (text_equal(*moved, path))
			return true;
	return false;
}

static bool has_successor(const struct local_judgement *judgement,
			  const struct snapshot_file *recorded)
{
	each_file (file, judgement)
		if (may_be_used(file) && succeeds(file, recorded))
			return true;
	return false;
}

/* Is the path the other one but for one letter, as of a.rst and b.rst? */
static bool is_same_but_letter(const char *one, const char *other)
{
	size_t differ = 0;

	for (; *one && *other; one++, other++)
		differ += *one != *other;
	return differ == 1 && *one == *other;
}

/* The recorded one is torn. Is another fixed name newer and whole, in no set with it, and called
 * like it? Then the two are written in turn. */
static bool has_other_in_turn(const struct local_judgement *judgement,
			      const struct snapshot_file *recorded)
{
	each_file (file, judgement)
		if (may_be_used(file) && file->recorded && file->step < 0 &&
		    file->local->mtime_ns > recorded->mtime_ns &&
		    is_same_but_letter(file->path, recorded->path))
			return true;
	return false;
}

/* Is a file of the recorded checkpoint gone, and no newer one there? The job may delete its old
 * checkpoints, but not the newest. What was moved aside comes back. */
static bool misses_newest_checkpoint(const struct local_judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;
	bool newer = any(judgement, is_newer);

	for (size_t i = 0; i < facts->complete->count; i++) {
		const char *path = facts->complete->items[i].path;
		int64_t step = step_of_path(path);

		if (local_is_of_checkpoint(facts, path) && !file_list_find(facts->local, path) &&
		    !(is_moved(facts, path) &&
		      (reconcile_may_put_back(facts, path) ||
		       has_other_in_turn(judgement, &facts->complete->items[i]))) &&
		    (step < 0 ? !has_successor(judgement, &facts->complete->items[i])
			      : step == judgement->recorded_step && !newer))
			return true;
	}
	return false;
}

/* A file that is later than what the snapshot has: by its number, or a fixed name by its time. */
static bool is_ahead(const struct judged_file *file)
{
	if (file->state != FILE_INTACT && !may_be_used(file))
		return false;
	if (file->step >= 0)
		return file->step > file->all->saved_step;
	return file->saved && file->local->mtime_ns > file->saved->mtime_ns;
}

static bool is_only_here(const struct judged_file *file)
{
	return file->state != FILE_PASSED_OVER && !file_list_same_file(file->local, file->saved);
}

static bool local_equals_snapshot(const struct local_judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;

	return count_checkpoint_files(facts, facts->local) ==
		       count_checkpoint_files(facts, facts->snapshot) &&
	       !any(judgement, is_only_here);
}

/* Must the snapshot replace the local files? `age`: how the record compares with it. */
static bool must_restore(const struct local_judgement *judgement, int age)
{
	const struct reconcile_facts *facts = judgement->facts;

	/* They are of an older attempt, or were left on purpose. */
	if (age < 0 || facts->abandoned)
		return true;
	if (!facts->snapshot)
		return false;
	/* Files of the newest checkpoint are gone, and the store has all of them. */
	if (age == 0 && misses_newest_checkpoint(judgement))
		return true;
	return (facts->of_other && !any(judgement, is_ahead)) ||
	       (!any(judgement, is_intact) && !any(judgement, is_newer));
}

static enum reconcile_action decide_with_record(const struct local_judgement *judgement,
						bool *newer_than_store)
{
	const struct reconcile_facts *facts = judgement->facts;
	int age = facts->of_other ? 0 : snapshot_id_compare(facts->complete_id, facts->start);
	bool newer = any(judgement, is_unsaved) ||
		     ((age > 0 || facts->of_other) && any(judgement, is_intact));

	/* After a restart of the machine, what the store has is compared with it byte by byte: a
	 * restore takes from here what is equal. */
	if (must_restore(judgement, age) || (facts->rebooted && !newer && facts->snapshot))
		return RECONCILE_RESTORE;
	*newer_than_store = newer;
	return RECONCILE_KEEP;
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

static enum reconcile_action choose_action(const struct local_judgement *judgement,
					   bool *newer_than_store)
{
	const struct reconcile_facts *facts = judgement->facts;

	if (facts->restores)
		return RECONCILE_RESTORE;
	if (only_running_files_go_on(facts))
		return RECONCILE_KEEP;
	if (count_checkpoint_files(facts, facts->local) == 0)
		return snapshot_id_is_none(facts->start) ? RECONCILE_FRESH : RECONCILE_RESTORE;
	if (facts->complete)
		return decide_with_record(judgement, newer_than_store);
	*newer_than_store = !facts->snapshot && any(judgement, is_unsaved);
	return !facts->snapshot || local_equals_snapshot(judgement)
		       ? RECONCILE_KEEP
		       : RECONCILE_RESTORE;
}

/* Is the file moved aside as torn? Not for a snapshot that has it as it is. */
static bool is_to_go(const struct judged_file *file, enum reconcile_action action)
{
	if (action == RECONCILE_KEEP)
		return file->state == FILE_TORN &&
		       (file->all->facts->complete || is_only_here(file));
	return action == RECONCILE_RESTORE && file->state >= FILE_TORN && is_only_here(file);
}

static void note_file(struct reconcile_plan *plan, const struct judged_file *file)
{
	bool only_here = is_only_here(file);

	if (is_to_go(file, plan->action)) {
		plan->torn[plan->torn_count++] =
			(struct torn_file){text_copy(file->path), file->reason};
		return;
	}
	if (file->state == FILE_BROKEN && file->reason != TORN_SET && !plan->broken)
		plan->broken = file->path;
	if (file->state < FILE_TORN && (plan->aside_newer ? is_ahead(file) : only_here) &&
	    file->step > plan->aside_step)
		plan->aside_step = file->step;
	if (file_patterns_kind(file->all->facts->patterns, file->path) != FILE_KIND_ORDINARY)
		return;
	plan->any_left = true;
	if (file->step > plan->step && !companion_file_is(file->path))
		plan->step = file->step;
}

void reconcile_decide(const struct reconcile_facts *facts, struct reconcile_plan *plan)
{
	auto_(local_judgement_release) struct local_judgement judgement = {0};

	*plan = (struct reconcile_plan){.step = -1, .aside_step = -1};
	local_files_judge(facts, &judgement);
	plan->action = choose_action(&judgement, &plan->newer_than_store);
	plan->aside_newer = any(&judgement, is_ahead);
	plan->torn = memory_new((judgement.count + 1) * sizeof(plan->torn[0]));
	each_file (file, &judgement)
		note_file(plan, file);
	plan->prune = facts->complete || plan->torn_count > 0;
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

/* --- what stays of the save under way --- */

/* Sizes vary a little from save to save; an object that is missing is more. */
static bool is_shorter(uint64_t size, uint64_t before)
{
	uint64_t least = before / 2 < 256 ? before / 2 : 256;
	uint64_t tolerance = before / 64 > least ? before / 64 : least;

	return size + tolerance < before;
}

bool left_file_stays(const struct left_file *file)
{
	if (text_equal(file->front, UNDER_WAY_CLOSED))
		return (file->content & CONTENT_VALID) || !file->rebooted;
	if (file->content & CONTENT_END_OF_ALL)
		return true;
	if (is_shorter(file->size, file->before))
		return false;
	return (file->content & CONTENT_END_OF_ONE) ||
	       (text_equal(file->front, UNDER_WAY_UNSEEN) && !file->rebooted);
}

/* The newest file that has the same name as `name` gives it, and a lower number; for a fixed name
 * itself. NULL: there is none. */
static const struct snapshot_file *file_before(const struct snapshot_files *files, const char *path,
					       char *(*name)(const char *path))
{
	auto_free char *own = name(path);
	int64_t step = step_of_path(path), newest = -1;
	const struct snapshot_file *found = NULL;

	for (size_t i = 0; files && i < files->count; i++) {
		auto_free char *other = name(files->items[i].path);
		int64_t of_other = step_of_path(files->items[i].path);

		if (!text_equal(own, other) || (step >= 0 && of_other >= step) || of_other < newest)
			continue;
		newest = of_other;
		found = &files->items[i];
	}
	return found;
}

/* 0: the job wrote none before it. */
static uint64_t size_before(const struct snapshot_files *files, const char *path)
{
	const struct snapshot_file *before = file_before(files, path, checkpoint_name_template);

	return before ? before->size : 0;
}

/* The files that have this key, by their names without numbers; sorted. */
static void list_named(const struct snapshot_files *files, const char *key,
		       struct snapshot_files *named)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct snapshot_file *file = &files->items[i];
		auto_free char *other = checkpoint_name_key(file->path);

		if (text_equal(key, other))
			file_list_add(named, (struct snapshot_file){
						     .path = checkpoint_name_template(file->path),
						     .size = file->size,
					     });
	}
	file_list_sort(named);
}

/* Does the checkpoint lack a name that the one before it had, or is it shorter? What is measured of
 * a checkpoint may come later. */
static bool lacks_of_number(const struct reconcile_facts *facts, const struct snapshot_files *known,
			    const char *path)
{
	auto_(snapshot_files_release) struct snapshot_files here = {0}, there = {0};
	const struct snapshot_file *before = file_before(known, path, checkpoint_name_family);
	auto_free char *key = checkpoint_name_key(path);
	auto_free char *key_before = before ? checkpoint_name_key(before->path) : NULL;
	bool lacks = false;

	if (!before)
		return false;
	list_named(facts->local, key, &here);
	list_named(known, key_before, &there);
	for (size_t i = 0; i < there.count && !lacks; i++) {
		const char *name = there.items[i].path;
		const struct snapshot_file *own = file_list_find(&here, name);

		lacks = own ? is_shorter(own->size, there.items[i].size)
			    : !companion_file_is(name) && !companion_file_is_result(name);
	}
	return lacks;
}

/* Is another name of its set still what it was before this save, or half of that? */
static bool lacks_of_set(const struct reconcile_facts *facts, const struct path_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *path = list->paths[i];
		const struct snapshot_file *here, *known;

		if (!text_starts(path, UNDER_WAY_REST))
			continue;
		path += strlen(UNDER_WAY_REST);
		here = file_list_find(facts->local, path);
		known = file_list_find(facts->complete, path);
		if (!here || !known || file_list_same_file(here, known) ||
		    is_shorter(here->size, known->size))
			return true;
	}
	return false;
}

/* Does a file of this save lack what was there before? */
static bool lacks(const struct reconcile_facts *facts, const struct path_list *list,
		  const char *path)
{
	const struct snapshot_files *known =
		size_before(facts->complete, path) > 0 ? facts->complete : facts->snapshot;

	return is_fixed_name(path) ? lacks_of_set(facts, list)
				   : lacks_of_number(facts, known, path);
}

static bool stays(const struct reconcile_facts *facts, const char *path, const char *front)
{
	const struct snapshot_file *here = file_list_find(facts->local, path);
	struct left_file file = {
		.front = front,
		.rebooted = facts->rebooted,
		.content = path_set_marks(facts->whole, path),
		.size = here ? here->size : 0,
		.before = size_before(facts->complete, path),
	};

	if (file.before == 0)
		file.before = size_before(facts->snapshot, path);
	/* Torn by its content: with it goes the rest of its save. */
	return !is_moved(facts, path) && left_file_stays(&file);
}

/* The save of a file: its number, or that of the fixed names. */
static char *save_of(const char *path)
{
	auto_free char *key = checkpoint_name_key(path);

	return text_format("=%s", key);
}

enum save_mark {
	SAVE_ASKED = 1,
	SAVE_TORN = 2,
};

/* May a file behind this front stay? */
static bool front_may_stay(const char *front)
{
	return text_equal(front, UNDER_WAY_CLOSED) || text_equal(front, UNDER_WAY_UNLESS_WHOLE) ||
	       text_equal(front, UNDER_WAY_UNSEEN);
}

/* What a save lacks is asked once, because it may have many files. */
static void mark_torn_saves(const struct path_list *list, const struct reconcile_facts *facts,
			    struct path_set *saves)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *front, *path = under_way_path(list->paths[i], &front);
		auto_free char *save = save_of(path);
		bool asks = text_equal(front, UNDER_WAY_UNSEEN) && !path_set_marks(saves, save);

		if (!front_may_stay(front))
			continue;
		if (asks)
			path_set_mark(saves, save, SAVE_ASKED);
		if ((asks && lacks(facts, list, path)) || !stays(facts, path, front))
			path_set_mark(saves, save, SAVE_TORN);
	}
}

/* A fixed name that is torn, or that has not been written in this save yet. */
static bool is_torn_fixed_name(const struct reconcile_facts *facts, const char *path,
			       const char *front)
{
	if (text_equal(front, UNDER_WAY_WITH))
		return !stays(facts, path, UNDER_WAY_CLOSED);
	return text_equal(front, UNDER_WAY_REST) ||
	       ((!*front || front_may_stay(front)) && is_fixed_name(path));
}

void left_files_settle(struct path_list *list, const struct reconcile_facts *facts)
{
	auto_(path_set_release) struct path_set saves = {0};
	struct path_list left = {0}, with = {0};
	bool fixed = false;

	mark_torn_saves(list, facts, &saves);
	for (size_t i = 0; i < list->count; i++) {
		const char *front, *path = under_way_path(list->paths[i], &front);
		auto_free char *save = save_of(path);

		if (front_may_stay(front) && !(path_set_marks(&saves, save) & SAVE_TORN))
			continue;
		fixed |= is_torn_fixed_name(facts, path, front);
		path_list_add(text_equal(front, UNDER_WAY_WITH) ? &with : &left,
			      front_may_stay(front) ? path : list->paths[i]);
	}
	for (size_t i = 0; i < with.count && fixed; i++)
		path_list_add(&left, with.paths[i]);
	path_list_free(with.paths);
	path_list_free(list->paths);
	*list = left;
}
