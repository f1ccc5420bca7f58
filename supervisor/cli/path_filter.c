#include "path_filter.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static void add_pattern(const char ***patterns, size_t *count, const char *pattern)
{
	*patterns = memory_grow(*patterns, *count + 1, sizeof(**patterns));
	(*patterns)[(*count)++] = pattern;
}

void path_filter_include(struct path_filter *path_filter, const char *pattern)
{
	add_pattern(&path_filter->includes, &path_filter->include_count, pattern);
}

void path_filter_exclude(struct path_filter *path_filter, const char *pattern)
{
	add_pattern(&path_filter->excludes, &path_filter->exclude_count, pattern);
}

bool path_filter_is_empty(const struct path_filter *path_filter)
{
	return path_filter->include_count == 0 && path_filter->exclude_count == 0;
}

void path_filter_release(struct path_filter *path_filter)
{
	free(path_filter->includes);
	free(path_filter->excludes);
	*path_filter = (struct path_filter){0};
}

static bool matches_component(const char *pattern, const char *path)
{
	auto_free char *parts = text_copy(path);
	char *rest = parts;

	for (char *part = strsep(&rest, "/"); part; part = strsep(&rest, "/"))
		if (fnmatch(pattern, part, 0) == 0)
			return true;
	return false;
}

static bool matches_path(const char *pattern, const char *path)
{
	auto_free char *trimmed = text_copy(pattern);

	/* "dir/" and "./dir" are what a shell's completion makes of "dir". */
	while (strlen(trimmed) > 1 && text_ends(trimmed, "/"))
		trimmed[strlen(trimmed) - 1] = '\0';
	if (text_starts(trimmed, "./"))
		memmove(trimmed, trimmed + 2, strlen(trimmed) - 1);
	if (!strchr(trimmed, '/'))
		return matches_component(trimmed, path);
	return fnmatch(trimmed, path, FNM_LEADING_DIR) == 0;
}

static bool matches_any(const char *const *patterns, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++)
		if (matches_path(patterns[i], path))
			return true;
	return false;
}

bool path_filter_accepts(const struct path_filter *path_filter, const char *path)
{
	return (path_filter->include_count == 0 ||
		matches_any(path_filter->includes, path_filter->include_count, path)) &&
	       !matches_any(path_filter->excludes, path_filter->exclude_count, path);
}
