/*
 * PURE. Which files of a snapshot are meant: --include and --exclude with shell patterns. A pattern
 * without '/' is compared with every component of the path, one with '/' with the path from its
 * beginning; both also take what lies below what they match.
 */
#ifndef PATH_FILTER_H
#define PATH_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct path_filter {
	const char **includes, **excludes; /* the strings are borrowed */
	size_t include_count, exclude_count;
};

void path_filter_include(struct path_filter *path_filter, const char *pattern);
void path_filter_exclude(struct path_filter *path_filter, const char *pattern);
bool path_filter_is_empty(const struct path_filter *path_filter);
void path_filter_release(struct path_filter *path_filter);

/* Included, or there is no --include; and not excluded. */
bool path_filter_accepts(const struct path_filter *path_filter, const char *path);

#endif
