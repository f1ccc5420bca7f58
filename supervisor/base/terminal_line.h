/* One line on stdout for people; it may hold names and words of others, which a
 * terminal must not obey. */
#ifndef BASE_TERMINAL_LINE_H
#define BASE_TERMINAL_LINE_H

/* Without the newline. Control characters, a newline in a name too, and bytes that
 * are no UTF-8 become '?'. */
void terminal_line_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same of a line that is printable already. */
void terminal_line_put(const char *line);

/* The same as a part of a line. */
void terminal_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
