/*
 * Reading JSON that comes from outside: each getter checks the type and says which member is wrong.
 * jansson itself is used directly for building. Values returned are borrowed from the object.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* ERR_CORRUPT with line and column. Duplicate keys are an error. The caller owns the result. */
json_t *json_parse(const void *text, size_t size, struct err *err);

/* A member that must be there; ERR_CORRUPT otherwise. */
int json_get_text(json_t *object, const char *name, const char **value, struct err *err);
int json_get_u64(json_t *object, const char *name, uint64_t most, uint64_t *value, struct err *err);
int json_get_array(json_t *object, const char *name, json_t **value, struct err *err);

/* A member that may be missing or null: then `otherwise`. A wrong type counts as missing. */
const char *json_text_or(json_t *object, const char *name, const char *otherwise);
int64_t json_number_or(json_t *object, const char *name, int64_t otherwise);
bool json_true_or(json_t *object, const char *name, bool otherwise);

/* One line on stdout, or indented where `pretty`; then releases the value. */
void json_print(json_t *value, bool pretty);

static inline void cleanup_json(json_t **value)
{
	json_decref(*value);
}
#define auto_json __attribute__((cleanup(cleanup_json)))

#endif
