/*
 * Reads JSON that comes from outside: each getter checks the type, and its error names the member.
 * To build JSON, use jansson directly. Returned values are borrowed from the object.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* ERR_CORRUPT with line and column. Duplicate keys are an error. The caller owns the result. */
json_t *json_parse(const void *text, size_t size, struct err *err);

/* A required member. ERR_CORRUPT: it is missing or has another type. */
int json_get_text(json_t *object, const char *name, const char **value, struct err *err);
int json_get_u64(json_t *object, const char *name, uint64_t most, uint64_t *value, struct err *err);
int json_get_array(json_t *object, const char *name, json_t **value, struct err *err);

/* An optional member: `otherwise` if it is missing, null or of another type. */
const char *json_text_or(json_t *object, const char *name, const char *otherwise);
int64_t json_number_or(json_t *object, const char *name, int64_t otherwise);
bool json_true_or(json_t *object, const char *name, bool otherwise);
/* A number of seconds, as milliseconds; at most a million years either way, whatever is written
 * there, so that a time of ours may be added to it. */
int64_t json_seconds_or(json_t *object, const char *name, int64_t otherwise_ms);

/* null for a negative one, which stands for an unknown one. Owned by the caller. */
json_t *json_integer_or_null(int64_t value);
json_t *json_seconds(int64_t milliseconds);

/* The value on one line, its numbers with at most three decimals, which it has from then on. The
 * caller frees; NULL: it is no text in UTF-8. */
char *json_line(json_t *value);
/* What scripts may rely on in all that --json prints: within one number, members are only added. */
#define JSON_SCHEMA 1
/* Prints the value on stdout, as json_line() or indented (`pretty`), an object with its "schema",
 * and releases it. */
void json_print(json_t *value, bool pretty);

static inline void cleanup_json(json_t **value)
{
	json_decref(*value);
}
#define auto_json __attribute__((cleanup(cleanup_json)))

#endif
