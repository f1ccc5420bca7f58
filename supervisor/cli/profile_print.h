/* A profile as text and as JSON, for `reprieve explain profile`. */
#ifndef PROFILE_PRINT_H
#define PROFILE_PRINT_H

#include "frameworks/frameworks.h"

#include <jansson.h>

/* Prints several lines on stdout. */
void profile_print_text(const struct profile *profile);
/* The caller owns the result. */
json_t *profile_print_json(const struct profile *profile);

#endif
