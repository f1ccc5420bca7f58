/* PRIVATE. PURE. The list of sources as people write it. */
#ifndef CLOUD_SOURCE_LIST_H
#define CLOUD_SOURCE_LIST_H

#include <stdbool.h>

struct source_choice {
	const char *name;     /* "file" */
	const char *argument; /* what stands behind the colon; "" for nothing */
};

/*
 * Takes the next source off `*list`, which is written into; false at its end. A command may hold
 * commas, so that command: takes the rest of the list. Both strings point into the list.
 */
bool source_list_next(char **list, struct source_choice *choice);

#endif
