#include "drill/job_log.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char *skip_characters(const char *at, const char *end, const char *characters)
{
	while (at < end && *at && strchr(characters, *at))
		at++;
	return at;
}

static int64_t parse_number(const char *at, const char *end)
{
	int64_t value = 0;

	if (at == end || !isdigit((unsigned char)*at))
		return -1;
	for (; at < end && isdigit((unsigned char)*at); at++) {
		if (value > (INT64_MAX - 9) / 10)
			return -1;
		value = value * 10 + (*at - '0');
	}
	return value;
}

static bool has_word(const char *line, size_t length, const char *word)
{
	size_t size = strlen(word);

	for (size_t i = 0; i + size <= length; i++)
		if (strncasecmp(line + i, word, size) == 0)
			return true;
	return false;
}

static int64_t step_of_line(const char *line, size_t length)
{
	const char *end = line + length;

	for (const char *at = line; at + 4 <= end; at++) {
		const char *number = at + 4;

		if (strncasecmp(at, "step", 4) != 0 ||
		    (at > line && isalnum((unsigned char)at[-1])))
			continue;
		if (number < end && (*number == 's' || *number == 'S'))
			number++;
		number = skip_characters(number, end, " \t:=#\"'[");
		if (parse_number(number, end) >= 0)
			return parse_number(number, end);
	}
	return -1;
}

/* Progress bars end their lines with a carriage return. */
static size_t line_length(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && text[length] != '\n' && text[length] != '\r')
		length++;
	return length;
}

struct job_steps job_log_steps(const char *text, size_t size)
{
	static const char ours[] = "reprieve: ";
	struct job_steps steps = {.first = -1, .last = -1};

	for (size_t at = 0, next; at < size; at = next) {
		size_t length = line_length(text + at, size - at);
		int64_t step;

		next = at + length + 1;
		/* A last line without a newline may be incomplete: "step 12" of "step 120". */
		if (at + length == size)
			break;
		if (length >= sizeof(ours) - 1 && memcmp(text + at, ours, sizeof(ours) - 1) == 0)
			continue;
		if (has_word(text + at, length, "resum") || has_word(text + at, length, "restor"))
			continue;
		step = step_of_line(text + at, length);
		if (step < 0)
			continue;
		if (steps.first < 0)
			steps.first = step;
		steps.last = step;
	}
	return steps;
}

size_t job_log_tail(const char *text, size_t size, unsigned lines)
{
	size_t at = size;

	if (at && text[at - 1] == '\n')
		at--;
	while (at > 0) {
		if (text[at - 1] == '\n' && --lines == 0)
			break;
		at--;
	}
	return at;
}
