/* What a profile says, in words and as JSON. */
#ifndef PROFILE_PRINT_H
#define PROFILE_PRINT_H

#include "profile.h"

#include <jansson.h>

/* Several lines on stdout. */
void profile_print_text(const struct profile *profile);
/* The caller owns it. */
json_t *profile_print_json(const struct profile *profile);

#endif
