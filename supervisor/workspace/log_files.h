/*
 * PURE. Logs that stay open for the whole run (TensorBoard's, *.log): they are no part of a
 * checkpoint, and hold none up. They are left where they are: not in a snapshot, and not moved
 * aside at a start.
 */
#ifndef LOG_FILES_H
#define LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* fnmatch(3) patterns of the last part of the path; ends in NULL. */
extern const char *const log_files_patterns[];

bool log_files_match(const char *path);

#endif
