/* Every verb, in the order of `reprieve --help`. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "options/options.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "storage/storage.h"
#include "verbs.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

// clang-format off
const struct command commands[] = {
	{&verb_run,        cmd_run,        false},
	{&verb_list,       cmd_list,       true},
	{&verb_show,       cmd_show,       true},
	{&verb_restore,    cmd_restore,    false},
	{&verb_verify,     cmd_verify,     true},
	{&verb_export,     cmd_export,     true},
	{&verb_save,       cmd_save,       false},
	{&verb_forget,     cmd_forget,     false},
	{&verb_pin,        cmd_pin,        false},
	{&verb_unpin,      cmd_unpin,      false},
	{&verb_status,     cmd_status,     true},
	{&verb_checkpoint, cmd_checkpoint, false},
	{&verb_probe,      cmd_probe,      false},
	{&verb_doctor,     cmd_doctor,     true},
	{&verb_report,     cmd_report,     true},
	{&verb_explain,    cmd_explain,    true},
	{&verb_watch,      cmd_watch,      false},
	{&verb_drill,      cmd_drill,      false},
	{&verb_mock,       cmd_mock,       false},
	{&verb_completion, cmd_completion, true},
};
// clang-format on

const size_t command_count = sizeof(commands) / sizeof(commands[0]);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (text_equal(commands[i].verb->name, name))
			return &commands[i];
	return NULL;
}

static int refuse_option(const char *option, char **behind)
{
	const char *verb = "VERB";

	while (behind && *behind && !command_find(*behind))
		behind++;
	if (behind && *behind)
		verb = *behind;
	log_error("'%s' stands where a verb should: options come behind it, as in `reprieve %s %s "
		  "...`. See `reprieve --help`",
		  option, verb, option);
	return EXIT_USAGE;
}

/* What people try who know other programs. NULL: it is none of these. */
static const char *other_programs_verb(const char *word)
{
	static const struct help_row rows[] = {
		{"ls", "reprieve list"},
		{"ps", "reprieve status"},
		{"logs", "reprieve report --log"},
		{"snapshots", "reprieve list"},
		{"prune", "reprieve forget"},
		{"resume",
		 "reprieve run` with the same command as before, `reprieve run -- COMMAND"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (text_equal(rows[i].left, word))
			return rows[i].text;
	return NULL;
}

int command_refuse_unknown(const char *word, char **behind)
{
	auto_free char *as_job = NULL;
	const char *meant, *nearest = NULL, *missing = child_missing_word(word);

	if (word[0] == '-')
		return refuse_option(word, behind);
	meant = other_programs_verb(word);
	if (meant) {
		log_error("unknown verb '%s': that is `%s`", word, meant);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < command_count; i++)
		nearest = nearer_name(word, nearest, commands[i].verb->name);
	meant = near_name(word, nearest, 0);
	/* What can be run was to be run, mostly. */
	if (child_check_command(word, NULL) == 0 || strpbrk(word, "=."))
		as_job = text_format("; to run it as the job: `reprieve run -- %s%s%s%s`",
				     missing ? missing : "", missing ? " " : "", word,
				     behind ? " ..." : "");
	log_error("unknown verb '%s'%s%s%s: see `reprieve --help`%s", word, meant ? " (is " : "",
		  meant ? meant : "", meant ? " meant?)" : "", as_job ? as_job : "");
	return EXIT_USAGE;
}

/* A verb has no --strict of its own; a value that is none is for `run` to refuse. */
static bool environment_is_strict(void)
{
	static const struct option_row flag = {.kind = OPTION_KIND_FLAG, .size = sizeof(bool)};
	const char *value = text_from_environment("REPRIEVE_STRICT");
	struct err err;
	bool strict = false;

	return value && option_row_set(&flag, &strict, value, &err) == 0 && strict;
}

int command_check_environment(bool strict)
{
	const struct verb *verbs[sizeof(commands) / sizeof(commands[0])];
	auto_(unknown_names_release) struct unknown_names unknown = {0};

	for (size_t i = 0; i < command_count; i++)
		verbs[i] = commands[i].verb;
	unknown = environment_unknown_names(environ, verbs, command_count);
	if (unknown.mistyped && (strict || environment_is_strict())) {
		log_error("not done (--strict): the environment has what is no setting of "
			  "Reprieve's: %s. Correct it, or unset it",
			  unknown.mistyped);
		return EXIT_CONFIGURATION;
	}
	if (unknown.mistyped)
		log_warn("in the environment, but no setting of Reprieve's, and without effect: %s",
			 unknown.mistyped);
	if (unknown.others)
		log_note("in the environment, but no setting of Reprieve's: %s", unknown.others);
	return 0;
}

/* --- the version: whoever reports a fault, or asks whether two programs read each other's stores,
 * needs it --- */

/* In commit.c, which the build writes. */
extern const char version_commit[];

void version_print(void)
{
	int store, manifest;

	storage_format_versions(&store, &manifest);
	printf("reprieve " REPRIEVE_VERSION "\n"
	       "store format %d, manifests of version %d\n"
	       "commit %s\n",
	       store, manifest, version_commit);
}
