#include "salvage.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_OUT 1
/* Of a checkpoint's key: a file of it is lost. */
#define DAMAGED 1

static bool is_running(const struct snapshot_file *file, const struct file_patterns *patterns)
{
	return file->running || file_patterns_kind(patterns, file->path) != FILE_KIND_ORDINARY;
}

/* --- the files that stay --- */

/* A file of a numbered checkpoint: its kind, and its number. */
struct numbered_file {
	char *kind;
	int64_t number;
};

struct staying {
	struct numbered_file *files; /* by kind, then by number */
	size_t count;
};

static void staying_release(struct staying *staying)
{
	for (size_t i = 0; i < staying->count; i++)
		free(staying->files[i].kind);
	free(staying->files);
}
AUTO(struct staying, staying_release);

static int compare_numbered_files(const void *a, const void *b)
{
	const struct numbered_file *first = a, *second = b;
	int by_kind = strcmp(first->kind, second->kind);

	return by_kind != 0 ? by_kind
			    : (first->number > second->number) - (first->number < second->number);
}

static void collect_staying(const struct snapshot_files *files, const struct path_set *left_out,
			    struct staying *staying)
{
	staying->files = memory_new((files->count + 1) * sizeof(*staying->files));
	for (size_t i = 0; i < files->count; i++) {
		const char *path = files->items[i].path;
		struct checkpoint_name name = checkpoint_name_parse(path);

		if (name.certain && !path_set_marks(left_out, path))
			staying->files[staying->count++] =
				(struct numbered_file){checkpoint_name_template(path), name.number};
	}
	qsort(staying->files, staying->count, sizeof(*staying->files), compare_numbered_files);
}

/* Does a file of the same kind stay, of a newer checkpoint? */
static bool has_newer(const struct staying *staying, const char *path)
{
	auto_free char *kind = checkpoint_name_template(path);
	struct numbered_file wanted = {kind, checkpoint_name_parse(path).number};
	size_t low = 0, high = staying->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_numbered_files(&staying->files[middle], &wanted) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < staying->count && text_equal(staying->files[low].kind, kind);
}

/* --- what is left out --- */

static bool mark_lost(const struct snapshot_files *files, const char *path,
		      const struct file_patterns *patterns, struct path_set *left_out,
		      struct path_set *checkpoints)
{
	const struct snapshot_file *file = file_list_find(files, path);
	auto_free char *key = NULL;

	if (!file)
		return false;
	if (is_running(file, patterns)) {
		path_set_mark(left_out, path, LEFT_OUT);
		return true;
	}
	if (!checkpoint_name_parse(path).certain)
		return false;
	key = checkpoint_name_key(path);
	path_set_mark(checkpoints, key, DAMAGED);
	return true;
}

static void mark_checkpoints(const struct snapshot_files *files,
			     const struct file_patterns *patterns,
			     const struct path_set *checkpoints, struct path_set *left_out)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct snapshot_file *file = &files->items[i];
		auto_free char *key = checkpoint_name_key(file->path);

		if (!is_running(file, patterns) && path_set_marks(checkpoints, key))
			path_set_mark(left_out, file->path, LEFT_OUT);
	}
}

bool salvage_decide(const struct snapshot_files *files, const struct path_list *lost,
		    const struct file_patterns *patterns, struct path_set *left_out,
		    const char **why, const char **path)
{
	auto_(path_set_release) struct path_set checkpoints = {0};
	auto_(staying_release) struct staying staying = {0};

	*why = "which is part of no checkpoint that could be left out";
	for (size_t i = 0; i < lost->count; i++) {
		*path = lost->paths[i];
		if (!mark_lost(files, *path, patterns, left_out, &checkpoints))
			return false;
	}
	mark_checkpoints(files, patterns, &checkpoints, left_out);
	collect_staying(files, left_out, &staying);
	*why = "which is part of its newest checkpoint";
	for (size_t i = 0; i < files->count; i++) {
		*path = files->items[i].path;
		if (!is_running(&files->items[i], patterns) && path_set_marks(left_out, *path) &&
		    !has_newer(&staying, *path))
			return false;
	}
	return true;
}
