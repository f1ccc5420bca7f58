/*
 * Lines for people, on stderr, with one prefix: "reprieve: saved ...", and of a member of a gang,
 * whose launcher mixes the lines of all, "reprieve[1]: saved ...". Nothing of ours is ever written
 * to the stdout of a job. A function that returns an error does not log it; the code that decides
 * what to do logs it, once. Thread-safe: a line is one write(2). A reader that does not read loses
 * lines. status_line.h says how a line begins on a line of its own.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LOG_LEVEL_QUIET,
	LOG_LEVEL_WARN,
	LOG_LEVEL_NOTE,
	LOG_LEVEL_DEBUG
};

/* Default NOTE. Errors are always printed. */
void log_set_level(enum log_level level);
/* From now on the lines are those of this member. Call it before there are threads. */
void log_set_member(unsigned member);
/* PURE. How many bytes of the line are the prefix, with its blank; 0: the line is not ours. */
size_t log_prefix_length(const char *line, size_t length);
/* Are lines of this level written? */
bool log_shows(enum log_level level);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
