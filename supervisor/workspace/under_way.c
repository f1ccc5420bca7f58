#include "under_way.h"

#include "base/cleanup.h"
#include "checkpoint_name.h"

#include <stdlib.h>
#include <string.h>

/* To a reader of version 1, a file with "/unless-whole/" in front was not in the list. */
#define FIRST_LINE "reprieve: being written, 2\n"
#define FIRST_LINE_1 "reprieve: being written, 1\n"
#define LAST_PATH "."

void under_way_format(char *const *paths, struct bytes *text)
{
	(void)bytes_append(text, FIRST_LINE, strlen(FIRST_LINE), NULL);
	for (; paths && *paths; paths++)
		(void)bytes_append(text, *paths, strlen(*paths) + 1, NULL);
	(void)bytes_append(text, LAST_PATH, sizeof(LAST_PATH), NULL);
}

/* Where the paths begin; NULL: it is no whole list. */
static const char *find_paths(const char *text, size_t size)
{
	size_t first = strlen(FIRST_LINE), last = sizeof(LAST_PATH);
	const char *end;

	if (size < first + last ||
	    (memcmp(text, FIRST_LINE, first) != 0 && memcmp(text, FIRST_LINE_1, first) != 0))
		return NULL;
	end = text + size - last;
	if (memcmp(end, LAST_PATH, last) != 0 || (end > text + first && end[-1] != '\0'))
		return NULL;
	for (const char *path = text + first; path < end; path += strlen(path) + 1)
		if (!*path)
			return NULL;
	return text + first;
}

int under_way_parse(const void *text, size_t size, struct path_list *list, struct err *err)
{
	const char *path = find_paths(text, size);

	if (!path)
		return err_set(err, ERR_CORRUPT,
			       "not a whole list of what was written, or of another version");
	for (; strcmp(path, LAST_PATH) != 0; path += strlen(path) + 1)
		path_list_add(list, path);
	return 0;
}

/* The save of a file: its number, or that of the fixed names. */
static char *save_of(const char *path)
{
	auto_free char *key = checkpoint_name_key(path);

	return text_format("=%s", key);
}

/* Behind what stands in front of a file that may stay; NULL: it is none. */
static const char *path_behind(const char *listed, const char **front)
{
	static const char *const fronts[] = {UNDER_WAY_CLOSED, UNDER_WAY_UNLESS_WHOLE,
					     UNDER_WAY_UNSEEN};

	for (size_t i = 0; i < sizeof(fronts) / sizeof(fronts[0]); i++)
		if (text_starts(listed, fronts[i])) {
			*front = fronts[i];
			return listed + strlen(fronts[i]);
		}
	return NULL;
}

/* The saves of which a file does not stay. */
static void find_torn_saves(const struct path_list *list, under_way_stays_fn *stays, void *arg,
			    struct path_set *torn)
{
	for (size_t i = 0; i < list->count; i++) {
		const char *front, *path = path_behind(list->paths[i], &front);
		auto_free char *save = path ? save_of(path) : NULL;

		if (save && !stays(arg, path, front))
			path_set_mark(torn, save, 1);
	}
}

void under_way_settle(struct path_list *list, under_way_stays_fn *stays, void *arg)
{
	auto_(path_set_release) struct path_set torn = {0};
	size_t kept = 0;

	find_torn_saves(list, stays, arg, &torn);
	for (size_t i = 0; i < list->count; i++) {
		char *listed = list->paths[i];
		const char *front, *path = path_behind(listed, &front);
		auto_free char *save = path ? save_of(path) : NULL;

		if (path && path_set_marks(&torn, save) == 0) {
			free(listed);
			continue;
		}
		if (path)
			memmove(listed, path, strlen(path) + 1);
		list->paths[kept++] = listed;
	}
	list->count = kept;
	if (list->paths)
		list->paths[kept] = NULL;
}

static bool has_behind(char *const *paths, const char *front, const char *path)
{
	for (; paths && *paths; paths++)
		if (text_starts(*paths, front) && strcmp(path, *paths + strlen(front)) == 0)
			return true;
	return false;
}

bool under_way_has_alone(char *const *paths, const char *path)
{
	return has_behind(paths, UNDER_WAY_ALONE, path);
}

bool under_way_has_rest(char *const *paths, const char *path)
{
	return has_behind(paths, UNDER_WAY_REST, path);
}

bool under_way_has_with(char *const *paths, const char *path)
{
	return has_behind(paths, UNDER_WAY_WITH, path);
}

bool under_way_has(char *const *paths, const char *path)
{
	if (under_way_has_alone(paths, path) || under_way_has_with(paths, path))
		return true;
	for (; paths && *paths; paths++) {
		size_t length = strlen(*paths);
		bool directory = length > 0 && (*paths)[length - 1] == '/';

		if (directory ? strncmp(path, *paths, length) == 0 : strcmp(path, *paths) == 0)
			return true;
	}
	return false;
}
