/* The --keep-* options, the same for `forget` and for `run`. */
#ifndef RETENTION_OPTIONS_H
#define RETENTION_OPTIONS_H

#include "base/err.h"
#include "job/job.h"

/* Each takes the option's value; ERR_INVALID says what to write instead. */
int retention_set_last(struct retention_rules *rules, const char *value, struct err *err);
int retention_set_within(struct retention_rules *rules, const char *value, struct err *err);
int retention_set_every(struct retention_rules *rules, const char *value, struct err *err);
int retention_add_tag(struct retention_rules *rules, const char *value, struct err *err);

/* A name that may be a tag: 1 to 64 bytes of [A-Za-z0-9._-]. */
int retention_check_tag(const char *value, struct err *err);

/* "newest, last": the reasons in words; "" for none. Returns `buffer`. */
const char *retention_format_reasons(unsigned reasons, char *buffer, size_t capacity);

#endif
