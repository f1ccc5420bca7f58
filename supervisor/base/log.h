/*
 * Lines for people, on stderr, with one prefix: "reprieve: saved ...", and of a member of a gang,
 * whose launcher mixes the lines of all, "reprieve[1]: saved ...". Nothing of ours is ever written
 * to the stdout of a job. A function that returns an error does not log it; the code that decides
 * what to do logs it, once. Thread-safe: a line is one write(2). A reader that does not read loses
 * lines. The second part says how a line
 * begins on a line of its own.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

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

/* --- standard error as a screen --- */

/*
 * Standard error as a screen. At most one line on it is ours to draw again and again (progress, a
 * countdown); it has no colour, and is gone before anything else is written.
 *
 * What we write begins on a line of its own, also where the job has left one unfinished, as most
 * progress bars do:
 *
 *	terminal	as many blanks as it is wide, and a carriage return: at the start of a line
 *			they stay on it, elsewhere they run on to the next. Nothing that the job has
 *			written is erased; a bar of its own is drawn anew below our line.
 *	regular file	a newline, if the last byte in it is none
 *	pipe, socket	nothing: what was written last cannot be known, and a newline each time
 *			would put empty lines into every log
 *
 * Thread-safe. Nothing here waits for a reader: a terminal may be stopped (Ctrl-S), a pipe full.
 */

/* Can a line be drawn again? Only on a terminal that says how wide it is, not with TERM=dumb, not
 * with CI set, because what a CI shows is a log, and not while another job of the shell has the
 * terminal. */
bool status_line_is_possible(void);

/* Draws `text` in the place of what was shown, or does nothing. It stays one line: what does not
 * fit is cut off. */
void status_line_show(const char *text);
void status_line_clear(void);

/*
 * From now on, a signal that ends or stops this process (Ctrl-C, Ctrl-Z) clears the line first.
 * Does nothing for signals that the caller has blocked, because then they are read and answered in
 * another way, nor for those that are ignored or handled already.
 */
void status_line_keep_clean(void);

/* Others write to standard error, too, from now on: the job. */
void status_line_share(void);

/* For log.h: `line`, which ends with a newline. False: nobody reads, and nothing was written. */
bool status_line_write(const char *line, size_t length);

/* --- lines on standard output --- */

/* One line on stdout for people; it may hold names and words of others, which a
 * terminal must not obey. */

/* A part of a line. Control characters, a newline in a name too, and bytes that are no UTF-8 become
 * '?'. */
void terminal_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A whole line, without the newline. */
#define terminal_line_print(...) (terminal_print(__VA_ARGS__), (void)putchar('\n'))

#endif
