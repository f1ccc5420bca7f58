/* How long a test repeats what it does: REPRIEVE_TEST_EFFORT=small is for valgrind, which sees what
 * it looks for in the first rounds, and takes fifty times as long for each. */
#ifndef EFFORT_H
#define EFFORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns `few` under small effort, else `all`, and prints which. */
static inline unsigned effort_count(const char *things, unsigned all, unsigned few)
{
	const char *effort = getenv("REPRIEVE_TEST_EFFORT");

	if (!effort || strcmp(effort, "small") != 0)
		return all;
	printf("small effort: %u %s instead of %u\n", few, things, all);
	return few;
}

#endif
