/*
 * PURE. A job that counts nothing may still show where it goes on: what it prints after the save is
 * printed again by the next machine, the losses above all. Only lines with a fraction are kept.
 */
#ifndef PRINTED_LINES_H
#define PRINTED_LINES_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct printed_lines {
	struct printed_line {
		uint64_t hash;
		int64_t at_ms; /* when the line was seen */
	} * items;
	size_t count, capacity;
};

/* Adds one line, without its end. */
void printed_lines_add(struct printed_lines *lines, const char *line, size_t length, int64_t at_ms);
void printed_lines_release(struct printed_lines *lines);
AUTO(struct printed_lines, printed_lines_release);

/* Does the next machine begin with lines that the one before printed from `saved_ms` on, having
 * left out those before them? A job that begins anew prints these, too, but leaves out none. */
bool printed_lines_go_on(const struct printed_lines *before, const struct printed_lines *next,
			 int64_t saved_ms);

#endif
