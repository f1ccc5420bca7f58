/* PURE. Which of the known names was meant by one that is mistyped. */
#ifndef NEAREST_NAME_H
#define NEAREST_NAME_H

#include <stdbool.h>
#include <stddef.h>

struct nearest_name {
	const char *typed; /* set it, and nothing else */
	const char *name;
	unsigned slips;
};

/* Holds a known name, borrowed, against what was typed. True: it is the same. */
bool nearest_name_compare(struct nearest_name *nearest, const char *known);

/* NULL: none is near. Of a short name a few slips make any other: there may be one in three
 * letters, and three at most. `prefix`: letters in front that all the names have. */
const char *nearest_name_found(const struct nearest_name *nearest, size_t prefix);

#endif
