/* One line on stdout for people; it may hold names and words of others, which a
 * terminal must not obey. */
#ifndef BASE_TERMINAL_LINE_H
#define BASE_TERMINAL_LINE_H

#include <stdio.h>

/* A part of a line. Control characters, a newline in a name too, and bytes that are no UTF-8 become
 * '?'. */
void terminal_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A whole line, without the newline. */
#define terminal_line_print(...) (terminal_print(__VA_ARGS__), (void)putchar('\n'))

#endif
