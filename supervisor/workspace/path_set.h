/* PURE. A hash table of relative paths with marks, which are bits that the caller defines. A path
 * without marks is not in it. */
#ifndef PATH_SET_H
#define PATH_SET_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

struct path_entry {
	char *path;
	unsigned marks;
	struct path_entry *next;
};

/* An entry without marks does not exist. */
struct path_set {
	struct path_entry **buckets;
	size_t bucket_count, count;
};

void path_set_release(struct path_set *set);
AUTO(struct path_set, path_set_release);

/* The path's marks; 0: it is not in the set. */
unsigned path_set_marks(const struct path_set *set, const char *path);
void path_set_mark(struct path_set *set, const char *path, unsigned marks);

/* For each path of a set or a list. */
typedef void path_set_fn(void *argument, const char *path);

/* Is `path` equal to `directory` or below it? */
bool path_set_is_below(const char *path, const char *directory);

/* A list of path copies in the order of their addition; not empty, the array ends in NULL.
 * Zero-initialise. */
struct path_list {
	char **paths; /* owned: path_list_free() */
	size_t count;
};

/* Adds a copy. `list` is a struct path_list; this function is a path_set_fn. */
void path_list_add(void *list, const char *path);

/* Frees the paths of an array that ends in NULL, and the array. NULL: does nothing. */
void path_list_free(char **paths);

#endif
