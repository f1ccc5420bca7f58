/* PURE. A set of relative paths with marks, by hash. An entry without marks does not exist. */
#ifndef PATH_SET_H
#define PATH_SET_H

#include <stdbool.h>
#include <stddef.h>

struct path_entry {
	char *path;
	unsigned marks;
	struct path_entry *next;
};

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

#endif
