/* PRIVATE. PURE. Parses the list of sources as the user writes it. */
#ifndef CLOUD_SOURCE_LIST_H
#define CLOUD_SOURCE_LIST_H

#include <stdbool.h>

struct source_choice {
	const char *name;     /* "file" */
	const char *argument; /* the text after the colon; "": none */
};

/*
 * Takes the next source off `*list`, which is modified; false at its end. Both strings point into
 * the list.
 */
bool source_list_next(char **list, struct source_choice *choice);

#endif
