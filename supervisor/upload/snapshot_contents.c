/* Which files belong to a snapshot. */
#include "snapshot_run.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/held_directory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of the checkpoint that it belongs to; -1: it is a fixed name, or counts as one. */
static int64_t number_of(const struct snapshot_run *run, const char *path)
{
	int64_t number = checkpoint_name_parse(path).number;
	auto_free char *family = NULL, *template = NULL;

	if (number < 0 || !run->plan.parts || !*run->plan.parts)
		return number;
	family = checkpoint_name_family(path);
	template = checkpoint_name_template(path);
	for (char **parts = run->plan.parts; *parts; parts++)
		if (text_equal(*parts, family) ||
		    (text_starts(*parts, ":") && text_equal(*parts + 1, template)))
			return -1;
	return number;
}

/* Of a checkpoint behind the one of this snapshot. Another machine that has the directory too may
 * be writing it, which nobody sees here. */
static bool is_of_later(const struct snapshot_run *run, const char *path)
{
	int64_t newest = -1;

	if (run->owner->options.sharers && run->plan.key)
		newest = checkpoint_name_parse(run->plan.key).number;
	return newest >= 0 && number_of(run, path) > newest;
}

/* By the name and by what is there. One that is gone again was a lock. */
static bool is_lock(const struct snapshot_run *run, const char *path)
{
	const struct snapshot_queue_options *options = &run->owner->options;
	struct stat status;

	if (!file_patterns_lock_name(options->patterns, path))
		return false;
	auto_close int directory = held_directory_open(options->workspace->directory, NULL);

	if (directory < 0 || beneath_status(directory, path, &status) < 0)
		return true;
	return !S_ISDIR(status.st_mode) &&
	       (!S_ISREG(status.st_mode) || status.st_size <= FILE_LOCK_MOST);
}

static bool is_excluded(const struct snapshot_run *run, const char *path)
{
	const struct file_patterns *patterns = run->owner->options.patterns;

	return file_patterns_kind(patterns, path) == FILE_KIND_EXCLUDED &&
	       (!file_patterns_lock_name(patterns, path) || is_lock(run, path));
}

/* Of a part without a checkpoint: the file is part of it, or it is a directory. What the job has of
 * other members, restored from theirs, stays theirs. */
static bool lies_beside(const struct snapshot_run *run, const char *path)
{
	const struct workspace *workspace = run->owner->options.workspace;
	auto_close int directory = -1;

	if (checkpoint_name_parse(path).unit_length == 0 &&
	    (companion_file_is(path) || snapshot_is_running_path((void *)run, path)))
		return true;
	directory = held_directory_open(workspace->directory, NULL);
	return directory >= 0 && beneath_is_directory(directory, path);
}

bool snapshot_leaves_out(const struct snapshot_run *run, const char *path)
{
	const struct snapshot_queue_options *options = &run->owner->options;

	return is_of_later(run, path) || snapshot_plan_lists(run->plan.excluded.paths, path) ||
	       text_equal(path, ".reprieve") || is_excluded(run, path) ||
	       profile_is_temporary_path(options->profile, path) ||
	       (run->report.round.beside && !lies_beside(run, path));
}

/* Remembers the first path that each pattern of the user's, and each known name of locks, takes,
 * for the report. */
static void note_match(struct snapshot_run *run, const char *path)
{
	const char *pattern = file_patterns_match(run->owner->options.patterns, path);
	const char *lock =
		is_lock(run, path) ? file_patterns_lock_name(run->owner->options.patterns, path)
				   : NULL;
	enum file_kind kind = file_patterns_kind(run->owner->options.patterns, path);
	auto_free char *text = NULL;
	size_t length;

	if (!lock && (!pattern || kind == FILE_KIND_ORDINARY))
		return;
	if (lock)
		text = text_format("--exclude '%s', known as a name of locks, (%s", lock, path);
	else
		text = text_format("%s '%s' (%s",
				   kind == FILE_KIND_EXCLUDED ? "--exclude" : "--running", pattern,
				   path);
	length = strcspn(text, "(");
	for (size_t i = 0; i < run->matched.count; i++)
		if (strncmp(run->matched.paths[i], text, length) == 0)
			return;
	path_list_add(&run->matched, text);
}

static bool has_number(const struct path_set *numbers, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	return path_set_marks(numbers, text);
}

static void add_number(struct path_set *numbers, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	path_set_mark(numbers, text, 1);
}

/* Is it a file of the newest complete checkpoint, if something of that was deleted? */
static bool is_of_newest(const struct snapshot_run *run, const char *path)
{
	return run->plan.gone == GONE_NEWEST && number_of(run, path) == run->plan.gone_number &&
	       !companion_file_is(path) && !snapshot_is_running_path((void *)run, path);
}

bool snapshot_excludes(void *arg, const char *path)
{
	struct snapshot_run *run = arg;
	int64_t number = number_of(run, path);

	note_match(run, path);
	/* Of a checkpoint that is being deleted, some files were opened and others not. */
	if (snapshot_leaves_out(run, path) || (number >= 0 && has_number(&run->deleted, number)) ||
	    database_copies_exclude(&run->owner->databases, path))
		return true;
	if (!run->confirmed && number >= 0) {
		path_set_mark(&run->walked.paths, path, 1);
		add_number(&run->walked.numbers, number);
	}
	return false;
}

bool snapshot_note_deleted(struct snapshot_run *run)
{
	int64_t newest = run->report.round.older ? run->report.round.step
						 : checkpoint_name_parse(run->plan.key).number;

	for (char **path = run->plan.complete; path && *path; path++) {
		int64_t number = checkpoint_name_parse(*path).number;

		if (has_number(&run->deleted, number) ||
		    path_set_marks(&run->walked.paths, *path) ||
		    file_list_path_exists(run->owner->options.workspace->directory, *path))
			continue;
		add_number(&run->deleted, number);
		if (number == newest)
			return false;
	}
	return true;
}

/* Deleted since it was complete, which belongs to the save that follows. */
static bool is_of_gone(const struct snapshot_run *run, const char *path)
{
	if (run->plan.gone == GONE_NOTHING || run->owner->options.of_gang)
		return false;
	return run->plan.gone == GONE_ANY || is_of_newest(run, path);
}

bool snapshot_is_wanted(void *arg, const char *path)
{
	const struct snapshot_run *run = arg;

	if (run->plan.gone != GONE_NEWEST || run->plan.lacks_newest || run->plan.ended ||
	    run->owner->options.of_gang || is_of_newest(run, path))
		return true;
	for (char **complete = run->plan.complete; complete && *complete; complete++)
		if (text_equal(*complete, path))
			return true;
	return false;
}

/* A pointer that is carried names a checkpoint of its time, which the job may have removed since.
 * Of one that is still there in part, nothing is mixed in. */
static bool is_named_by_carried(const struct snapshot_run *run, const char *path)
{
	int64_t number = number_of(run, path);

	return run->carries_names && number >= 0 && !has_number(&run->walked.numbers, number) &&
	       !snapshot_leaves_out(run, path);
}

bool snapshot_carries(void *arg, const char *path)
{
	const struct snapshot_run *run = arg;
	const struct snapshot_queue_options *options = &run->owner->options;
	bool of_fixed =
		snapshot_plan_lists(run->plan.excluded.paths, path) && number_of(run, path) < 0;

	return (of_fixed || is_of_gone(run, path) || is_named_by_carried(run, path)) &&
	       !is_excluded(run, path) && !profile_is_temporary_path(options->profile, path) &&
	       (!run->report.round.beside || companion_file_is(path));
}

/* Does the path lie in the directory of a checkpoint that is complete without it? */
static bool is_in_complete(const struct snapshot_run *run, const char *path)
{
	size_t unit = checkpoint_directory_length(path);

	for (char **whole = run->plan.complete; unit > 0 && whole && *whole; whole++)
		if (strncmp(*whole, path, unit + 1) == 0)
			return true;
	return false;
}

/* A directory whose name counts checkpoints was made for one, whenever that was. One in it belongs
 * to that checkpoint, also if it was made after the last file. */
bool snapshot_is_of_next(void *arg, const char *directory)
{
	const struct snapshot_run *run = arg;
	auto_free char *inside = text_format("%s/-", directory);
	struct checkpoint_name name = checkpoint_name_parse(inside);

	if (name.certain && name.unit_length == strlen(directory))
		return true;
	if (is_in_complete(run, inside))
		return false;
	for (char **path = run->plan.made; path && *path; path++)
		if (text_equal(*path, directory))
			return true;
	return run->report.round.beside;
}

bool snapshot_carries_any(void *arg)
{
	struct snapshot_run *run = arg;

	for (size_t i = 0; i < run->plan.excluded.count; i++)
		run->carries_names |= snapshot_carries(run, run->plan.excluded.paths[i]);
	return run->carries_names || run->plan.gone != GONE_NOTHING;
}

bool snapshot_is_running_path(void *arg, const char *path)
{
	const struct snapshot_run *run = arg;

	return file_patterns_kind(run->owner->options.patterns, path) == FILE_KIND_RUNNING ||
	       snapshot_plan_lists(run->plan.running, path) ||
	       database_copies_include(&run->owner->databases, path);
}

bool snapshot_has_no_live_database(void *arg, const char *path)
{
	return snapshot_leaves_out(arg, path) || number_of(arg, path) >= 0;
}

/* --- pointers --- */

/* A file with a fixed name that holds names: a larger one is none. */
#define POINTER_MOST 4096

static bool is_of_name(char letter)
{
	return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
	       (letter >= 'A' && letter <= 'Z') || letter == '_' || letter == '-' || letter == '.';
}

/* "checkpoint-12" is not named by "checkpoint-120", but by "runs/checkpoint-12/". */
static bool names_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if ((at == text || !is_of_name(at[-1])) && !is_of_name(at[length]))
			return true;
	return false;
}

/* A number alone is a step only if it is all that the text says. */
static bool names_checkpoint(const char *text, const char *name)
{
	size_t digits = strspn(name, "0123456789");

	if (name[digits] == '\0')
		return strncmp(text, name, digits) == 0 &&
		       strspn(text + digits, " \r\n") == strlen(text + digits);
	return names_word(text, name);
}

/* Does the text name a checkpoint that is left out, by the last component of its path, with or
 * without what follows a dot? */
static bool names_excluded(const struct snapshot_run *run, const char *text)
{
	for (char **paths = run->plan.excluded.paths; paths && *paths; paths++) {
		struct checkpoint_name found = checkpoint_name_parse(*paths);
		size_t unit = found.unit_length > 0 ? found.unit_length : strlen(*paths);
		auto_free char *whole = text_copy_n(*paths, unit);
		char *slash = strrchr(whole, '/'), *name = slash ? slash + 1 : whole;

		if (found.number < 0 || (found.unit_length > 0 && is_in_complete(run, *paths)))
			continue;
		if (names_checkpoint(text, name))
			return true;
		name[strcspn(name, ".")] = '\0';
		if (checkpoint_number_of_name(name, strlen(name)) >= 0 &&
		    names_checkpoint(text, name))
			return true;
	}
	return false;
}

static bool may_be_pointer(const struct snapshot_run *run, const struct snapshot_file *file)
{
	return file->size > 0 && file->size <= POINTER_MOST && number_of(run, file->path) < 0 &&
	       file_patterns_kind(run->owner->options.patterns, file->path) == FILE_KIND_ORDINARY &&
	       !snapshot_leaves_out(run, file->path);
}

void snapshot_read_pointers(struct snapshot_run *run)
{
	auto_close int directory =
		held_directory_open(run->owner->options.workspace->directory, NULL);

	for (size_t i = 0; i < run->files.count; i++) {
		const char *file = run->files.items[i].path;
		auto_(bytes_release) struct bytes text = {0};

		if (directory < 0 || !may_be_pointer(run, &run->files.items[i]) ||
		    beneath_read(directory, file, &text, NULL) < 0 ||
		    bytes_append(&text, "", 1, NULL) < 0)
			continue;
		path_list_add(&run->read.paths, file);
		path_list_add(&run->read.texts, (const char *)text.data);
	}
}

void snapshot_drop_pointers(struct snapshot_run *run)
{
	size_t count = run->plan.excluded.count;

	for (size_t i = 0; i < run->read.paths.count; i++)
		if (names_excluded(run, run->read.texts.paths[i]))
			path_list_add(&run->plan.excluded, run->read.paths.paths[i]);
	/* What was complete last may be the pointer alone: then it is not durable by this. */
	if (run->plan.excluded.count > count && !*run->plan.key)
		snapshot_run_lacks_newest(run);
}
