#include "telemetry.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <pthread.h>
#include <regex.h>
#include <string.h>

#define MASK "***"
/* A command may have megabytes; the record that it is kept in may not (storage/format/record.h). */
#define COMMAND_MOST (128 * 1024)

/* --- the rules --- */

/* Stands before each word of a command, and twice before the one that is redacted. */
#define NEXT "\037"

/* A secret's name ends in one of the first, or one of the second is its last part. "key" alone may
 * be the key of a dictionary, and PWD is a directory. */
#define ENDS                                                                          \
	"(token|secret|passwd|passphrase|password|password_file|apikey|accountkey"    \
	"|accesskey|secretkey|privatekey|signature|[a-z0-9][-_.]key|[?&;#](key|code)" \
	"|[-_.]pwd)"
#define PARTS "(auth|pat|credentials?|creds|pass|bearer|jwt|cookie|authorization|sig)"
#define NAME "(" ENDS "|[^a-z0-9]" PARTS ")"
#define OPTION "-([-a-z0-9_.+]*" NAME "|" PARTS ")"
#define QUOTED "\"([^\"\\]|\\\\.)*\"?|'[^']*'?"
#define LETTER "([^ \t\n;&|()\"'\\" NEXT "]|\\\\.)"
#define VALUE "(" QUOTED "|" LETTER "+)"
#define NO_OPTION "(" QUOTED "|[^- \t\n;&|()\"'\\" NEXT "]" LETTER "*)"
#define USER "(-u|--user|--proxy-user)"
/* What ends a URL. */
#define URL_END " \t\n\"'`<>" NEXT

/* The first group of a pattern is what stands before the secret, which is the rest of what it
 * matches. Letters match in any case. */
static struct rule {
	const char *pattern;
	size_t after;     /* as many bytes behind the secret are kept */
	bool of_argument; /* not within a script, where the secret may end earlier */
	regex_t compiled;
} rules[] = {
	{.pattern = "(" NEXT OPTION NEXT "+)[^-].*$"},
	{.pattern = "(" NEXT "[-+a-z0-9_.,=" NEXT "]*" NAME "(=|: *)).+$", .of_argument = true},
	{.pattern = "(" NEXT USER NEXT "+[^:]*:).+$"},
	{.pattern = "([ \t]" USER "[ \t=]+[^: \t;&|]*:)" VALUE},
	/* A word that is also used without a key, before what is as long as one (40 digits). */
	{.pattern = "((wandb|login)([ \t" NEXT "]-[^ \t" NEXT "]*)?[ \t=" NEXT "]+)[a-z0-9_]{32,}"},
	/* A header in quotes. */
	{.pattern = "(" NAME ": *)[^\"'\n" NEXT "]+[\"']", .after = 1},
	{.pattern = "([ \t\"'" NEXT "]" OPTION "[ \t]+)" NO_OPTION},
	{.pattern = "(" NAME "(=|[\"']?:[ \t]*))" VALUE},
	/* Also "user:p/w@host", which no standard allows: what looks like a port is none. */
	{.pattern =
		 "(://[^][/:@" URL_END "]*:)([^0-9" URL_END "][^" URL_END "]*|[^/" URL_END "]+)@",
	 .after = 1},
	{.pattern = "(https?://)[^][/:@" URL_END "]+@", .after = 1},
	/* A key that its maker lets one know by its beginning. */
	{.pattern = "([^a-z0-9])(sk-|hf_|ghp_|glpat-|xoxb-)[-a-z0-9_]{28,}"},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

static void compile_rules(void)
{
	for (size_t i = 0; i < RULES; i++)
		regcomp(&rules[i].compiled, rules[i].pattern, REG_EXTENDED | REG_ICASE);
}

/* Masks the secrets in `text` that begin at `word` or later. */
static void apply_rule(const struct rule *rule, char **text, size_t word)
{
	regmatch_t found[2];
	size_t at = 0;

	while (regexec(&rule->compiled, *text + at, 2, found, 0) == 0) {
		size_t from = at + (size_t)found[1].rm_eo;
		size_t until = at + (size_t)found[0].rm_eo - rule->after;

		at = until;
		if (from >= word) {
			char *masked =
				text_format("%.*s" MASK "%s", (int)from, *text, *text + until);

			free(*text);
			*text = masked;
			at = from + strlen(MASK);
		}
	}
}

/* `before`: the words before, each behind a NEXT. */
static char *redact(const char *before, const char *word, bool is_script)
{
	static pthread_once_t compiled = PTHREAD_ONCE_INIT;
	auto_free char *text = text_format("%s" NEXT NEXT "%s", before, word);
	size_t start = strlen(text) - strlen(word);

	pthread_once(&compiled, compile_rules);
	for (size_t i = 0; i < RULES; i++)
		if (!is_script || !rules[i].of_argument)
			apply_rule(&rules[i], &text, start);
	return text_copy(text + start);
}

char *redact_script(const char *script)
{
	return redact("", script, true);
}

char *redact_argument(char *const *command, size_t index)
{
	const char *last = index > 0 ? command[index - 1] : "";
	auto_free char *before =
		text_format("%s" NEXT "%s", index > 1 ? command[index - 2] : "", last);

	/* As in sh -c, bash -lc. */
	return redact(before, command[index],
		      last[0] == '-' && last[1] != '-' && text_ends(last, "c"));
}

/* --- a command --- */

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
