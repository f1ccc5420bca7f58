#include "save_signature.h"

#include <ctype.h>

/* FNV-1a, with every run of digits as one '0'. */
uint64_t save_shape_of_path(const char *path)
{
	uint64_t sum = UINT64_C(14695981039346656037);

	for (; *path; path++) {
		bool digit = isdigit((unsigned char)*path);

		if (digit && isdigit((unsigned char)path[1]))
			continue;
		sum = (sum ^ (digit ? '0' : (unsigned char)*path)) * UINT64_C(1099511628211);
	}
	return sum;
}

struct shape {
	const struct path_set *paths;
	unsigned without;
	uint64_t sum;
};

static void add(void *argument, const char *path)
{
	struct shape *shape = argument;

	if (!(path_set_marks(shape->paths, path) & shape->without))
		shape->sum += save_shape_of_path(path); /* in any order */
}

static uint64_t shape_of(const struct sealing *sealing, unsigned without)
{
	struct shape shape = {.paths = &sealing->burst.paths, .without = without};

	if (sealing->burst.active)
		path_set_each(shape.paths, BURST_DIRTY, add, &shape);
	return shape.sum;
}

uint64_t save_shape_of(const struct sealing *sealing)
{
	return shape_of(sealing, 0);
}

uint64_t save_shape_of_newest(const struct sealing *sealing)
{
	return shape_of(sealing, BURST_EARLIER);
}
