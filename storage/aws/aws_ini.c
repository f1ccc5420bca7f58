#include "aws_ini.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Where the reading stands. */
struct ini_parser {
	struct aws_ini *profiles;
	enum aws_ini_kind kind;
	char *section; /* NULL: before the first, or in one to be passed over */
	char *parent;  /* of nested settings: the last name without a value */
};

static char *copy_trimmed(const char *text, size_t length)
{
	while (length && isspace((unsigned char)text[0]))
		text++, length--;
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	return text_copy_n(text, length);
}

/* "[profile my name]" -> "profile my name"; quotes around a name are dropped; NULL: not for us. */
static char *section_name(enum aws_ini_kind kind, const char *line)
{
	const char *end = strchr(line, ']');
	auto_free char *inner = end ? copy_trimmed(line + 1, (size_t)(end - line - 1)) : NULL;
	auto_free char *name = NULL;
	size_t word;

	if (!inner || !inner[0])
		return NULL;
	if (kind == AWS_INI_CREDENTIALS || strcmp(inner, "default") == 0)
		return text_format("profile %s", inner);
	word = strcspn(inner, " \t");
	if (!inner[word])
		return NULL;
	name = copy_trimmed(inner + word, strlen(inner + word));
	if (strlen(name) >= 2 && (name[0] == '"' || name[0] == '\'') &&
	    name[strlen(name) - 1] == name[0]) {
		name[strlen(name) - 1] = '\0';
		return text_format("%.*s %s", (int)word, inner, name + 1);
	}
	return text_format("%.*s %s", (int)word, inner, name);
}

/* " # ..." and " ; ..." behind a value are comments; without the blank they belong to it. */
static size_t value_length(const char *value)
{
	for (size_t i = 0; value[i]; i++)
		if (i && (value[i] == '#' || value[i] == ';') &&
		    isspace((unsigned char)value[i - 1]))
			return i;
	return strlen(value);
}

static void add_setting(struct ini_parser *reading, const char *line, const char *equals)
{
	struct aws_ini *profiles = reading->profiles;
	bool nested = isspace((unsigned char)line[0]) && reading->parent;
	auto_free char *name = copy_trimmed(line, (size_t)(equals - line));
	auto_free char *value = copy_trimmed(equals + 1, value_length(equals + 1));

	for (char *at = name; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	if (!nested) {
		free(steal(&reading->parent));
		if (!value[0])
			reading->parent = text_copy(name);
	}
	profiles->items =
		memory_grow(profiles->items, profiles->count + 1, sizeof(*profiles->items));
	profiles->items[profiles->count++] = (struct aws_ini_setting){
		.section = text_copy(reading->section),
		.name = nested ? text_format("%s.%s", reading->parent, name) : steal(&name),
		.value = steal(&value),
	};
}

static void read_line(struct ini_parser *reading, const char *line)
{
	const char *first = line + strspn(line, " \t\r");
	const char *equals = strchr(line, '=');

	if (!*first || *first == '#' || *first == ';')
		return;
	if (*line == '[') {
		free(reading->section);
		free(steal(&reading->parent));
		reading->section = section_name(reading->kind, line);
	} else if (reading->section && equals && equals > first) {
		add_setting(reading, line, equals);
	}
}

void aws_ini_parse(struct aws_ini *profiles, enum aws_ini_kind kind, const char *text)
{
	struct ini_parser reading = {.profiles = profiles, .kind = kind};

	while (*text) {
		size_t length = strcspn(text, "\n");
		char *line = text_copy_n(text, length);

		read_line(&reading, line);
		explicit_bzero(line, length);
		free(line);
		text += length;
		text += *text == '\n';
	}
	free(reading.section);
	free(reading.parent);
}

void aws_ini_release(struct aws_ini *profiles)
{
	for (size_t i = 0; i < profiles->count; i++) {
		explicit_bzero(profiles->items[i].value, strlen(profiles->items[i].value));
		free(profiles->items[i].section);
		free(profiles->items[i].name);
		free(profiles->items[i].value);
	}
	free(profiles->items);
	*profiles = (struct aws_ini){0};
}

const char *aws_ini_get(const struct aws_ini *profiles, const char *kind, const char *section,
			const char *name)
{
	auto_free char *full = text_format("%s %s", kind, section);

	for (size_t i = profiles->count; i > 0; i--) {
		const struct aws_ini_setting *setting = &profiles->items[i - 1];

		if (strcmp(setting->section, full) == 0 && strcmp(setting->name, name) == 0)
			return setting->value[0] ? setting->value : NULL;
	}
	return NULL;
}

bool aws_ini_has_profile(const struct aws_ini *profiles, const char *profile)
{
	auto_free char *full = text_format("profile %s", profile);

	for (size_t i = 0; i < profiles->count; i++)
		if (strcmp(profiles->items[i].section, full) == 0)
			return true;
	return false;
}
