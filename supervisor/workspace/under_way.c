#include "under_way.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_LINE "reprieve: being written, 1\n"
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

	if (size < first + last || memcmp(text, FIRST_LINE, first) != 0)
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

void under_way_settle(struct path_list *list, under_way_stays_fn *stays, void *arg)
{
	size_t length = strlen(UNDER_WAY_CLOSED), kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		char *path = list->paths[i];

		if (!text_starts(path, UNDER_WAY_CLOSED)) {
			list->paths[kept++] = path;
		} else if (stays(arg, path + length)) {
			free(path);
		} else {
			memmove(path, path + length, strlen(path + length) + 1);
			list->paths[kept++] = path;
		}
	}
	list->count = kept;
	if (list->paths)
		list->paths[kept] = NULL;
}

bool under_way_has_alone(char *const *paths, const char *path)
{
	for (; paths && *paths; paths++)
		if (text_starts(*paths, UNDER_WAY_ALONE) &&
		    strcmp(path, *paths + strlen(UNDER_WAY_ALONE)) == 0)
			return true;
	return false;
}

bool under_way_has(char *const *paths, const char *path)
{
	if (under_way_has_alone(paths, path))
		return true;
	for (; paths && *paths; paths++) {
		size_t length = strlen(*paths);
		bool directory = length > 0 && (*paths)[length - 1] == '/';

		if (directory ? strncmp(path, *paths, length) == 0 : strcmp(path, *paths) == 0)
			return true;
	}
	return false;
}
