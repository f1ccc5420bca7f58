#include "secret_text.h"

#include "base/text.h"
#include "secret_names.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define URL_END " \t\n\"'`<>|()"

struct masking {
	const char *at;
	struct bytes kept;
};

static void keep(struct masking *masking, const char *until)
{
	bytes_append(&masking->kept, masking->at, (size_t)(until - masking->at), NULL);
	masking->at = until;
}

static void mask(struct masking *masking, const char *until)
{
	bytes_append(&masking->kept, SECRET_MASK, strlen(SECRET_MASK), NULL);
	masking->at = until;
}

static const char *last_at_sign(const char *from, const char *end)
{
	while (end > from)
		if (*--end == '@')
			return end;
	return NULL;
}

/* "user:p/w@host", which no standard allows: what looks like a port is none. */
static bool is_no_port(const char *authority, const char *end)
{
	const char *colon = memchr(authority, ':', (size_t)(end - authority));

	return colon && *authority != '[' && !isdigit((unsigned char)colon[1]);
}

/* Of "user:password@host" the password; of "token@host" all that is before '@', where the scheme
 * knows no users without a password. */
static void mask_userinfo(struct masking *masking, const char *authority, const char *end,
			  bool user_is_secret)
{
	const char *slash = authority + strcspn(authority, "/?#");
	const char *at = last_at_sign(authority, slash < end ? slash : end), *colon;

	if (!at && slash < end && is_no_port(authority, slash))
		at = last_at_sign(authority, end);
	if (!at)
		return;
	colon = memchr(authority, ':', (size_t)(at - authority));
	if (!colon && !user_is_secret)
		return;
	keep(masking, colon ? colon + 1 : authority);
	mask(masking, at);
}

static void mask_parameters(struct masking *masking, const char *from, const char *end)
{
	const char *name = from;

	while ((name = strpbrk(name, "?&;#")) && name < end) {
		size_t length = strcspn(++name, "=&;#"), size;

		if (name[length] != '=' || name + length >= end || !secret_parameter(name, length))
			continue;
		size = strcspn(name + length + 1, "&;#");
		keep(masking, name + length + 1);
		name += length + 1 + size;
		if (name > end)
			name = end;
		mask(masking, name);
	}
}

/* Whoever has the rest of such a URL may post there. */
static bool mask_webhook_path(struct masking *masking, const char *authority, const char *end)
{
	static const char *const hooks[] = {
		"hooks.slack.com/",
		"discord.com/api/webhooks/",
		"discordapp.com/api/webhooks/",
		"api.telegram.org/bot",
		"webhook.office.com/",
		"outlook.office.com/webhook/",
		"chat.googleapis.com/v1/",
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		const char *hook = strcasestr(authority, hooks[i]);

		if (!hook || hook >= authority + strcspn(authority, "/?#"))
			continue;
		keep(masking, hook + strlen(hooks[i]));
		if (masking->at < end)
			mask(masking, end);
		return true;
	}
	return false;
}

/* `scheme_end` is at "://". */
static void mask_url(struct masking *masking, const char *text, const char *scheme_end)
{
	const char *scheme = scheme_end, *authority = scheme_end + 3;
	const char *end = authority + strcspn(authority, URL_END);
	bool web;

	while (scheme > text && isalpha((unsigned char)scheme[-1]))
		scheme--;
	web = strncasecmp(scheme, "http", 4) == 0;
	mask_userinfo(masking, authority, end, web);
	if (masking->at < authority)
		keep(masking, authority);
	if (!mask_webhook_path(masking, masking->at, end))
		mask_parameters(masking, masking->at, end);
	keep(masking, end);
}

struct token_form {
	const char *prefix;
	size_t least; /* so many characters follow */
};

/* What the services write about the tokens that they give out, so that they are found. */
static const struct token_form token_forms[] = {
	{"hf_", 20},   {"ghp_", 20},        {"gho_", 20},      {"ghu_", 20},  {"ghs_", 20},
	{"ghr_", 20},  {"github_pat_", 20}, {"glpat-", 16},    {"sk-", 20},   {"xoxb-", 10},
	{"xoxp-", 10}, {"xapp-", 10},       {"AIza", 30},      {"ya29.", 20}, {"npm_", 30},
	{"pypi-", 30}, {"dop_v1_", 30},     {"SG.", 40},       {"eyJ", 40},   {"nvapi-", 20},
	{"r8_", 30},   {"dapi", 32},        {"wandb_v1_", 20},
};

/* Words have neither, which tells "sk-learn-..." from a token. */
static bool has_digit_or_capital(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (isdigit((unsigned char)text[i]) || isupper((unsigned char)text[i]))
			return true;
	return false;
}

/* The length of a token that begins here; 0: there is none. */
static size_t token_length(const char *text)
{
	for (size_t i = 0; i < sizeof(token_forms) / sizeof(token_forms[0]); i++) {
		size_t prefix = strlen(token_forms[i].prefix), length = prefix;

		if (strncmp(text, token_forms[i].prefix, prefix) != 0)
			continue;
		while (isalnum((unsigned char)text[length]) ||
		       (text[length] && strchr("_-.", text[length])))
			length++;
		if (length - prefix >= token_forms[i].least &&
		    has_digit_or_capital(text + prefix, length - prefix))
			return length;
	}
	return 0;
}

/* `quote` begins "name": "value". Where the value begins, behind its quote; NULL: no such secret.
 */
static const char *secret_member_value(const char *quote)
{
	size_t length = strcspn(quote + 1, "\"'\n");
	const char *value = quote + 1 + length;

	if (*value != *quote || !secret_header(quote + 1, length))
		return NULL;
	value++;
	value += strspn(value, " \t");
	if (*value != ':')
		return NULL;
	value++;
	value += strspn(value, " \t");
	return *value == '"' || *value == '\'' ? value + 1 : NULL;
}

static void mask_member(struct masking *masking, const char *value)
{
	const char *end = value;

	while (*end && *end != value[-1])
		end += *end == '\\' && end[1] ? 2 : 1;
	keep(masking, value);
	mask(masking, end);
}

char *secret_text_mask(const char *text)
{
	struct masking masking = {.at = text};

	while (*masking.at) {
		const char *at = masking.at, *value;
		bool begins = at == text || !isalnum((unsigned char)at[-1]);
		size_t token = begins ? token_length(at) : 0;

		if (token > 0)
			mask(&masking, at + token);
		else if (strncmp(at, "://", 3) == 0)
			mask_url(&masking, text, at);
		else if ((*at == '"' || *at == '\'') && (value = secret_member_value(at)))
			mask_member(&masking, value);
		else
			keep(&masking, at + 1);
	}
	bytes_append(&masking.kept, "", 1, NULL);
	return (char *)masking.kept.data;
}
