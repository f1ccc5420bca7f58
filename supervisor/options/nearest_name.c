#include "nearest_name.h"

#include <string.h>

/* A longer name is not compared: none of ours is. */
#define NAME_MOST 63

static unsigned least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters were left out, added, exchanged, or swapped with their neighbour. */
static unsigned count_slips(const char *a, const char *b)
{
	unsigned rows[3][NAME_MOST + 1];
	size_t a_length = strlen(a), b_length = strlen(b);

	if (a_length > NAME_MOST || b_length > NAME_MOST)
		return NAME_MOST;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned *now = rows[i % 3], *before = rows[(i - 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			now[j] = least_of(least_of(before[j] + 1, now[j - 1] + 1),
					  before[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least_of(now[j], rows[(i - 2) % 3][j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

bool nearest_name_compare(struct nearest_name *nearest, const char *known)
{
	unsigned slips = count_slips(nearest->typed, known);

	if (!nearest->name || slips < nearest->slips) {
		nearest->name = known;
		nearest->slips = slips;
	}
	return slips == 0;
}

const char *nearest_name_found(const struct nearest_name *nearest, size_t prefix)
{
	unsigned most = (unsigned)(strlen(nearest->typed) - prefix) / 3;

	return nearest->slips <= (most < 3 ? most : 3) ? nearest->name : NULL;
}
