#include "file_patterns.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <fnmatch.h>
#include <string.h>

/* Of the last part of the path. */
static const char *const running_names[] = {
	// clang-format off
	"*.log", "*.log.json", "*.log.txt", "log.txt", "*[-_]log.txt", "*.out", "*.err",
	"*.csv", "*.tsv", "*.jsonl", "*.ndjson",
	"*.wandb", "*.tfevents*", "events.out.*",
	// clang-format on
};

/* A lock is held by a process of this machine. On the next one nobody would ever let go of it.
 * Optuna gives its own another name before it removes it. */
static const char *const lock_names[] = {"*.lock", "*.lck", "*.lock*.rename"};

/* --- adding --- */

static int add_pattern(struct path_list *list, char *pattern, struct err *err)
{
	auto_free char *said = text_copy(pattern);

	/* "dir/" and "./dir" are what a shell's completion makes of "dir". */
	while (text_starts(pattern, "./"))
		pattern += 2;
	while (strlen(pattern) > 1 && text_ends(pattern, "/"))
		pattern[strlen(pattern) - 1] = '\0';
	if (!*pattern)
		return err_set(err, ERR_INVALID,
			       "invalid pattern '%s': it is empty; write one such as *.csv or "
			       "wandb",
			       said);
	if (*pattern == '/')
		return err_set(err, ERR_INVALID,
			       "invalid pattern '%s': write it relative to the checkpoint "
			       "directory, such as wandb or run/*.csv",
			       said);
	if (text_path_climbs(pattern))
		return err_set(err, ERR_INVALID,
			       "invalid pattern '%s': '..' leads out of the checkpoint directory; "
			       "write a path below it",
			       said);
	path_list_add(list, pattern);
	return 0;
}

static int add_patterns(struct path_list *list, const char *text, struct err *err)
{
	auto_free char *copy = text_copy(text);
	char *rest = copy, *pattern;

	while ((pattern = strsep(&rest, ",")))
		if (add_pattern(list, pattern, err) < 0)
			return -1;
	return 0;
}

int file_patterns_add_running(struct file_patterns *patterns, const char *text, struct err *err)
{
	return add_patterns(&patterns->running, text, err);
}

int file_patterns_add_exclude(struct file_patterns *patterns, const char *text, struct err *err)
{
	return add_patterns(&patterns->exclude, text, err);
}

int file_patterns_add_include(struct file_patterns *patterns, const char *text, struct err *err)
{
	return add_patterns(&patterns->include, text, err);
}

void file_patterns_release(struct file_patterns *patterns)
{
	path_list_free(patterns->running.paths);
	path_list_free(patterns->exclude.paths);
	path_list_free(patterns->include.paths);
	*patterns = (struct file_patterns){0};
}

/* --- matching --- */

static bool matches_any_part(const char *pattern, const char *path)
{
	auto_free char *parts = text_copy(path);
	char *rest = parts, *part;

	while ((part = strsep(&rest, "/")))
		if (fnmatch(pattern, part, 0) == 0)
			return true;
	return false;
}

static const char *find_match(const struct path_list *list, const char *path)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *pattern = list->paths[i];

		if (strchr(pattern, '/') ? fnmatch(pattern, path, FNM_LEADING_DIR) == 0
					 : matches_any_part(pattern, path))
			return pattern;
	}
	return NULL;
}

static const char *find_name(const char *const *names, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (fnmatch(names[i], text_last_part(path), 0) == 0)
			return names[i];
	return NULL;
}

#define FIND_NAME(names, path) find_name(names, sizeof(names) / sizeof((names)[0]), path)

/* *kind is set if one of the user's patterns matches. */
static const char *find_decision(const struct file_patterns *patterns, const char *path,
				 enum file_kind *kind)
{
	const struct {
		const struct path_list *list;
		enum file_kind kind;
	} order[] = {
		{&patterns->include, FILE_KIND_ORDINARY},
		{&patterns->exclude, FILE_KIND_EXCLUDED},
		{&patterns->running, FILE_KIND_RUNNING},
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		const char *pattern = find_match(order[i].list, path);

		if (pattern) {
			*kind = order[i].kind;
			return pattern;
		}
	}
	return NULL;
}

enum file_kind file_patterns_kind(const struct file_patterns *patterns, const char *path)
{
	enum file_kind kind;

	if (patterns && find_decision(patterns, path, &kind))
		return kind;
	if (FIND_NAME(lock_names, path))
		return FILE_KIND_EXCLUDED;
	return FIND_NAME(running_names, path) ? FILE_KIND_RUNNING : FILE_KIND_ORDINARY;
}

const char *file_patterns_lock_name(const struct file_patterns *patterns, const char *path)
{
	return file_patterns_match(patterns, path) ? NULL : FIND_NAME(lock_names, path);
}

const char *file_patterns_match(const struct file_patterns *patterns, const char *path)
{
	enum file_kind kind;

	return patterns ? find_decision(patterns, path, &kind) : NULL;
}

/* --- for the tracker --- */
