#include "line_wrap.h"

#include <stdbool.h>
#include <string.h>

/* Where the words of the line begin: behind the last two blanks in a row in the first half of the
 * width, as in "warn  place      this store is ...". */
static size_t words_column(const char *line, size_t width)
{
	size_t column = 0;

	for (size_t i = 0; line[i] && i < width / 2; i++)
		if (i > 0 && line[i] != ' ' && line[i - 1] == ' ' && (i == 1 || line[i - 2] == ' '))
			column = i;
	return column;
}

static bool is_inside_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* How much of it goes into a line of this width. */
static size_t fitting_length(const char *text, size_t width)
{
	size_t length = strlen(text), cut = width;

	if (length <= width)
		return length;
	while (cut > 0 && text[cut] != ' ')
		cut--;
	/* A word that is longer than half of a line, as a path, is broken. */
	if (cut > width / 2)
		return cut;
	for (cut = width; cut > 1 && is_inside_character(text[cut]); cut--)
		continue;
	return cut;
}

unsigned line_wrap(const char *line, size_t width, size_t indent, const char *end,
		   struct bytes *output)
{
	size_t column = words_column(line, width), at = 0;
	unsigned lines = 0;

	do {
		size_t length = fitting_length(line, width - at), shown = length;

		while (shown > 0 && line[shown - 1] == ' ')
			shown--;
		bytes_format(output, NULL, "%*s%.*s%s", (int)at, "", (int)shown, line, end);
		line += length;
		line += strspn(line, " ");
		at = column > 0 ? column : indent < width / 2 ? indent : 0;
		lines++;
	} while (line[0]);
	return lines;
}
