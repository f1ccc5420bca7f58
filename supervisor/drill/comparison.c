#include "drill/comparison.h"

#include "base/cleanup.h"

#include <string.h>

enum comparison comparison_of_files(const char *undisturbed, const char *preempted, uint64_t *bytes)
{
	auto_fclose FILE *a = fopen(undisturbed, "re");
	auto_fclose FILE *b = fopen(preempted, "re");
	static char from_a[65536], from_b[65536];

	*bytes = 0;
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
		if (got_a != got_b || memcmp(from_a, from_b, got_a) != 0)
			return COMPARISON_DIFFERENT;
		*bytes += got_a;
		if (got_a < sizeof(from_a))
			return COMPARISON_EQUAL;
	}
}
