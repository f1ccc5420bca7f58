/* reprieve completion: the completions of the shells, from the tables of all verbs. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "scheduler/scheduler.h"
#include "verbs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTION_SIZE 200

static const struct option_row other_rows[] = {{0}};

static const struct help_row exits[] = {
	{"0", "printed"},
	{"64", "wrong usage"},
	{0},
};

// clang-format off
const struct verb verb_completion = {
	.name = "completion",
	.summary = "print the completions of a shell",
	.examples = "source <(reprieve completion bash)\n"
		"reprieve completion zsh > ~/.zfunc/_reprieve\n"
		"reprieve completion fish > ~/.config/fish/completions/reprieve.fish",
	.arguments = "bash|zsh|fish",
	.arguments_least = 1,
	.arguments_most = 1,
	.groups = (const struct option_group[]){OPTION_GROUP("Other", other_rows, 0), {0}},
	.notes = "`cmake --install` puts them where the shells look for them.",
	.exits = exits,
};
// clang-format on

/* --- what there is to complete --- */

struct candidates {
	char *words; /* separated by blanks; owned */
	bool files, directories;
};

static void candidates_release(struct candidates *candidates)
{
	free(candidates->words);
}

AUTO(struct candidates, candidates_release);

static void add_word(struct candidates *candidates, const char *word)
{
	char *more = text_format("%s%s%s", candidates->words ? candidates->words : "",
				 candidates->words ? " " : "", word);

	free(candidates->words);
	candidates->words = more;
}

/* Of "auto none" and of "posix, k8s". */
static void add_words(struct candidates *candidates, const char *text)
{
	auto_free char *copy = text_copy(text ? text : "");
	char *rest = NULL;

	for (char *word = strtok_r(copy, " ,", &rest); word; word = strtok_r(NULL, " ,", &rest))
		add_word(candidates, word);
}

/* Of "ID|latest DIR": words in lower case stand for themselves. */
static void add_places(struct candidates *candidates, const char *text)
{
	auto_free char *copy = text_copy(text ? text : "");
	char *rest = NULL;

	for (char *word = strtok_r(copy, " |[]\n", &rest); word;
	     word = strtok_r(NULL, " |[]\n", &rest)) {
		candidates->files |= text_equal(word, "FILE") || text_equal(word, "PATH");
		candidates->directories |= text_equal(word, "DIR");
		if (islower((unsigned char)*word))
			add_word(candidates, word);
	}
}

static struct candidates candidates_of_row(const struct option_row *row)
{
	struct candidates candidates = {0};
	auto_free char *names = row->names ? row->names() : NULL;

	add_places(&candidates, row->value);
	add_words(&candidates, row->choices);
	add_words(&candidates, names);
	return candidates;
}

/* Those behind the options; of a command the shell knows more. */
static struct candidates candidates_of_verb(const struct verb *verb)
{
	struct candidates candidates = {0};

	if (!verb->takes_command)
		add_places(&candidates, verb->arguments);
	return candidates;
}

/* The help up to its first details, with `escaped` characters behind a backslash. Returns `text`
 * (DESCRIPTION_SIZE bytes). */
static const char *describe(const char *help, const char *escaped, char *text)
{
	static const char *const ends[] = {": ", "; ", " (", NULL};
	size_t length = strlen(help), used = 0;

	for (const char *const *end = ends; *end; end++)
		if (strstr(help, *end) && strstr(help, *end) < help + length)
			length = (size_t)(strstr(help, *end) - help);
	for (size_t i = 0; i < length && used + 3 < DESCRIPTION_SIZE; i++) {
		if (strchr(escaped, help[i]))
			text[used++] = '\\';
		text[used++] = help[i];
	}
	text[used] = '\0';
	return text;
}

static const struct option_row help_rows[] = {
	{"help", 'h', .help = "print the help"},
	{0},
};

/* Calls `print` for each option of the verb, --help among them. */
static void each_row(const struct verb *verb,
		     void (*print)(const struct verb *verb, const struct option_row *row))
{
	for (const struct option_group *group = verb->groups; group->rows; group++)
		for (const struct option_row *row = group->rows; row->name; row++)
			print(verb, row);
	print(verb, help_rows);
}

/* --- bash --- */

static void print_bash_option(const struct verb *verb, const struct option_row *row)
{
	(void)verb;
	printf(" --%s", row->name);
	if (row->letter)
		printf(" -%c", row->letter);
}

static void print_bash_candidates(const struct candidates *candidates)
{
	if (candidates->words)
		printf(" words='%s'", candidates->words);
	if (candidates->files || candidates->directories)
		printf(" kind=-%c", candidates->files ? 'f' : 'd');
}

static void print_bash_value(const struct verb *verb, const struct option_row *row)
{
	auto_(candidates_release) struct candidates candidates = candidates_of_row(row);

	(void)verb;
	if (!row->value)
		return;
	printf("\t\t");
	if (row->letter)
		printf("-%c | ", row->letter);
	printf("--%s) options=''", row->name);
	print_bash_candidates(&candidates);
	printf(" ;;\n");
}

static void print_bash_verb(const struct verb *verb)
{
	auto_(candidates_release) struct candidates candidates = candidates_of_verb(verb);

	printf("\t%s)\n\t\toptions='", verb->name);
	each_row(verb, print_bash_option);
	printf("'\n\t\tcase $previous in\n");
	each_row(verb, print_bash_value);
	printf("\t\t*)");
	print_bash_candidates(&candidates);
	printf(" ;;\n\t\tesac\n\t\t;;\n");
}

static void print_bash(void)
{
	printf("# bash completion for reprieve, made by `reprieve completion bash`\n"
	       "_reprieve() {\n"
	       "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
	       "\tlocal verb='' options='--help --version' words='' kind='' index\n\n"
	       "\tif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
	       "\tif [[ $current == = ]]; then current=''; fi\n"
	       "\tfor ((index = 1; index < COMP_CWORD; index++)); do\n"
	       "\t\tcase $verb:${COMP_WORDS[index]} in\n"
	       "\t\tdrill:--) verb=drilled ;;\n"
	       "\t\tdrilled:*) verb=${COMP_WORDS[index]} ;;\n"
	       "\t\t*:--)\n"
	       "\t\t\tkind=-f\n"
	       "\t\t\tif [[ $previous == -- ]]; then kind=-c; fi\n"
	       "\t\t\tmapfile -t COMPREPLY < <(compgen \"$kind\" -- \"$current\")\n"
	       "\t\t\treturn\n"
	       "\t\t\t;;\n"
	       "\t\t:*) verb=${COMP_WORDS[index]} ;;\n"
	       "\t\tesac\n"
	       "\tdone\n"
	       "\tcase $verb in\n"
	       "\t'' | help) words='help");
	for (size_t i = 0; i < command_count; i++)
		printf(" %s", commands[i].verb->name);
	printf("' ;;\n"
	       "\tdrilled) options='' words=run ;;\n");
	for (size_t i = 0; i < command_count; i++)
		print_bash_verb(commands[i].verb);
	printf("\tesac\n"
	       "\tif [[ $current == -* && $options ]]; then words=$options kind=''; fi\n"
	       "\tif [[ $kind ]]; then compopt -o filenames 2>/dev/null; fi\n"
	       "\tmapfile -t COMPREPLY < <(compgen $kind -W \"$words\" -- \"$current\")\n"
	       "}\n"
	       "complete -F _reprieve reprieve\n");
}

/* --- zsh --- */

static void print_zsh_action(const struct candidates *candidates)
{
	if (candidates->files)
		printf("_files");
	else if (candidates->directories && candidates->words)
		printf("{ _files -/; compadd -- %s }", candidates->words);
	else if (candidates->directories)
		printf("_files -/");
	else if (candidates->words)
		printf("(%s)", candidates->words);
}

static void print_zsh_option(const struct verb *verb, const struct option_row *row)
{
	auto_(candidates_release) struct candidates candidates = candidates_of_row(row);
	const char names[2][64] = {{'-', row->letter, row->value ? '+' : '\0'}, ""};
	char text[DESCRIPTION_SIZE], long_name[64];

	(void)verb;
	snprintf(long_name, sizeof(long_name), "--%s%s", row->name, row->value ? "=" : "");
	for (int i = row->letter ? 0 : 1; i < 2; i++) {
		printf(" \\\n\t\t\t$'*%s[%s]", i == 0 ? names[0] : long_name,
		       describe(row->help, "'\\[]", text));
		if (row->value)
			printf(":%s:", row->value);
		if (row->value)
			print_zsh_action(&candidates);
		printf("'");
	}
}

static void print_zsh_verb(const struct verb *verb)
{
	auto_(candidates_release) struct candidates candidates = candidates_of_verb(verb);

	printf("\t%s)\n\t\t_arguments", verb->name);
	each_row(verb, print_zsh_option);
	if (candidates.words || candidates.files || candidates.directories) {
		printf(" \\\n\t\t\t'*:argument:");
		print_zsh_action(&candidates);
		printf("'");
	}
	printf("\n\t\t;;\n");
}

static void print_zsh(void)
{
	char text[DESCRIPTION_SIZE];

	printf("#compdef reprieve\n"
	       "# made by `reprieve completion zsh`\n"
	       "_reprieve() {\n"
	       "\tlocal -a verbs=(\n");
	for (size_t i = 0; i < command_count; i++)
		printf("\t\t$'%s:%s'\n", commands[i].verb->name,
		       describe(commands[i].verb->summary, "'\\", text));
	printf("\t\t'help:say more of a verb'\n"
	       "\t)\n"
	       "\tif ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n"
	       "\t\t_describe verb verbs\n"
	       "\telse\n"
	       "\t\tshift words\n"
	       "\t\t((CURRENT--))\n"
	       "\t\t_reprieve_verb\n"
	       "\tfi\n"
	       "}\n"
	       "_reprieve_verb() {\n"
	       "\tlocal verb=$words[1] dashes=${words[(i)--]}\n"
	       "\tif ((dashes < CURRENT)); then\n"
	       "\t\tshift $dashes words\n"
	       "\t\t((CURRENT -= dashes))\n"
	       "\t\tif [[ $verb != drill ]]; then\n"
	       "\t\t\t_normal\n"
	       "\t\telif ((CURRENT == 1)); then\n"
	       "\t\t\tcompadd run\n"
	       "\t\telse\n"
	       "\t\t\t_reprieve_verb\n"
	       "\t\tfi\n"
	       "\t\treturn\n"
	       "\tfi\n"
	       "\tcase $verb in\n");
	for (size_t i = 0; i < command_count; i++)
		print_zsh_verb(commands[i].verb);
	printf("\tesac\n"
	       "}\n"
	       "if [[ $funcstack[1] == _reprieve ]]; then\n"
	       "\t_reprieve \"$@\"\n"
	       "else\n"
	       "\tcompdef _reprieve reprieve\n"
	       "fi\n");
}

/* --- fish --- */

static void print_fish_candidates(const struct candidates *candidates)
{
	const char *words = candidates->words ? candidates->words : "";
	bool calls = candidates->directories && !candidates->files;

	if (candidates->files)
		printf(" -F");
	if (calls || *words)
		printf(" -a '%s%s'", words, calls ? " (__fish_complete_directories)" : "");
}

static void print_fish_option(const struct verb *verb, const struct option_row *row)
{
	auto_(candidates_release) struct candidates candidates = candidates_of_row(row);
	char text[DESCRIPTION_SIZE];

	printf("complete -c reprieve -n '__reprieve_verb %s' -l %s", verb->name, row->name);
	if (row->letter)
		printf(" -s %c", row->letter);
	if (row->value)
		printf(" -%c", candidates.files ? 'r' : 'x');
	if (row->value)
		print_fish_candidates(&candidates);
	printf(" -d '%s'\n", describe(row->help, "'\\", text));
}

static void print_fish_verb(const struct verb *verb)
{
	auto_(candidates_release) struct candidates candidates = candidates_of_verb(verb);
	char text[DESCRIPTION_SIZE];

	printf("complete -c reprieve -n __reprieve_verb -a %s -d '%s'\n", verb->name,
	       describe(verb->summary, "'\\", text));
	each_row(verb, print_fish_option);
	if (!candidates.words && !candidates.files && !candidates.directories)
		return;
	printf("complete -c reprieve -n '__reprieve_verb %s'", verb->name);
	print_fish_candidates(&candidates);
	printf("\n");
}

static void print_fish(void)
{
	printf("# fish completion for reprieve, made by `reprieve completion fish`\n"
	       "function __reprieve_words\n"
	       "\tset -l words (commandline -opc)\n"
	       "\tstring join \\n -- $words[2..-1]\n"
	       "end\n"
	       "function __reprieve_verb\n"
	       "\tset -l words (__reprieve_words)\n"
	       "\ttest \"$words[1]\" = \"$argv[1]\"; and not contains -- -- $words\n"
	       "end\n"
	       "function __reprieve_command\n"
	       "\tset -l words (__reprieve_words)\n"
	       "\tcontains -- -- $words; and not __reprieve_drilled\n"
	       "end\n"
	       "function __reprieve_drilled\n"
	       "\tset -l words (__reprieve_words)\n"
	       "\ttest \"$words[1]\" = drill; and test \"$words[-1]\" = --; and not contains run "
	       "$words\n"
	       "end\n"
	       "complete -c reprieve -f\n"
	       "complete -c reprieve -n __reprieve_drilled -a run\n"
	       "complete -c reprieve -n __reprieve_command -F -a '(__fish_complete_command)'\n"
	       "complete -c reprieve -n __reprieve_verb -a help -d 'say more of a verb'\n"
	       "complete -c reprieve -n __reprieve_verb -l version -d 'print the version'\n");
	for (size_t i = 0; i < command_count; i++)
		print_fish_verb(commands[i].verb);
}

int cmd_completion(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
	char **words, none;
	int code = option_table_parse(&verb_completion, argc, argv, &none, &words);

	if (code >= 0)
		return code;
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (text_equal(words[0], shells[i].name)) {
			shells[i].print();
			return 0;
		}
	log_error("completion: unknown shell '%s': write bash, zsh or fish", words[0]);
	return EXIT_USAGE;
}
