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

static bool is_listed(const struct judgement *judgement, const char *path)
{
	unsigned marks = marks_of(judgement, path);

	return (under_way_has(judgement->facts->under_way, path) && !(marks & GROUP_PLACED)) ||
	       (marks & GROUP_LISTED);
}

/* Do the checkpoints in the record consist of one file each? */
static bool has_single_files(const struct snapshot_files *files)
{
	auto_(path_set_release) struct path_set groups = {0};

	for (size_t i = 0; files && i < files->count; i++) {
		auto_free char *group = group_of(files->items[i].path);

		if (*group && path_set_marks(&groups, group))
			return false;
		if (*group)
			path_set_mark(&groups, group, 1);
	}
	return true;
}

/*
 * The listed file is gone, and the one whose name its own was made from is there: its writer has
 * renamed it, as the last thing that it does to a checkpoint of one file. Where there may be more
 * files, the next one may be still to come; and a crash of the machine may lose the content of
 * what was renamed.
 */
static bool was_renamed_whole(const struct reconcile_facts *facts, const char *listed)
{
	auto_free char *group = group_of(listed);
	const struct snapshot_file *renamed = NULL;

	if (facts->rebooted || strchr(listed, '/') || !*group ||
	    file_list_find(facts->local, listed))
		return false;
	for (size_t i = 0; i < facts->local->count; i++) {
		auto_free char *other = group_of(facts->local->items[i].path);

		if (!text_equal(other, group))
			continue;
		if (renamed)
			return false;
		renamed = &facts->local->items[i];
	}
	return renamed && strstr(listed, renamed->path) &&
	       !under_way_has(facts->under_way, renamed->path);
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

static bool has_name_below(const struct snapshot_files *files, const char *directory,
			   const char *name)
{
	for (size_t i = 0; i < files->count; i++) {
		auto_free char *other = checkpoint_name_template(files->items[i].path);

		if (text_starts(files->items[i].path, directory) && text_equal(other, name))
			return true;
	}
	return false;
}

/* Has it all names of the newest complete one of its kind? False if there is none. */
static bool has_names_of_one_before(const struct reconcile_facts *facts, const char *directory)
{
	auto_free char *family = checkpoint_name_family(directory);
	int64_t newest = -1;
	bool all = false;

	for (size_t i = 0; facts->complete && i < facts->complete->count; i++) {
		const char *path = facts->complete->items[i].path;
		auto_free char *other = checkpoint_name_family(path);
		auto_free char *name = checkpoint_name_template(path);
		int64_t step = step_of_path(path);

		if (step < newest || !text_equal(other, family) || text_starts(path, directory))
			continue;
		all = (step > newest || all) && has_name_below(facts->local, directory, name);
		newest = step;
	}
	return all;
}

/*
 * Its writer has renamed it into place since the list was written, as the last thing that it does
 * to it: a killed one renames nothing. Where the one before it got more after that, it has fewer
 * names.
 */
static bool was_placed_whole(const struct reconcile_facts *facts, const char *directory)
{
	return !facts->rebooted && any_below(facts->local, directory) &&
	       has_left_temporary_name(facts, directory) &&
	       has_names_of_one_before(facts, directory);
}

static void mark_groups(struct judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;
	bool single_files = has_single_files(facts->complete);

	for (char *const *path = facts->under_way; path && *path; path++)
		if (text_ends(*path, "/") && was_placed_whole(facts, *path))
			mark_group(judgement, *path, GROUP_PLACED);
	/* A file that was listed may have been renamed since: m-5.pt.tmp, m-5.pt. */
	for (char *const *path = facts->under_way; path && *path; path++)
		if (!text_ends(*path, "/") && !text_starts(*path, UNDER_WAY_ALONE) &&
		    !text_starts(*path, UNDER_WAY_REST) &&
		    !(single_files && was_renamed_whole(facts, *path)))
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
	if (!recorded && facts->under_way_unknown)
		return torn(TORN_UNKNOWN);
	return (struct judged_file){.state = recorded ? FILE_INTACT : FILE_UNVOUCHED};
}

static bool is_fixed_name(const char *path)
{
	auto_free char *group = group_of(path);

	return !*group;
}

/* Is a fixed name torn that was being written over: by the list, or by its content? */
static bool any_torn_fixed_name(const struct judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;

	for (size_t i = 0; i < facts->local->count; i++)
		if (judgement->files[i].state == FILE_TORN &&
		    is_fixed_name(facts->local->items[i].path))
			return true;
	for (char *const *path = facts->moved; path && *path; path++)
		if (under_way_has(facts->under_way, *path) && is_fixed_name(*path))
			return true;
	return false;
}

/* A set is one: where a file of it is torn, the others are what is left of it. */
static void judge_rest_of_sets(struct judgement *judgement)
{
	const struct reconcile_facts *facts = judgement->facts;
	bool any = any_torn_fixed_name(judgement);

	for (size_t i = 0; any && i < facts->local->count; i++)
		if (judgement->files[i].state != FILE_PASSED_OVER &&
		    judgement->files[i].state != FILE_TORN &&
		    under_way_has_rest(facts->under_way, facts->local->items[i].path)) {
			judgement->files[i].state = FILE_TORN;
			judgement->files[i].reason = TORN_SET;
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
	judge_rest_of_sets(judgement);
}

void judgement_release(struct judgement *judgement)
{
	path_set_release(&judgement->groups);
	free(judgement->files);
}
