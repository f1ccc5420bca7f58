#include "step.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static int64_t number_at(const char *text)
{
	int64_t value = 0;

	if (!isdigit((unsigned char)*text))
		return -1;
	for (; isdigit((unsigned char)*text); text++) {
		if (value > (INT64_MAX - 9) / 10)
			return -1;
		value = value * 10 + (*text - '0');
	}
	return value;
}

static int64_t number_behind(const char *path, const char *word)
{
	for (const char *at = path; (at = strcasestr(at, word)); at++) {
		const char *number = at + strlen(word);

		while (*number == '=' || *number == '_' || *number == '-')
			number++;
		if (number_at(number) >= 0)
			return number_at(number);
	}
	return -1;
}

static int64_t last_number_in(const char *name, size_t length)
{
	int64_t found = -1;
	const char *dot = memrchr(name, '.', length);

	/* ".pt2" is no step; but "model.120" has nothing else. */
	if (dot && dot != name && !isdigit((unsigned char)dot[1]))
		length = (size_t)(dot - name);
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)name[i]))
			continue;
		found = number_at(name + i);
		while (i < length && isdigit((unsigned char)name[i]))
			i++;
	}
	return found;
}

int64_t step_of_path(const char *path)
{
	int64_t step = number_behind(path, "step");

	if (step < 0)
		step = number_behind(path, "iter");
	while (step < 0 && *path) {
		size_t length = strcspn(path, "/");

		step = last_number_in(path, length);
		path += length;
		path += *path == '/';
	}
	return step;
}
