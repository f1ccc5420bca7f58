#include "drill/printed_lines.h"

#include "base/log.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MOST (1 << 18)
/* The next machine may print something else first. */
#define FIRST_LINES 20
/* As few lines may be left out by chance. */
#define LEFT_OUT_LEAST 3

static bool has_fraction(const char *line, size_t length)
{
	for (size_t i = 1; i + 1 < length; i++)
		if (line[i] == '.' && isdigit((unsigned char)line[i - 1]) &&
		    isdigit((unsigned char)line[i + 1]))
			return true;
	return false;
}

void printed_lines_add(struct printed_lines *lines, const char *line, size_t length, int64_t at_ms)
{
	uint64_t hash = 14695981039346656037u;

	if (lines->count == LINES_MOST || !has_fraction(line, length) ||
	    log_prefix_length(line, length) > 0)
		return;
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)line[i]) * 1099511628211u;
	if (lines->count == lines->capacity) {
		lines->capacity = lines->capacity ? 2 * lines->capacity : 64;
		lines->items = memory_grow(lines->items, lines->capacity, sizeof(*lines->items));
	}
	lines->items[lines->count++] = (struct printed_line){.hash = hash, .at_ms = at_ms};
}

void printed_lines_release(struct printed_lines *lines)
{
	free(lines->items);
	*lines = (struct printed_lines){0};
}

/* The place of a line that is there once; `count`: it is not. */
static size_t find_only(const struct printed_lines *lines, uint64_t hash)
{
	size_t found = lines->count;

	for (size_t i = 0; i < lines->count; i++) {
		if (lines->items[i].hash != hash)
			continue;
		if (found < lines->count)
			return lines->count;
		found = i;
	}
	return found;
}

bool printed_lines_go_on(const struct printed_lines *before, const struct printed_lines *next,
			 int64_t saved_ms)
{
	for (size_t i = 0; i + 1 < next->count && i < FIRST_LINES; i++) {
		size_t at = find_only(before, next->items[i].hash);

		if (at + 1 >= before->count || before->items[at].at_ms < saved_ms)
			continue;
		/* One line more that is the same is no chance. */
		if (at >= i + LEFT_OUT_LEAST &&
		    find_only(before, next->items[i + 1].hash) == at + 1)
			return true;
	}
	return false;
}
