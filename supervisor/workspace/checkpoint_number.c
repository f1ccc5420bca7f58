#include "checkpoint_number.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

int64_t checkpoint_number_at(const char *text, size_t length)
{
	int64_t number = 0;
	size_t i = 0;

	for (; i < length && isdigit((unsigned char)text[i]) && number < INT64_MAX / 100; i++)
		number = number * 10 + (text[i] - '0');
	return i > 0 ? number : -1;
}

int64_t checkpoint_number_of_name(const char *name, size_t length)
{
	/* `alone`: no letter or digit may precede it, because it is also part of other words
	 * ("pack-1", "autosave2"). */
	static const struct {
		const char *word;
		bool alone;
	} words[] = {{"step", false},       {"iter", false}, {"iteration", false},
		     {"checkpoint", false}, {"ckpt", false}, {"epoch", false},
		     {"ck", true},          {"cp", true},    {"ckp", true},
		     {"chk", true},         {"chkpt", true}, {"snap", true},
		     {"snapshot", true},    {"save", true}};
	int64_t found = -1;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t size = strlen(words[i].word);

		for (size_t at = 0; at + size < length; at++) {
			size_t digit = at + size;

			if (strncasecmp(name + at, words[i].word, size) != 0 ||
			    (words[i].alone && at > 0 && isalnum((unsigned char)name[at - 1])))
				continue;
			if (strchr("-_=.", name[digit]))
				digit++;
			if (found < 0 && digit < length)
				found = checkpoint_number_at(name + digit, length - digit);
		}
	}
	return found;
}

static bool is_number(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)name[i]))
			return false;
	return length > 0;
}

size_t checkpoint_directory_length(const char *path)
{
	int64_t number = -1;
	size_t unit = 0;

	for (const char *name = path, *slash; (slash = strchr(name, '/')); name = slash + 1) {
		size_t length = (size_t)(slash - name);
		int64_t here = checkpoint_number_of_name(name, length);

		/* checkpoint-500/global_step500 is one checkpoint; epoch-1/step-500 are two, and
		 * the inner one counts. A bare number inside a checkpoint is a rank or an item. */
		if (here >= 0 ? here != number : is_number(name, length) && unit == 0) {
			number = here >= 0 ? here : checkpoint_number_at(name, length);
			unit = (size_t)(slash - path);
		}
	}
	return unit;
}

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

	/* The 2 of ".pt2" is not a step; the number of "model.120" is. */
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
