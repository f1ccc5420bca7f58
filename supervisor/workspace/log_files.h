/*
 * PURE. Names of log files that stay open for the whole run (TensorBoard's, *.log). They are no
 * part of a checkpoint: they do not delay it, no snapshot contains them, and they are not moved
 * aside at a start.
 */
#ifndef LOG_FILES_H
#define LOG_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* fnmatch(3) patterns of the last part of the path; ends in NULL. */
extern const char *const log_files_patterns[];

/* Is the path that of a log file? */
bool log_files_match(const char *path);

#endif
