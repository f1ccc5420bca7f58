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
#ifndef BASE_STATUS_LINE_H
#define BASE_STATUS_LINE_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
