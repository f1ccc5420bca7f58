#include "redact.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "secret_names.h"
#include "secret_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SEPARATORS " \t\n;&|()"
#define QUOTES "'\""
/* A command may have megabytes; the record that it is kept in may not (storage/format/record.h). */
#define COMMAND_MOST (128 * 1024)
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+"

/* The programs whose short options take a secret. */
enum client {
	CLIENT_OTHER,
	CLIENT_MYSQL,   /* -pPASSWORD */
	CLIENT_SSHPASS, /* -pPASSWORD or -p PASSWORD */
	CLIENT_CURL,    /* -u user:password */
};

/* What the words before one say of it. */
struct context {
	const char *before; /* NULL: it is the first */
	enum client client;
	bool in_script;
};

static enum client next_client(enum client client, const char *word)
{
	const char *slash = strrchr(word, '/'), *program = slash ? slash + 1 : word;

	if (text_starts(program, "mysql") || text_starts(program, "mariadb"))
		return CLIENT_MYSQL;
	if (text_equal(program, "sshpass"))
		return CLIENT_SSHPASS;
	if (text_equal(program, "curl"))
		return CLIENT_CURL;
	return client;
}

/* An option whose value is the next argument. */
static bool is_secret_option(const char *word)
{
	return word && word[0] == '-' && word[strspn(word, NAME_CHARACTERS)] == '\0' &&
	       secret_name(word, strlen(word));
}

/* The length of the part before the secret, such as "NAME=" or "--env=NAME="; 0: there is no
 * secret. */
static size_t secret_assignment_length(const char *word)
{
	const char *name = word;

	while (name) {
		size_t length = strspn(name, NAME_CHARACTERS);

		if (name[length] == '=' && secret_name(name, length))
			return (size_t)(name - word) + length + 1;
		name = strpbrk(name, "=,");
		if (name)
			name++;
	}
	return 0;
}

/* The length of "X-Api-Key: ", or of "--header=X-Api-Key: "; 0: the word is no such header. */
static size_t secret_header_length(const char *word)
{
	const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
	const char *name = equals ? equals + 1 : word;
	size_t length = strspn(name, NAME_CHARACTERS);

	if (name[length] != ':' || text_starts(name + length, "://") ||
	    !secret_header(name, length))
		return 0;
	length++;
	length += strspn(name + length, " ");
	return name[length] ? (size_t)(name - word) + length : 0;
}

/* "Bearer X": what comes next is a secret. */
static bool is_scheme_of_authorization(const char *word)
{
	size_t length = word ? strcspn(word, "\\") : 0;
	const char *colon = word ? strrchr(word, ':') : NULL;

	if (colon && colon < word + length) {
		length -= (size_t)(colon + 1 - word);
		word = colon + 1;
	}
	return (length == 6 && strncasecmp(word, "bearer", 6) == 0) ||
	       (length == 5 && strncasecmp(word, "basic", 5) == 0 && colon);
}

/* The length of what may be kept of the word before a secret that only the program explains; -1:
 * there is no such secret. */
static long client_secret_offset(const struct context *context, const char *word)
{
	const char *colon = strchr(word, ':');

	switch (context->client) {
	case CLIENT_MYSQL:
		return text_starts(word, "-p") && word[2] ? 2 : -1;
	case CLIENT_SSHPASS:
		if (text_equal(context->before, "-p"))
			return 0;
		return text_starts(word, "-p") && word[2] ? 2 : -1;
	case CLIENT_CURL:
		if (!text_equal(context->before, "-u") && !text_equal(context->before, "--user") &&
		    !text_equal(context->before, "--proxy-user"))
			return -1;
		return colon ? (long)(colon + 1 - word) : -1;
	case CLIENT_OTHER:
		break;
	}
	return -1;
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

static char *mask_word(const struct context *context, const char *word);

static char *mask_script(const char *script)
{
	auto_free char *before = NULL;
	struct context context = {.in_script = true};
	struct bytes masked = {0};

	while (*script) {
		size_t gap = strspn(script, SEPARATORS), length = script_word_length(script + gap);
		auto_free char *piece = text_copy_n(script + gap, length);
		auto_free char *kept = NULL;

		context.before = before;
		kept = mask_word(&context, piece);
		context.client = next_client(context.client, piece);
		bytes_append(&masked, script, gap, NULL);
		bytes_append(&masked, kept, strlen(kept), NULL);
		script += gap + length;
		free(before);
		before = steal(&piece);
	}
	bytes_append(&masked, "", 1, NULL);
	return (char *)masked.data;
}

/* A quoted word of a script: a header, or a script itself. */
static char *mask_quoted(const char *word, size_t size)
{
	auto_free char *inside = text_copy_n(word + 1, size - 2);
	size_t header = secret_header_length(inside);
	auto_free char *kept = header > 0 ? text_format("%.*s" SECRET_MASK, (int)header, inside)
					  : mask_script(inside);

	return text_format("%c%s%c", word[0], kept, word[0]);
}

static char *mask_word(const struct context *context, const char *word)
{
	size_t size = strlen(word), name = secret_assignment_length(word);
	size_t header = secret_header_length(word);
	bool several = word[strcspn(word, SEPARATORS)] != '\0';
	bool is_script = several && !context->in_script && is_script_option(context->before);
	long client = client_secret_offset(context, word);

	if ((is_secret_option(context->before) && word[0] != '-') ||
	    (is_scheme_of_authorization(context->before) && context->in_script))
		return text_copy(SECRET_MASK);
	if (client >= 0)
		return text_format("%.*s" SECRET_MASK, (int)client, word);
	if (header > 0 && !is_script)
		return text_format("%.*s" SECRET_MASK, (int)header, word);
	if (name > 0 && !is_script)
		return text_format("%.*s" SECRET_MASK, (int)name, word);
	if (context->in_script && size > 1 && strchr(QUOTES, word[0]) && word[size - 1] == word[0])
		return mask_quoted(word, size);
	return several && !context->in_script ? mask_script(word) : text_copy(word);
}

static char *redact_in_context(const struct context *context, const char *word)
{
	auto_free char *text = secret_text_mask(word);

	return mask_word(context, text);
}

char *redact_argument(char *const *command, size_t index)
{
	struct context context = {.before = index == 0 ? NULL : command[index - 1]};

	for (size_t i = 0; i < index; i++)
		context.client = next_client(context.client, command[i]);
	return redact_in_context(&context, command[index]);
}

char *redact_script(const char *script)
{
	struct context context = {.before = "-c"};

	return redact_in_context(&context, script);
}

/* Tells two commands apart of which the same part is kept. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	while (*text++);
	return hash;
}

json_t *redact_command(char *const *command)
{
	json_t *words = json_array();
	uint64_t rest = 0xcbf29ce484222325u;
	size_t size = 0;

	for (size_t i = 0; command[i]; i++) {
		auto_free char *kept = redact_argument(command, i);
		json_t *text;

		size += strlen(kept);
		if (size > COMMAND_MOST) {
			rest = hash_text(rest, kept);
			continue;
		}
		text = json_string(kept);
		json_array_append_new(words, text ? text : json_string("(not UTF-8)"));
	}
	if (size > COMMAND_MOST) {
		auto_free char *more = text_format("(and more: %016llx)", (unsigned long long)rest);

		json_array_append_new(words, json_string(more));
	}
	return words;
}
