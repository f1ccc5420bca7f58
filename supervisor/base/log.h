/*
 * Lines for people, on stderr, with one prefix: "reprieve: saved ...". Nothing of ours is ever
 * written to the stdout of a job. A function that returns an error does not log it; the code that
 * decides what to do logs it, once. Thread-safe: a line is one write(2). A reader that does not
 * read loses lines. status_line.h says how a line begins on a line of its own.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_QUIET,
	LOG_LEVEL_WARN,
	LOG_LEVEL_NOTE,
	LOG_LEVEL_DEBUG
};

/* Default NOTE. Errors are always printed. */
void log_set_level(enum log_level level);
/* Are lines of this level written? */
bool log_shows(enum log_level level);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
