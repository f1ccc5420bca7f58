#include "base/json.h"

#include <stdio.h>
#include <unistd.h>

/* A number as people write it, 0.056 and not 0.056000000000000001. */
#define DIGITS JSON_REAL_PRECISION(15)

json_t *json_parse(const void *text, size_t size, struct err *err)
{
	json_error_t where;
	json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);

	if (!value)
		err_set(err, ERR_CORRUPT, "not JSON: %s at line %d, column %d", where.text,
			where.line, where.column);
	return value;
}

int json_get_text(json_t *object, const char *name, const char **value, struct err *err)
{
	*value = json_string_value(json_object_get(object, name));
	if (!*value)
		return err_set(err, ERR_CORRUPT, "field \"%s\" must be a string", name);
	return 0;
}

int json_get_u64(json_t *object, const char *name, uint64_t most, uint64_t *value, struct err *err)
{
	json_t *member = json_object_get(object, name);
	json_int_t number = json_integer_value(member);

	if (!json_is_integer(member) || number < 0 || (uint64_t)number > most)
		return err_set(err, ERR_CORRUPT, "field \"%s\" must be a number from 0 to %llu",
			       name, (unsigned long long)most);
	*value = (uint64_t)number;
	return 0;
}

int json_get_array(json_t *object, const char *name, json_t **value, struct err *err)
{
	*value = json_object_get(object, name);
	if (!json_is_array(*value))
		return err_set(err, ERR_CORRUPT, "field \"%s\" must be an array", name);
	return 0;
}

const char *json_text_or(json_t *object, const char *name, const char *otherwise)
{
	json_t *member = json_object_get(object, name);

	return json_is_string(member) ? json_string_value(member) : otherwise;
}

int64_t json_number_or(json_t *object, const char *name, int64_t otherwise)
{
	json_t *member = json_object_get(object, name);

	return json_is_integer(member) ? json_integer_value(member) : otherwise;
}

int64_t json_seconds_or(json_t *object, const char *name, int64_t otherwise_ms)
{
	const double most_ms = 1e6 * 366 * 24 * 3600 * 1000;
	json_t *member = json_object_get(object, name);
	double milliseconds = json_number_value(member) * 1000;

	if (!json_is_number(member))
		return otherwise_ms;
	if (milliseconds > most_ms)
		return (int64_t)most_ms;
	return milliseconds < -most_ms ? (int64_t)-most_ms : (int64_t)milliseconds;
}

bool json_true_or(json_t *object, const char *name, bool otherwise)
{
	json_t *member = json_object_get(object, name);

	return json_is_boolean(member) ? json_is_true(member) : otherwise;
}

json_t *json_integer_or_null(int64_t value)
{
	return value >= 0 ? json_integer(value) : json_null();
}

json_t *json_seconds(int64_t milliseconds)
{
	return milliseconds < 0 ? json_null() : json_real((double)milliseconds / 1000);
}

/* In place. */
static void round_numbers(json_t *value)
{
	double number = json_number_value(value);
	const char *name;
	json_t *member;
	size_t i;

	if (json_is_real(value) && number > -1e12 && number < 1e12)
		json_real_set(value,
			      (double)(int64_t)(number * 1000 + (number < 0 ? -0.5 : 0.5)) / 1000);
	json_object_foreach(value, name, member) round_numbers(member);
	json_array_foreach(value, i, member) round_numbers(member);
}

char *json_line(json_t *value)
{
	round_numbers(value);
	return json_dumps(value, JSON_COMPACT | DIGITS);
}

void json_print(json_t *value, bool pretty)
{
	/* JSON escapes the control characters of ASCII alone; terminals mind those of Latin-1 too.
	 */
	size_t ascii = isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0;

	if (json_is_object(value))
		json_object_set_new(value, "schema", json_integer(JSON_SCHEMA));
	round_numbers(value);
	json_dumpf(value, stdout, (pretty ? JSON_INDENT(2) : JSON_COMPACT) | DIGITS | ascii);
	putchar('\n');
	json_decref(value);
}
