#include "drill/comparison.h"

#include "base/cleanup.h"

#include <string.h>

/* What is left of a file is a part of its size, too. */
static void add_rest(FILE *file, uint64_t *bytes)
{
	static char buffer[65536];
	size_t got;

	while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0)
		*bytes += got;
}

enum comparison comparison_of_files(const char *undisturbed, const char *preempted,
				    struct compared_sizes *sizes)
{
	auto_fclose FILE *a = fopen(undisturbed, "re");
	auto_fclose FILE *b = fopen(preempted, "re");
	static char from_a[65536], from_b[65536];

	*sizes = (struct compared_sizes){0};
	if (!a)
		return COMPARISON_MISSING_UNDISTURBED;
	if (!b)
		return COMPARISON_MISSING;
	for (;;) {
		size_t got_a = fread(from_a, 1, sizeof(from_a), a);
		size_t got_b = fread(from_b, 1, sizeof(from_b), b);

		if (ferror(a)) /* a directory, for one */
			return COMPARISON_MISSING_UNDISTURBED;
		if (ferror(b))
			return COMPARISON_MISSING;
		sizes->undisturbed += got_a;
		sizes->preempted += got_b;
		if (got_a != got_b || memcmp(from_a, from_b, got_a) != 0) {
			add_rest(a, &sizes->undisturbed);
			add_rest(b, &sizes->preempted);
			return COMPARISON_DIFFERENT;
		}
		if (got_a < sizeof(from_a))
			return COMPARISON_EQUAL;
	}
}
