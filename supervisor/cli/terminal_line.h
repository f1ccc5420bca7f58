/* One line on stdout for people; it may hold names and words of others, which a
 * terminal must not obey. */
#ifndef TERMINAL_LINE_H
#define TERMINAL_LINE_H

/* Without the newline. Control characters, a newline in a name too, and bytes that
 * are no UTF-8 become '?'. */
void terminal_line_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
