#include "checkpoint_name.h"

#include "base/text.h"
#include "file_patterns.h"
#include "name_fields.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* In a numbered directory, and behind "optimizer", one of fewer digits may be that of a part. */
#define REPEATED_DIGITS_LEAST 3
/* A directory "00012" may be a run, and with more digits it is a count. */
#define PADDED_DIGITS_LEAST 6

int64_t checkpoint_number_at(const char *text, size_t length)
{
	int64_t number = 0;
	size_t i = 0;

	for (; i < length && text[i] >= '0' && text[i] <= '9' && number < INT64_MAX / 100; i++)
		number = number * 10 + (text[i] - '0');
	return i > 0 ? number : -1;
}

int64_t checkpoint_number_of_name(const char *name, size_t length)
{
	struct name_fields fields;
	const struct field *counted;

	name_fields_split(&fields, name, length);
	counted = name_fields_counted(&fields);
	return counted ? counted->value : -1;
}

/* --- the checkpoint of a path --- */

struct reading {
	struct checkpoint_name found;
	enum count_rank rank;           /* of the numbered directory */
	bool under_ids;                 /* a number as the next directory's name is no step */
	bool in_state;                  /* found in a name as "model_35" */
	bool padded;                    /* the numbered directory is "0000540" */
	bool in_chunks;                 /* no number from here on counts */
	const char *own;                /* the last component */
	const struct field *own_number; /* the checkpoint's number is in it */
	struct name_fields fields;      /* of the last component */
};

/* Directories whose numbered entries are runs, trials or parts, or the first digits of hashes
 * (git's objects/86, in a bare repository too, and DVC's md5/86). */
static bool contains_ids(const struct name_fields *fields)
{
	static const char *const names[] =
		{"mlruns",  "multirun", "runs",     "jobs",        "trials", "folds",
		 "ranks",   "shards",   "seeds",    "experiments", "tasks",  "layers",
		 "workers", "parts",    "versions", "objects",     "md5"};
	size_t length = fields->end - fields->begin;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (length == strlen(names[i]) &&
		    strncasecmp(fields->name + fields->begin, names[i], length) == 0)
			return true;
	return name_fields_is_time(fields);
}

static bool is_array_store(const struct name_fields *fields)
{
	size_t length = fields->end - fields->begin;
	const char *end = fields->name + fields->end;

	return (length > 5 && strncasecmp(end - 5, ".zarr", 5) == 0) ||
	       (length > 3 && strncasecmp(end - 3, ".n5", 3) == 0);
}

/* "mylora-000480-state" (sd-scripts), where trailing numbers are those before that word. */
static const struct field *number_before_state(const struct name_fields *fields)
{
	static const char *const names[] = {"state", "states"};
	struct name_fields before = *fields;
	const struct field *number;

	if (fields->count < 2 || !name_fields_is_among(fields, &fields->items[--before.count],
						       names, sizeof(names) / sizeof(names[0])))
		return NULL;
	number = name_fields_trailing(&before);
	return number ? &fields->items[number - before.items] : NULL;
}

/* In a directory's name: "model_35", "optimizer_480", "lora-480-state" and "state_000510.zarr" are
 * states, but "run-3", "agent_2" and "optimizer_1" may be one of several. NULL: none. */
static const struct field *state_number(const struct name_fields *fields)
{
	static const char *const names[] = {"model",   "weights",    "state", "states", "params",
					    "trainer", "generation", "gen",   "backup", "dump"};
	static const char *const parts[] = {"optimizer", "optim"};
	const struct field *number = name_fields_trailing(fields), *word;

	if (is_array_store(fields))
		return number;
	word = number && number > fields->items ? number - 1 : NULL;
	if (word && name_fields_is_among(fields, word, names, sizeof(names) / sizeof(names[0])))
		return number;
	if (!word || !name_fields_is_among(fields, word, parts, sizeof(parts) / sizeof(parts[0])))
		number = number_before_state(fields);
	return number && number->end - number->begin >= REPEATED_DIGITS_LEAST ? number : NULL;
}

static void read_directory(struct reading *reading, const char *path, const char *name,
			   size_t length)
{
	struct checkpoint_name *found = &reading->found;
	const struct field *counted, *state;
	size_t end = (size_t)(name + length - path);
	bool bare;

	if (reading->in_chunks)
		return;
	name_fields_split(&reading->fields, name, length);
	counted = name_fields_counted(&reading->fields);
	/* A directory is called by the size of its batches, and a file by how many there were. */
	if (counted && counted->rank == COUNT_BATCH)
		counted = NULL;
	state = state_number(&reading->fields);
	bare = name_fields_is_bare_number(&reading->fields) && !reading->under_ids;
	/* In a state, a directory of fewer digits may be a part of it. */
	if (bare && reading->in_state)
		bare = length >= REPEATED_DIGITS_LEAST;
	/* checkpoint-500/global_step500 is one checkpoint; epoch-1/step-500 are two. */
	if (counted && counted->value == found->number) {
		found->certain = true;
	} else if (counted) {
		*found = (struct checkpoint_name){counted->value, true, end};
		reading->rank = counted->rank;
	} else if ((found->number < 0 || reading->in_state) && bare &&
		   reading->fields.items[0].value > 0) {
		*found = (struct checkpoint_name){reading->fields.items[0].value, false, end};
		reading->in_state = false;
		reading->padded = length >= PADDED_DIGITS_LEAST && *name == '0';
	} else if (found->number < 0 && state) {
		*found = (struct checkpoint_name){state->value, false, end};
		reading->in_state = true;
	}
	reading->under_ids = contains_ids(&reading->fields);
	/* Zarr's directory of an array's chunks: "c/0/3" is the one in row 0, column 3. */
	reading->in_chunks = is_array_store(&reading->fields) || (length == 1 && *name == 'c');
}

/* "0000540/gen_0.npy": nobody calls a run with so many zeros, and the zeros of a step are many. */
static bool is_inside_count(const struct reading *reading, const struct field *counted)
{
	return reading->padded && counted->rank <= COUNT_EPOCH &&
	       counted->value < reading->found.number;
}

static void read_own_name(struct reading *reading)
{
	struct checkpoint_name *found = &reading->found;
	const struct field *counted, *trailing;

	name_fields_split(&reading->fields, reading->own, strlen(reading->own));
	if (file_patterns_kind(NULL, reading->own) != FILE_KIND_ORDINARY ||
	    strstr(reading->own, ".log.") || reading->in_chunks)
		return;
	counted = name_fields_counted(&reading->fields);
	trailing = found->number < 0 && !counted ? name_fields_trailing(&reading->fields) : NULL;
	if (trailing) {
		*found = (struct checkpoint_name){trailing->value, false, 0};
		reading->own_number = trailing;
	} else if (counted && counted->value == found->number) {
		found->certain = true;
	} else if (counted && !is_inside_count(reading, counted) &&
		   (!found->certain ||
		    (counted->rank == COUNT_STEP && reading->rank == COUNT_EPOCH))) {
		*found = (struct checkpoint_name){counted->value, true, 0};
		reading->own_number = counted;
	}
}

static void read_path(struct reading *reading, const char *path)
{
	const char *name = path, *slash;

	*reading = (struct reading){.found.number = -1};
	for (; (slash = strchr(name, '/')); name = slash + 1)
		if (slash > name)
			read_directory(reading, path, name, (size_t)(slash - name));
	reading->own = name;
	read_own_name(reading);
}

struct checkpoint_name checkpoint_name_parse(const char *path)
{
	struct reading reading;

	read_path(&reading, path);
	return reading.found;
}

int64_t step_of_path(const char *path)
{
	return checkpoint_name_parse(path).number;
}

size_t checkpoint_directory_length(const char *path)
{
	return checkpoint_name_parse(path).unit_length;
}

/* --- keys --- */

char *checkpoint_name_key(const char *path)
{
	struct reading reading;
	const char *slash;
	size_t unit, last;

	read_path(&reading, path);
	if (reading.found.number < 0)
		return text_copy("");
	unit = reading.found.unit_length;
	if (unit == 0)
		return text_format("%.*s#%lld", (int)(reading.own - path), path,
				   (long long)reading.found.number);
	slash = memrchr(path, '/', unit);
	last = slash ? (size_t)(slash + 1 - path) : 0;
	name_fields_split(&reading.fields, path + last, unit - last);
	return text_format("%.*s%.*s/", (int)last, path,
			   (int)(reading.fields.end - reading.fields.begin),
			   path + last + reading.fields.begin);
}

/* --- templates --- */

/* Which numbers of a component change from checkpoint to checkpoint. */
struct change {
	bool measured;  /* metrics and times too */
	bool hashed;    /* hashes and UUIDs too */
	bool bare;      /* a name that is only a number */
	int64_t number; /* that of the numbered directory around it; -1: there is none */
	const struct field *own_number; /* the checkpoint's, in this component */
};

static bool counts(const struct name_fields *fields, const struct field *field,
		   const struct change *change)
{
	const struct field *trailing;

	if (field->kind == FIELD_COUNTED)
		return true;
	if (field->kind == FIELD_METRIC || field->kind == FIELD_TIME)
		return change->measured;
	if (field->hash)
		return change->hashed;
	if (field->kind != FIELD_NUMBER)
		return false;
	if (change->own_number)
		return field->begin == change->own_number->begin;
	if (change->bare && name_fields_is_bare_number(fields))
		return true;
	trailing = change->number >= 0 ? name_fields_trailing(fields) : NULL;
	return trailing == field && field->value == change->number &&
	       field->end - field->begin >= REPEATED_DIGITS_LEAST;
}

/* Of a range, both ends do: the next one begins where this one has ended. */
static bool field_changes(const struct name_fields *fields, const struct field *field,
			  const struct change *change)
{
	const struct field *last = fields->items + fields->count - 1;
	const struct field *lower = name_fields_lower_before(fields, field);

	if (counts(fields, field, change))
		return true;
	if (field->kind != FIELD_NUMBER)
		return false;
	return (lower && counts(fields, lower, change)) ||
	       (field < last && name_fields_lower_before(fields, field + 1) == field &&
		counts(fields, field + 1, change));
}

static void append_text(struct bytes *text, const char *more, size_t length)
{
	(void)bytes_append(text, more, length, NULL);
}

/* The component, without its marks of a temporary name if `clean`. */
static void append_component(struct bytes *text, const struct name_fields *fields, size_t length,
			     const struct change *change, bool clean)
{
	size_t at = clean ? fields->begin : 0;

	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->items[i];

		if (!field_changes(fields, field, change))
			continue;
		append_text(text, fields->name + at, field->begin - at);
		append_text(text, "#", 1);
		at = field->end;
	}
	append_text(text, fields->name + at, (clean ? fields->end : length) - at);
}

/* The directories of the first `length` bytes of the path, each with its slash. */
static void append_directories(struct bytes *text, const char *path, size_t length,
			       const struct checkpoint_name *found, bool clean)
{
	struct name_fields fields;

	for (size_t at = 0; at < length;) {
		const char *name = path + at;
		size_t size = (size_t)(strchrnul(name, '/') - name), end = at + size;
		bool is_unit = end == found->unit_length;
		bool inside = found->unit_length > 0 && end > found->unit_length;
		struct change change = {
			.measured = is_unit || inside,
			.hashed = is_unit || inside,
			.bare = is_unit,
			.number = inside ? found->number : -1,
		};

		name_fields_split(&fields, name, size);
		if (is_unit && !name_fields_counted(&fields) &&
		    !name_fields_is_bare_number(&fields))
			change.own_number = state_number(&fields);
		append_component(text, &fields, size, &change, clean && is_unit);
		append_text(text, "/", 1);
		at = end + 1;
	}
}

static char *steal_text(struct bytes *text)
{
	append_text(text, "", 1);
	return (char *)steal(&text->data);
}

char *checkpoint_name_template(const char *path)
{
	auto_(bytes_release) struct bytes text = {0};
	struct reading reading;
	struct change change = {0};

	read_path(&reading, path);
	change.measured = !reading.in_chunks;
	change.hashed = !reading.in_chunks && reading.found.number >= 0;
	change.number = reading.found.unit_length > 0 ? reading.found.number : -1;
	change.own_number = reading.own_number;
	append_directories(&text, path, (size_t)(reading.own - path), &reading.found, false);
	append_component(&text, &reading.fields, strlen(reading.own), &change, false);
	return steal_text(&text);
}

char *checkpoint_name_family(const char *path)
{
	auto_(bytes_release) struct bytes text = {0};
	struct reading reading;
	size_t unit;

	read_path(&reading, path);
	unit = reading.found.unit_length;
	if (reading.found.number < 0)
		return text_copy("");
	append_directories(&text, path, unit > 0 ? unit + 1 : (size_t)(reading.own - path),
			   &reading.found, true);
	if (unit == 0)
		append_text(&text, "#", 1);
	return steal_text(&text);
}

char *checkpoint_name_stream(const char *path)
{
	struct reading reading;
	const char *ending;

	read_path(&reading, path);
	if (reading.found.number >= 0 || !name_fields_is_unique(&reading.fields))
		return NULL;
	ending = strrchr(reading.own, '.');
	return text_format("%.*s?%s", (int)(reading.own - path), path, ending ? ending : "");
}

static bool is_of_word(char byte)
{
	return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

bool checkpoint_name_is_backup(const char *path, const char *of)
{
	size_t length = strlen(path), least = strlen(of), front = 0, end = 0;

	if (length <= least || checkpoint_name_is_temporary(of))
		return false;
	while (front < least && path[front] == of[front])
		front++;
	while (end < least - front && path[length - 1 - end] == of[least - 1 - end])
		end++;
	return front + end == least &&
	       (!is_of_word(path[front]) || !is_of_word(path[length - 1 - end]));
}

bool checkpoint_name_is_temporary(const char *path)
{
	struct checkpoint_name found = checkpoint_name_parse(path);
	const char *name = text_last_part(path);

	/* From the numbered directory on; without a number, from the beginning. */
	if (found.unit_length > 0)
		for (name = path + found.unit_length; name > path && name[-1] != '/';)
			name--;
	else if (found.number < 0)
		name = path;
	while (*name) {
		size_t length = strcspn(name, "/");
		struct name_fields fields;

		name_fields_split(&fields, name, length);
		if (fields.unfinished)
			return true;
		name += length;
		name += *name == '/';
	}
	return false;
}
