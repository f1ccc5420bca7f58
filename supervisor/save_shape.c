#include "save_shape.h"

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

static void add(void *argument, const char *path)
{
	uint64_t *sum = argument;

	*sum += save_shape_of_path(path); /* in any order */
}

uint64_t save_shape_of(const struct sealing *sealing)
{
	uint64_t sum = 0;

	if (sealing->burst.active)
		path_set_each(&sealing->burst.paths, BURST_DIRTY, add, &sum);
	return sum;
}
