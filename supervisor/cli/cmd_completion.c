/*
 * reprieve completion: the completions of the shells (completions/). They ask the program itself:
 * `reprieve completion words WORD...` prints what the last of the words may become, from the tables
 * of all verbs, as lines of "word", "word<tab>description", ":files", ":directories" or ":command".
 */
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

static const struct option_row other_rows[] = {{0}};

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
	.exits = (const struct help_row[]){
		{"0", "printed"},
		{0},
	},
};
// clang-format on

/* --- what a word may become --- */

static void print_described(const char *word, const char *help)
{
	printf("%s\t%.*s\n", word, (int)option_help_brief(help), help);
}

/* Of "auto none", "posix, k8s" and "ID|latest DIR": what is in capitals stands for something. */
static void print_words(const char *text, bool has_capitals)
{
	auto_free char *copy = text_copy(text ? text : "");
	char *rest = NULL;

	for (char *word = strtok_r(copy, " ,|[]\n", &rest); word;
	     word = strtok_r(NULL, " ,|[]\n", &rest)) {
		if (has_capitals && (text_equal(word, "FILE") || text_equal(word, "PATH")))
			puts(":files");
		else if (has_capitals && text_equal(word, "DIR"))
			puts(":directories");
		else if (!has_capitals || islower((unsigned char)*word))
			puts(word);
	}
}

static void print_verbs(void)
{
	for (size_t i = 0; i < command_count; i++)
		print_described(commands[i].verb->name, commands[i].verb->summary);
	puts("help\tsay more of a verb\n--help\tprint the help\n--version\tprint the version");
}

/* Prints the values of the option that `previous` names; without it all options. False: it names
 * none with a value. */
static bool print_options(const struct verb *verb, const char *previous)
{
	EACH_OPTION(verb, group, row)
	{
		auto_free char *name = text_format("--%s", row->name);
		const char letter[] = {'-', row->letter, '\0'};
		auto_free char *names = NULL;

		if (!previous) {
			print_described(name, row->help);
			if (row->letter)
				print_described(letter, row->help);
		} else if (row->value && (text_equal(previous, name) ||
					  (row->letter && text_equal(previous, letter)))) {
			names = row->names ? row->names() : NULL;
			print_words(row->value, true);
			print_words(row->choices, false);
			print_words(names, false);
			return true;
		}
	}
	return false;
}

/* `current` is what is typed of the last word, `previous` what stands before it: bash takes "=" for
 * a word of its own. */
static void print_of_verb(const struct verb *verb, const char *previous, const char *current)
{
	auto_free char *name = text_copy_n(current, strcspn(current, "="));

	if (print_options(verb, current[0] == '-' && strchr(current, '=') ? name : previous))
		return;
	if (current[0] == '-')
		print_options(verb, NULL), puts("--help\tprint the help\n-h\tprint the help");
	else if (!verb->takes_command)
		print_words(verb->arguments, true);
}

static void print_completions(char **words, size_t count)
{
	const struct verb *verb = NULL;
	const char *previous = count > 1 ? words[count - 2] : "", *current = words[count - 1];
	bool drilled = false;

	for (size_t i = 0; i + 1 < count; i++) {
		if (!verb && (i == 0 || drilled)) {
			const struct command *command = command_find(words[i]);

			verb = command ? command->verb : NULL;
			drilled = false;
		} else if (verb && text_equal(words[i], "--")) {
			drilled = text_equal(verb->name, "drill");
			verb = NULL;
			if (!drilled) {
				puts(i + 2 == count ? ":command" : ":files");
				return;
			}
		}
	}
	if (text_equal(current, "="))
		current = "";
	else if (text_equal(previous, "=") && count > 2)
		previous = words[count - 3];
	if (verb)
		print_of_verb(verb, previous, current);
	else if (drilled)
		puts("run");
	else
		print_verbs();
}

int cmd_completion(int argc, char **argv)
{
	char **words, none;
	int code;

	if (argc > 2 && text_equal(argv[1], "words")) {
		print_completions(argv + 2, (size_t)argc - 2);
		return 0;
	}
	code = option_table_parse(&verb_completion, argc, argv, &none, &words);
	if (code >= 0)
		return code;
	code = embedded_file_print("completion", words[0]) ? 0 : EXIT_USAGE;
	if (code)
		log_error("completion: unknown shell '%s': write bash, zsh or fish", words[0]);
	return code;
}
