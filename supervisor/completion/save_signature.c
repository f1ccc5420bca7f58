#include "save_signature.h"

#include <ctype.h>

/* FNV-1a of the path, with every run of digits read as one '0'. */
uint64_t save_signature_of_path(const char *path)
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

struct signature {
	const struct path_set *paths;
	unsigned without;
	uint64_t sum;
};

static void add_path_signature(void *argument, const char *path)
{
	struct signature *signature = argument;

	if (!(path_set_marks(signature->paths, path) & signature->without))
		/* A sum does not depend on the order of the paths. */
		signature->sum += save_signature_of_path(path);
}

static uint64_t signature_without(const struct detector *detector, unsigned without)
{
	struct signature signature = {.paths = &detector->burst.paths, .without = without};

	if (detector->burst.active)
		path_set_each(signature.paths, WRITE_BURST_DIRTY, add_path_signature, &signature);
	return signature.sum;
}

uint64_t save_signature_of(const struct detector *detector)
{
	return signature_without(detector, 0);
}

uint64_t save_signature_of_newest(const struct detector *detector)
{
	return signature_without(detector, WRITE_BURST_PREVIOUS);
}
