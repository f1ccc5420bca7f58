#include "redact.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MASK "***"
#define SEPARATORS " \t\n;&|()"
#define QUOTES "'\""
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+"

static bool ends_in_ignoring_case(const char *name, size_t length, const char *end)
{
	size_t size = strlen(end);

	return length >= size && strncasecmp(name + length - size, end, size) == 0;
}

/* "key" alone may be the key of a dictionary. Only with a word before it, as in access_key, is it a
 * secret. */
static bool is_secret_name(const char *name, size_t length)
{
	static const char *const ends[] = {"token",  "secret", "passwd", "passphrase",
					   "apikey", "_key",   "-key",   ".key"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (length >= strspn(name, "-+") + 5 &&
		    ends_in_ignoring_case(name, length, ends[i]))
			return true;
	for (size_t i = 8; i <= length; i++)
		if (ends_in_ignoring_case(name, i, "password"))
			return true;
	return false;
}

/* An option whose value is the next argument. */
static bool is_secret_option(const char *word)
{
	return word && word[0] == '-' && word[strspn(word, NAME_CHARACTERS)] == '\0' &&
	       is_secret_name(word, strlen(word));
}

/* The length of the part before the secret, such as "NAME=" or "--env=NAME="; 0: there is no
 * secret. */
static size_t secret_assignment_length(const char *word)
{
	const char *name = word;

	while (name) {
		size_t length = strspn(name, NAME_CHARACTERS);

		if (name[length] == '=' && is_secret_name(name, length))
			return (size_t)(name - word) + length + 1;
		name = strpbrk(name, "=,");
		name += name != NULL;
	}
	return 0;
}

/* As in sh -c, bash -lc. */
static bool is_script_option(const char *word)
{
	return word && word[0] == '-' && word[1] != '-' && text_ends(word, "c");
}

static size_t script_word_length(const char *text)
{
	size_t length = 0;

	while (text[length] && !strchr(SEPARATORS, text[length])) {
		const char *end = strchr(QUOTES, text[length])
					  ? strchr(text + length + 1, text[length])
					  : NULL;

		length = end ? (size_t)(end - text) + 1 : length + 1;
	}
	return length;
}

static char *mask_word(const char *before, const char *word, bool in_script);

static char *mask_script(const char *script)
{
	auto_free char *before = NULL;
	struct bytes masked = {0};

	while (*script) {
		size_t gap = strspn(script, SEPARATORS), length = script_word_length(script + gap);
		auto_free char *piece = text_copy_n(script + gap, length);
		auto_free char *kept = mask_word(before, piece, true);

		bytes_append(&masked, script, gap, NULL);
		bytes_append(&masked, kept, strlen(kept), NULL);
		script += gap + length;
		free(before);
		before = steal(&piece);
	}
	bytes_append(&masked, "", 1, NULL);
	return (char *)masked.data;
}

static char *mask_word(const char *before, const char *word, bool in_script)
{
	size_t size = strlen(word), name = secret_assignment_length(word);
	bool several = word[strcspn(word, SEPARATORS)] != '\0';

	if (is_secret_option(before) && word[0] != '-')
		return text_copy(MASK);
	if (name > 0 && (in_script || !several || !is_script_option(before)))
		return text_format("%.*s" MASK, (int)name, word);
	if (in_script && size > 1 && strchr(QUOTES, word[0]) && word[size - 1] == word[0]) {
		auto_free char *inside = text_copy_n(word + 1, size - 2);
		auto_free char *kept = mask_script(inside);

		return text_format("%c%s%c", word[0], kept, word[0]);
	}
	return several && !in_script ? mask_script(word) : text_copy(word);
}

char *redact_word(const char *before, const char *word)
{
	return mask_word(before, word, false);
}

json_t *redact_command(char *const *command)
{
	json_t *words = json_array();

	for (size_t i = 0; command[i]; i++) {
		auto_free char *kept = redact_word(i == 0 ? NULL : command[i - 1], command[i]);
		json_t *text = json_string(kept);

		json_array_append_new(words, text ? text : json_string("(not UTF-8)"));
	}
	return words;
}
