#include "safe_path.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stddef.h>
#include <string.h>

static bool next_component(const char **rest, const char **name, size_t *length)
{
	if (!*rest)
		return false;
	*name = *rest;
	*length = strcspn(*rest, "/");
	*rest = (*rest)[*length] ? *rest + *length + 1 : NULL;
	return true;
}

static bool component_is_dots(const char *name, size_t length, size_t dots)
{
	return length == dots && strspn(name, ".") >= dots;
}

bool safe_path_is_valid(const char *path)
{
	const char *rest = path, *name;
	size_t length;

	while (next_component(&rest, &name, &length))
		if (length == 0 || component_is_dots(name, length, 1) ||
		    component_is_dots(name, length, 2))
			return false;
	return true;
}

static size_t path_depth(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

bool safe_path_target_is_valid(const char *path, const char *target)
{
	size_t left = path_depth(path), length;
	const char *rest = target, *name;
	bool named = false;

	if (target[0] == '\0' || target[0] == '/')
		return false;
	while (next_component(&rest, &name, &length)) {
		if (!component_is_dots(name, length, 2)) {
			named = named || (length > 0 && !component_is_dots(name, length, 1));
			continue;
		}
		if (named || left == 0)
			return false;
		left--;
	}
	return true;
}

char *safe_path_target_between(const char *path, const char *inside)
{
	size_t shared = 0, i;
	auto_free char *up = NULL;
	char *next;
	size_t depth;

	/* Up to the last '/' that `path` and `inside` have in common. */
	for (i = 0; path[i] && path[i] == inside[i]; i++)
		if (path[i] == '/')
			shared = i + 1;
	depth = path_depth(path + shared);
	up = memory_new(3 * depth + 1);
	for (next = up, i = 0; i < depth; i++)
		next = stpcpy(next, "../");
	if (depth == 0 && inside[shared] == '\0')
		return text_copy(".");
	return text_format("%s%s", up, inside + shared);
}
