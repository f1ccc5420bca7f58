#include "local_files.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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

bool local_is_of_checkpoint(const struct reconcile_facts *facts, const char *path)
{
	const struct snapshot_file *saved =
		facts->snapshot ? file_list_find(facts->snapshot, path) : NULL;

	return file_patterns_kind(facts->patterns, path) == FILE_KIND_ORDINARY &&
	       !(saved && saved->running);
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

static void mark_group(struct judgement *judgement, const char *path, unsigned marks)
{
	auto_free char *group = group_of(path);

	if (*group)
		path_set_mark(&judgement->groups, group, marks);
}

static unsigned marks_of(const struct judgement *judgement, const char *path)
{
	auto_free char *group = group_of(path);

	return *group ? path_set_marks(&judgement->groups, group) : 0;
}

static bool is_recorded(const struct reconcile_facts *facts, const struct snapshot_file *local)
{
	return facts->complete &&
	       file_list_same_file(local, file_list_find(facts->complete, local->path));
}

/*
 * It is empty, and what the last supervisor here knew of it had content. Its writer has opened it
 * anew, and was killed before it wrote: so soon after that even the list does not have it yet.
 */
static bool is_emptied(const struct reconcile_facts *facts, const struct snapshot_file *local)
{
	const struct snapshot_file *known =
		facts->complete ? file_list_find(facts->complete, local->path) : NULL;

	if (!known && facts->snapshot)
		known = file_list_find(facts->snapshot, local->path);
	/* A list or a note may be emptied for good. */
	return local->size == 0 && known && known->size > 0 && !companion_file_is(local->path);
}

/* Was it there before the save under way? */
static bool is_known(const struct reconcile_facts *facts, const char *path)
{
	return (facts->complete && file_list_find(facts->complete, path)) ||
	       (facts->snapshot && file_list_find(facts->snapshot, path));
}

static bool is_listed(const struct judgement *judgement, const char *path)
{
	unsigned marks = marks_of(judgement, path);

	const struct reconcile_facts *facts = judgement->facts;

	if (under_way_has_with(facts->under_way, path))
		return is_known(facts, path);
	return (under_way_has(facts->under_way, path) && !(marks & GROUP_PLACED)) ||
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

static void mark_groups(struct judgement *judgement)
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
		if (!under_way_has_alone(facts->under_way, *path))
			mark_group(judgement, *path, GROUP_REST);
	for (size_t i = 0; i < facts->local->count; i++) {
		const struct snapshot_file *local = &facts->local->items[i];

		if (local_is_of_checkpoint(facts, local->path) && !is_recorded(facts, local) &&
		    !under_way_has_alone(facts->under_way, local->path))
			mark_group(judgement, local->path,
				   is_emptied(facts, local)            ? GROUP_REST
				   : is_listed(judgement, local->path) ? GROUP_TORN
								       : GROUP_WRITTEN);
	}
	for (size_t i = 0; facts->complete && i < facts->complete->count; i++) {
		const char *path = facts->complete->items[i].path;

		if (local_is_of_checkpoint(facts, path) && !file_list_find(facts->local, path))
			mark_group(judgement, path, GROUP_REDUCED);
	}
}

static struct judged_file torn(enum torn_reason reason)
{
	return (struct judged_file){.state = FILE_TORN, .reason = reason};
}

static struct judged_file judge_file(const struct judgement *judgement,
				     const struct snapshot_file *local)
{
	const struct reconcile_facts *facts = judgement->facts;
	bool recorded = is_recorded(facts, local);
	unsigned group;

	if (!local_is_of_checkpoint(facts, local->path))
		return (struct judged_file){.state = FILE_PASSED_OVER};
	group = marks_of(judgement, local->path);
	if ((group & GROUP_TORN) || (!recorded && is_listed(judgement, local->path)))
		return torn(facts->whole && path_set_marks(facts->whole, local->path)
				    ? TORN_HALF
				    : TORN_UNDER_WAY);
	if (is_emptied(facts, local))
		return torn(TORN_EMPTIED);
	if (group & GROUP_REST)
		return torn(TORN_REST);
	/* One that was written anew meanwhile may have fewer files, or others. */
	if ((group & (GROUP_REDUCED | GROUP_WRITTEN)) == GROUP_REDUCED)
		return torn(TORN_REDUCED);
	return (struct judged_file){.state = recorded ? FILE_INTACT : FILE_UNVOUCHED};
}

static bool is_fixed_name(const char *path)
{
	auto_free char *group = group_of(path);

	return !*group;
}

/* Does the snapshot have this very file, under its name or one that it had before it was put aside?
 */
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
	const struct snapshot_file *known =
		facts->complete ? file_list_find(facts->complete, path) : NULL;
	const struct snapshot_file *saved =
		facts->snapshot ? file_list_find(facts->snapshot, path) : NULL;

	/* Of names that are written over all the time the record has none. */
	if (!saved || (known ? !file_list_same_file(known, saved) : !is_fixed_name(path)))
		return false;
	return !is_fixed_name(path) || !would_mix(facts, path);
}

/* Torn under a fixed name, and it was there before the save under way. (A number that is written
 * over is moved aside: the job finds the one before.) */
static bool is_written_over(const struct judgement *judgement, size_t i)
{
	const struct reconcile_facts *facts = judgement->facts;
	const char *path = facts->local->items[i].path;

	return judgement->files[i].state == FILE_TORN && is_fixed_name(path) &&
	       is_known(facts, path);
}

/* None comes back if one cannot: they may be of one save. And then those at rest that are of its
 * set are no checkpoint either. */
static void judge_written_over(struct judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;
	bool broken = false;

	for (size_t i = 0; i < facts->local->count; i++)
		broken |= is_written_over(judgement, i) &&
			  !reconcile_may_put_back(facts, facts->local->items[i].path);
	for (char *const *path = facts->moved; path && *path; path++)
		broken |= is_fixed_name(*path) && under_way_has(facts->under_way, *path) &&
			  !reconcile_may_put_back(facts, *path);
	for (size_t i = 0; broken && i < facts->local->count; i++) {
		struct judged_file *file = &judgement->files[i];

		if (is_written_over(judgement, i))
			file->state = FILE_BROKEN;
		else if (file->state != FILE_PASSED_OVER &&
			 under_way_has_rest(facts->under_way, facts->local->items[i].path))
			*file = (struct judged_file){FILE_BROKEN, TORN_SET, file->step};
	}
}

void local_files_judge(const struct reconcile_facts *facts, struct judgement *judgement)
{
	*judgement = (struct judgement){
		.facts = facts,
		.files = memory_new((facts->local->count + 1) * sizeof(struct judged_file)),
		.recorded_step = highest_step(facts, facts->complete),
		.saved_step = highest_step(facts, facts->snapshot),
	};
	mark_groups(judgement);
	for (size_t i = 0; i < facts->local->count; i++) {
		judgement->files[i] = judge_file(judgement, &facts->local->items[i]);
		judgement->files[i].step = step_of_path(facts->local->items[i].path);
	}
	judge_written_over(judgement);
}

void judgement_release(struct judgement *judgement)
{
	path_set_release(&judgement->groups);
	free(judgement->files);
}
