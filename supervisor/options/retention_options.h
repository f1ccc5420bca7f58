/* The --keep-* options, the same for `forget` and for `run`. */
#ifndef RETENTION_OPTIONS_H
#define RETENTION_OPTIONS_H

#include "job_config.h"
#include "option_table.h"

/* Of struct retention_rules. */
extern const struct option_row retention_rows[];

/* For a row of --tag, a const char *: ERR_INVALID unless it is 1 to 64 bytes of [A-Za-z0-9._-]. */
option_set_fn retention_set_tag;

/* "newest, last": the reasons in words; "" for none. Returns `buffer`. */
const char *retention_format_reasons(unsigned reasons, char *buffer, size_t capacity);

#endif
