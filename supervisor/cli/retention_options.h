/* The --keep-* options, the same for `forget` and for `run`. */
#ifndef RETENTION_OPTIONS_H
#define RETENTION_OPTIONS_H

#include "base/err.h"
#include "storage/storage.h"

#define KEEP_TAGS_MOST 16

struct retention_options {
	struct forget_policy policy;      /* keep_tags is filled by retention_policy() */
	const char *tags[KEEP_TAGS_MOST]; /* borrowed */
	size_t tag_count;
};

/* Each takes the option's value; ERR_INVALID says what to write instead. */
int retention_set_last(struct retention_options *options, const char *value, struct err *err);
int retention_set_within(struct retention_options *options, const char *value, struct err *err);
int retention_set_every(struct retention_options *options, const char *value, struct err *err);
int retention_add_tag(struct retention_options *options, const char *value, struct err *err);

/* A name that may be a tag: 1 to 64 bytes of [A-Za-z0-9._-]. */
int retention_check_tag(const char *value, struct err *err);

/* Borrows the tags from `options`. */
struct forget_policy retention_policy(const struct retention_options *options);
/* Whether there is any rule. */
bool retention_is_set(const struct retention_options *options);

/* "newest, last": the reasons in words; "" for none. Returns `buffer`. */
const char *retention_format_reasons(unsigned reasons, char *buffer, size_t capacity);

#endif
