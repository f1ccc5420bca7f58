/* Paths in the order in which they were added, each a copy; the array ends in NULL
 * as soon as there is one. */
#ifndef PATH_LIST_H
#define PATH_LIST_H

#include <stddef.h>

/* Zero-initialise. */
struct path_list {
	char **paths; /* owned: path_list_free() */
	size_t count;
};

/* `list` is a struct path_list: this is a path_set_fn. */
void path_list_add(void *list, const char *path);

/* An array that ends in NULL, with what is in it. NULL is fine. */
void path_list_free(char **paths);

#endif
