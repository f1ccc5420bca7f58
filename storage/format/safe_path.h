/* PURE. Which names and link targets a snapshot may have: those that cannot lead out of the
 * directory. Paths are bytes, not characters. */
#ifndef SAFE_PATH_H
#define SAFE_PATH_H

#include <stdbool.h>

/* Relative, not empty, without empty, "." and ".." components. */
bool safe_path_is_valid(const char *path);

/*
 * Whether a link at `path` with this target stays inside the directory. The target must be
 * relative, and may have ".." only at its start, at most as often as `path` is deep. A ".." behind
 * a name is refused: if that name is itself a link, the target could lead out although the text
 * does not.
 */
bool safe_path_target_is_valid(const char *path, const char *target);

/* The relative target from a link at `path` to `inside`; both are relative to the same directory.
 * The caller frees. */
char *safe_path_target_between(const char *path, const char *inside);

#endif
