/* --help of a verb, from its table, on standard output and at most 80 columns wide. */
#ifndef OPTION_HELP_H
#define OPTION_HELP_H

#include "option_table.h"

#define OPTION_HELP_COLUMN 28 /* where the text of an option begins */

/* What it is for, examples, usage, options, notes, variables, exit status. */
void option_help_print(const struct verb *verb);

/* `left` and, from `column` on, `text`: on a line of its own where `left` is too long. */
void option_help_row(const char *left, const char *text, size_t column);

/* A paragraph. A line break stays one. */
void option_help_text(const char *text);

#endif
