/* PURE. How a line for people is broken where a terminal is too narrow for it: at a blank, with the
 * rest below the column in which its words begin. */
#ifndef LINE_WRAP_H
#define LINE_WRAP_H

#include "text.h"

#include <stddef.h>

/*
 * Appends `line` (without a newline in it) as lines of at most `width` bytes, each with `end`
 * behind it. `indent`: where the rest begins if there are no columns. A word that is longer than
 * half of a line is broken, no character is. Returns how many lines there are.
 */
unsigned line_wrap(const char *line, size_t width, size_t indent, const char *end,
		   struct bytes *output);

#endif
