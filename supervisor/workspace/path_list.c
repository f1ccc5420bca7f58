#include "path_list.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <stdlib.h>

void path_list_add(void *argument, const char *path)
{
	struct path_list *list = argument;

	list->paths = memory_grow(list->paths, list->count + 2, sizeof(list->paths[0]));
	list->paths[list->count++] = text_copy(path);
	list->paths[list->count] = NULL;
}

void path_list_free(char **paths)
{
	for (char **path = paths; path && *path; path++)
		free(*path);
	free(paths);
}
