/* PURE. Names with values, to be put in the order in which both sides sign them. */
#ifndef NAME_VALUES_H
#define NAME_VALUES_H

#include "base/cleanup.h"

#include <stddef.h>

struct name_value {
	char *name;
	char *value;
	/* How many were added before. */
	size_t order;
};

struct name_values {
	struct name_value *items;
	size_t count;
};

/* Takes over both texts. */
void name_values_add(struct name_values *list, char *name, char *value);
/* By name alone, byte by byte: equal names stay in the order in which they were added. */
void name_values_sort_by_name(struct name_values *list);
/* By name, then by value. */
void name_values_sort(struct name_values *list);
void name_values_release(struct name_values *list);
AUTO(struct name_values, name_values_release);

#endif
