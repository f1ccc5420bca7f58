/*
 * PURE. Which files of a snapshot are meant: --include and --exclude with shell patterns. A pattern without '/' is compared with every
 * component of the path, one with '/' with the path from its beginning; both also take what lies below what they match.
 */
#ifndef PATH_FILTER_H
#define PATH_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct selection {
	const char **includes, **excludes; /* the strings are borrowed */
	size_t include_count, exclude_count;
};

void selection_include(struct selection *selection, const char *pattern);
void selection_exclude(struct selection *selection, const char *pattern);
bool selection_is_all(const struct selection *selection);
void selection_release(struct selection *selection);

/* Included, or there is no --include; and not excluded. */
bool selection_takes(const struct selection *selection, const char *path);

#endif
