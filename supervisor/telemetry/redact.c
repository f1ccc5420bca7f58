#include "redact.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MASK "***"
#define SEPARATORS " \t\n;&|()"
#define QUOTES "'\""
#define NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+"

static bool ends_in(const char *name, size_t length, const char *end)
{
	size_t size = strlen(end);

	return length >= size && strncasecmp(name + length - size, end, size) == 0;
}

/* A key may be one of a dictionary; it takes a word before it, as in access_key, to be a secret. */
static bool is_secret(const char *name, size_t length)
{
	static const char *const ends[] = {
		"token", "secret", "passwd", "passphrase", "apikey", "_key", "-key", ".key"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (length >= strspn(name, "-+") + 5 && ends_in(name, length, ends[i]))
			return true;
	for (size_t i = 8; i <= length; i++)
		if (ends_in(name, i, "password"))
			return true;
	return false;
}

/* An option whose value is the next word. */
static bool announces(const char *word)
{
	return word && word[0] == '-' && word[strspn(word, NAME)] == '\0' &&
	       is_secret(word, strlen(word));
}

/* The length of what stands before the secret, as "NAME=" or "--env=NAME="; 0: there is none. */
static size_t assigns(const char *word)
{
	const char *name = word;

	while (name) {
		size_t length = strspn(name, NAME);

		if (name[length] == '=' && is_secret(name, length))
			return (size_t)(name - word) + length + 1;
		name = strpbrk(name, "=,");
		name += name != NULL;
	}
	return 0;
}

/* As in sh -c, bash -lc. */
static bool announces_script(const char *word)
{
	return word && word[0] == '-' && word[1] != '-' && text_ends(word, "c");
}

static size_t piece_length(const char *text)
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

static char *mask(const char *before, const char *word, bool in_script);

static char *mask_script(const char *script)
{
	auto_free char *before = NULL;
	struct bytes masked = {0};

	while (*script) {
		size_t gap = strspn(script, SEPARATORS), length = piece_length(script + gap);
		auto_free char *piece = text_copy_n(script + gap, length);
		auto_free char *kept = mask(before, piece, true);

		bytes_append(&masked, script, gap, NULL);
		bytes_append(&masked, kept, strlen(kept), NULL);
		script += gap + length;
		free(before);
		before = take(&piece);
	}
	bytes_append(&masked, "", 1, NULL);
	return (char *)masked.data;
}

static char *mask(const char *before, const char *word, bool in_script)
{
	size_t size = strlen(word), name = assigns(word);
	bool several = word[strcspn(word, SEPARATORS)] != '\0';

	if (announces(before) && word[0] != '-')
		return text_copy(MASK);
	if (name > 0 && (in_script || !several || !announces_script(before)))
		return text_format("%.*s" MASK, (int)name, word);
	if (in_script && size > 1 && strchr(QUOTES, word[0]) && word[size - 1] == word[0]) {
		auto_free char *inside = text_copy_n(word + 1, size - 2);
		auto_free char *kept = mask_script(inside);

		return text_format("%c%s%c", word[0], kept, word[0]);
	}
	return several && !in_script ? mask_script(word) : text_copy(word);
}

char *secret_words_mask(const char *before, const char *word)
{
	return mask(before, word, false);
}
