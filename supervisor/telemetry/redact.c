#include "telemetry.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MASK "***"
#define BLANKS " \t\n"
#define SEPARATORS BLANKS ";&|()"
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+"
/* A command may have megabytes; the record that it is kept in may not (storage/format/record.h). */
#define COMMAND_MOST (128 * 1024)

/* --- names --- */

/* As the end of a name (with a '-', as a part of its own at the end), or the whole of it. "key"
 * alone may be the key of a dictionary, and PWD is a directory. */
static const char secret_ends[] =
	"token secret passwd passphrase apikey _key -key .key accountkey accesskey secretkey "
	"privatekey password password_file";
static const char secret_parts[] =
	"auth pat credential credentials creds pwd pass bearer jwt cookie authorization "
	"sharedaccesssignature sig x-amz-signature x-goog-signature";

/* `words`: with blanks between. */
static bool is_end(const char *name, size_t length, const char *words, bool of_a_part)
{
	for (size_t size; *words; words += size + (words[size] == ' ')) {
		size = strcspn(words, " ");
		if (length >= size && strncasecmp(name + length - size, words, size) == 0 &&
		    (!of_a_part || length == size || strchr("-_.+", name[length - size - 1])))
			return true;
	}
	return false;
}

static bool is_secret_name(const char *name, size_t length)
{
	if (length == 3 && strncmp(name, "PWD", 3) == 0)
		return false;
	return (length >= 5 + strspn(name, "-+") && is_end(name, length, secret_ends, false)) ||
	       is_end(name, length, secret_parts, true);
}

static bool is_secret_option(const char *word)
{
	return word && word[0] == '-' && word[strspn(word, NAME_CHARACTERS)] == '\0' &&
	       is_secret_name(word, strlen(word));
}

/* Its value is "user:password". */
static bool is_user_option(const char *word, size_t length)
{
	return word && is_end(word, length, "-u --user --proxy-user", false);
}

/* As in `wandb login KEY` and `--use_wandb KEY`: a word that is also used without a key, before
 * what is as long as one (40 digits), which no name and no `true` is. */
#define KEY_LEAST 32

static bool is_key_behind(const char *word, size_t length, const char *value)
{
	return is_end(word, length, "wandb login", true) &&
	       strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") >=
		       KEY_LEAST;
}

/* A key that its maker lets one know by its beginning, whatever stands before it. */
static bool is_key(const char *text, size_t length)
{
	static const char *const beginnings[] = {"sk-", "hf_", "ghp_", "glpat-", "xoxb-", NULL};

	for (const char *const *at = beginnings; length >= KEY_LEAST && *at; at++)
		if (text_starts(text, *at))
			return true;
	return false;
}

/* --- one text --- */

struct masking {
	const char *at;
	struct bytes kept;
};

static void keep(struct masking *masking, const char *until)
{
	bytes_append(&masking->kept, masking->at, (size_t)(until - masking->at), NULL);
	masking->at = until;
}

static void mask(struct masking *masking, const char *from, const char *until)
{
	keep(masking, from);
	bytes_append(&masking->kept, MASK, strlen(MASK), NULL);
	masking->at = until;
}

/* Of "user:password@host" the password; of "token@host" all before '@', where the scheme knows no
 * users without a password. `scheme_end` is at "://". */
static void mask_userinfo(struct masking *masking, const char *text, const char *scheme_end)
{
	const char *authority = scheme_end + 3, *scheme = scheme_end, *at = NULL, *colon;
	size_t length = strcspn(authority, SEPARATORS "\"'`<>"), host = strcspn(authority, "/?#");

	colon = memchr(authority, ':', length);
	/* "user:p/w@host", which no standard allows: what looks like a port is none. */
	if (host > length || (colon && *authority != '[' && !isdigit((unsigned char)colon[1])))
		host = length;
	while (host > 0 && !at)
		at = authority[--host] == '@' ? authority + host : NULL;
	while (scheme > text && isalpha((unsigned char)scheme[-1]))
		scheme--;
	if (at && colon && colon < at)
		mask(masking, colon + 1, at);
	else if (at && strncasecmp(scheme, "http", 4) == 0)
		mask(masking, authority, at);
	else
		keep(masking, authority);
}

/* The first of `ends` that has no backslash before it, or the end. */
static const char *find_end(const char *text, const char *ends)
{
	while (*text && !strchr(ends, *text))
		text += *text == '\\' && text[1] ? 2 : 1;
	return text;
}

static const char *value_end(const char *value, const char *ends)
{
	const char *end;

	if (*value != '"' && *value != '\'')
		return find_end(value, ends);
	end = find_end(value + 1, *value == '"' ? "\"" : "'");
	return end + (*end != '\0');
}

/* A name of `length` begins at masking->at. Masks what it says is a secret, else keeps the name.
 * `whole`: nothing but other names stand before it in an argument, which its value ends with. */
static void mask_value(struct masking *masking, const char *text, size_t length, bool whole)
{
	const char *name = masking->at, *end = name + length, *value;
	char quote = name > text && strchr("\"'", name[-1]) ? name[-1] : '\0';
	const char quoted[] = {quote, '\0'};
	bool of_url = name > text && strchr("?&;#", name[-1]),
	     secret = is_secret_name(name, length);

	if (quote && *end == quote && secret) { /* "name": "value" */
		value = end + 1 + strspn(end + 1, BLANKS ":");
		if (strchr("\"'", *value) && *value && value > end + 1)
			mask(masking, value + 1, find_end(value + 1, *value == '"' ? "\"" : "'"));
	} else if (*end == '=' &&
		   (secret || (of_url && is_end(name, length, "signature key code", false)))) {
		mask(masking, end + 1,
		     value_end(end + 1, whole    ? ""
					: of_url ? "&;#" SEPARATORS "'\""
						 : SEPARATORS "'\""));
	} else if (*end == ':' && strncmp(end, "://", 3) != 0 && secret) {
		value = end + 1 + strspn(end + 1, " ");
		if (*value)
			mask(masking, value,
			     value_end(value, whole   ? ""
					      : quote ? quoted
						      : SEPARATORS));
	} else if (is_key_behind(name, length, end + strspn(end, BLANKS "="))) {
		value = end + strspn(end, BLANKS "=");
		mask(masking, value, value_end(value, SEPARATORS "'\""));
	} else if (*name == '-' && strchr(BLANKS, *end) && *end) {
		value = end + strspn(end, BLANKS);
		if (secret && *value && *value != '-')
			mask(masking, value, value_end(value, SEPARATORS "'\""));
		else if (is_user_option(name, length) &&
			 value[strcspn(value, SEPARATORS ":")] == ':')
			value += strcspn(value, ":") + 1,
				mask(masking, value, value_end(value, SEPARATORS "'\""));
	}
	if (masking->at == name)
		keep(masking, end);
}

static char *mask_text(const char *text, bool is_script)
{
	struct masking masking = {.at = text};

	while (*masking.at) {
		const char *at = masking.at;
		size_t name = strspn(at, NAME_CHARACTERS);
		bool whole =
			!is_script && strspn(text, NAME_CHARACTERS "=,") >= (size_t)(at - text);

		if (strncmp(at, "://", 3) == 0)
			mask_userinfo(&masking, text, at);
		else if (is_key(at, name))
			mask(&masking, at, at + name);
		else if (name > 0)
			mask_value(&masking, text, name, whole);
		else
			keep(&masking, at + 1);
	}
	bytes_append(&masking.kept, "", 1, NULL);
	return (char *)masking.kept.data;
}

char *redact_script(const char *script)
{
	return mask_text(script, true);
}

/* --- a command --- */

/* As in sh -c, bash -lc. */
static bool is_script_option(const char *word)
{
	return word && word[0] == '-' && word[1] != '-' && text_ends(word, "c");
}

char *redact_argument(char *const *command, size_t index)
{
	const char *before = index > 0 ? command[index - 1] : NULL, *word = command[index];
	/* `wandb login --relogin KEY` */
	bool option = index > 1 && before[0] == '-' && command[index - 2][0] != '-';
	const char *asks = option ? command[index - 2] : before;
	size_t user = strcspn(word, ":");

	if ((is_secret_option(before) && word[0] != '-') ||
	    (before && (is_key_behind(before, strlen(before), word) ||
			is_key_behind(asks, strlen(asks), word))))
		return text_copy(MASK);
	if (before && is_user_option(before, strlen(before)) && word[user])
		return text_format("%.*s:" MASK, (int)user, word);
	return mask_text(word, is_script_option(before));
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
