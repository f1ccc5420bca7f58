#include "path_filter.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static void add(const char ***patterns, size_t *count, const char *pattern)
{
	*patterns = memory_grow(*patterns, *count + 1, sizeof(**patterns));
	(*patterns)[(*count)++] = pattern;
}

void selection_include(struct selection *selection, const char *pattern)
{
	add(&selection->includes, &selection->include_count, pattern);
}

void selection_exclude(struct selection *selection, const char *pattern)
{
	add(&selection->excludes, &selection->exclude_count, pattern);
}

bool selection_is_all(const struct selection *selection)
{
	return selection->include_count == 0 && selection->exclude_count == 0;
}

void selection_release(struct selection *selection)
{
	free(selection->includes);
	free(selection->excludes);
	*selection = (struct selection){0};
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

static bool matches(const char *pattern, const char *path)
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
		if (matches(patterns[i], path))
			return true;
	return false;
}

bool selection_takes(const struct selection *selection, const char *path)
{
	return (selection->include_count == 0 ||
		       matches_any(selection->includes, selection->include_count, path)) &&
	       !matches_any(selection->excludes, selection->exclude_count, path);
}
