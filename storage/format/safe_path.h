/* PURE. Which names and link targets may be in a snapshot: those that cannot lead out of the
 * directory. Bytes, not characters. */
#ifndef SAFE_PATH_H
#define SAFE_PATH_H

#include <stdbool.h>

/* Relative, not empty, without empty, "." and ".." components. */
bool safe_path_is_valid(const char *path);

/*
 * Whether a link at `path` with this target stays inside: relative, ".." only in front and not more
 * of them than `path` lies deep. With ".." behind a name it would depend on what that name is: a
 * link there could lead out although the text does not.
 */
bool safe_path_target_is_valid(const char *path, const char *target);

/* The relative target that leads from a link at `path` to `inside`, both relative to the same
 * directory. The caller frees. */
char *safe_path_target_between(const char *path, const char *inside);

#endif
