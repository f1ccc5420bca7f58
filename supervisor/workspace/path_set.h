/* PURE. Paths: a set of relative ones with marks, by hash, and a list. */
#ifndef PATH_SET_H
#define PATH_SET_H

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

unsigned path_set_marks(const struct path_set *set, const char *path);
void path_set_mark(struct path_set *set, const char *path, unsigned marks);
void path_set_unmark(struct path_set *set, const char *path, unsigned marks);

/* For every entry that has one of `which`: takes `drop` off, puts `give` on. */
void path_set_change_all(struct path_set *set, unsigned which, unsigned drop, unsigned give);

/* The path and all below it. */
void path_set_remove_below(struct path_set *set, const char *path);
/* The path and all below it get the new name; what had that name is removed. */
void path_set_rename(struct path_set *set, const char *from, const char *to);

bool path_set_any(const struct path_set *set, unsigned marks);

typedef void path_set_fn(void *argument, const char *path);
/* In no order. `act` must not change the set. */
void path_set_each(const struct path_set *set, unsigned marks, path_set_fn *act, void *argument);

/* `path` is `directory` or lies below it. */
bool path_set_is_below(const char *path, const char *directory);

/* In the order in which they were added, each a copy; the array ends in NULL as soon as there is
 * one. Zero-initialise. */
struct path_list {
	char **paths; /* owned: path_list_free() */
	size_t count;
};

/* `list` is a struct path_list: this is a path_set_fn. */
void path_list_add(void *list, const char *path);

/* An array that ends in NULL, with what is in it. NULL is fine. */
void path_list_free(char **paths);

#endif
