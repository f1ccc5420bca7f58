/* reprieve explain: what it knows and would do, for people: frameworks, exit codes. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "cli.h"
#include "frameworks/frameworks.h"
#include "options/options.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "status_text.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct explain_options {
	const char *scheduler;
	bool json;
};

// clang-format off
static const struct option_row own_rows[] = {
	{"for", 0, "SCHEDULER", NULL, "how this scheduler is told to act on exit codes (of exit)",
		OPTION_TEXT(struct explain_options, scheduler), .names = exit_policy_names},
	{0},
};

const struct verb verb_explain = {
	.name = "explain",
	.summary = "say what is known of frameworks, and what exit codes mean to a scheduler",
	.examples = "reprieve explain profile\n"
		"reprieve explain profile lightning\n"
		"reprieve explain exit --for k8s\n"
		"reprieve explain python > reprieve.py\n"
		"reprieve explain c > reprieve.h",
	.arguments = "profile [NAME]\nexit\nc\npython",
	.arguments_most = 2,
	.groups = (const struct option_group[]){
		OPTION_GROUP("Topic", own_rows, 0),
		OPTION_GROUP("Other", json_rows, offsetof(struct explain_options, json)),
		{0},
	},
	.notes = "profile: how a framework's job is recognised, asked, saves and resumes. exit: what the exit "
		"codes mean to a scheduler. c, python: the file to copy for a job that asks by itself.",
	.exits = (const struct help_row[]){
		{"0", "explained"},
		{0},
	},
};
// clang-format on

/* --- profiles --- */

static void print_line(const char *label, const char *text)
{
	if (*text)
		printf("  %-14s %s\n", label, text);
}

static void print_list(const char *label, const char *const *list)
{
	auto_free char *text = text_copy("");

	for (; *list; list++)
		text_append(&text, "%s%s", *text ? ", " : "", *list);
	print_line(label, text);
}

static char *rule_text(const struct profile_rule *rule)
{
	const char *checkpoint = rule->checkpoint ? rule->checkpoint : "a directory";

	switch (rule->kind) {
	case PROFILE_RULE_NEEDS:
		return rule->member ? text_format("%s with %s but without %s", checkpoint,
						  rule->member, rule->marker)
				    : text_format("%s without %s", checkpoint, rule->marker);
	case PROFILE_RULE_FORBIDS:
		return text_format("%s with %s", checkpoint, rule->marker);
	case PROFILE_RULE_POINTER:
		return text_format("%s with a higher number than `%s` beside it names", checkpoint,
				   rule->marker);
	case PROFILE_RULE_NONE:
		break;
	}
	return text_copy("");
}

static void print_asking(const struct profile *profile)
{
	static const char *const whom[] = {
		[PROFILE_TARGET_ALL] = "all ranks",
		[PROFILE_TARGET_ANY] = "one rank, which tells the others",
		[PROFILE_TARGET_RANK_0] = "rank 0",
	};
	bool can = profile->ask == PROFILE_ASK_SIGNAL;
	char name[SIGNAL_NAME_SIZE];
	auto_free char *text =
		can ? text_format("%s to %s, where it is caught; %s",
				  signal_name_format(profile->signal, name), whom[profile->whom],
				  profile->ask_note)
		    : text_format("cannot be asked: %s; its periodic checkpoints count",
				  profile->ask_note);

	print_line("asking", text);
	if (can)
		print_line("then", profile->after == PROFILE_AFTER_ENDS ? "it saves and ends"
									: "it saves and continues");
}

static void print_profile(const struct profile *profile)
{
	auto_free char *codes = text_copy(profile->zero_is_asked ? " 0" : "");

	printf("%s: %s\n", profile->name, profile->title);
	print_list("command has", profile->words);
	print_list("or is", profile->programs);
	print_list("script imports", profile->imports);
	print_list("and contains", profile->with);
	print_list("script has", profile->texts);
	print_list("files", profile->files);
	print_asking(profile);
	print_line("complete", profile->completion_note);
	for (size_t i = 0; i < PROFILE_RULES && profile->rules[i].kind; i++) {
		auto_free char *text = rule_text(&profile->rules[i]);

		print_line("torn", text);
	}
	print_list("any number", profile->resharded);
	print_list("not saved", profile->temporary);
	print_line("resuming", profile->resume_note);
	if (profile->lightning_slurm)
		print_line("environment",
			   "like Slurm's, for one process outside Slurm whose default_root_dir is "
			   "the\n                 checkpoint directory: then SIGUSR1 makes it save "
			   "hpc_ckpt_N.ckpt and continue, and\n                 it resumes from "
			   "that by itself");
	if (profile->local_tmpdir)
		print_line("environment", "TMPDIR on the checkpoints' file system, if it is unset "
					  "and /tmp is on another one");
	for (const int *code = profile->resume_codes; *code; code++)
		text_append(&codes, " %d", *code);
	if (*codes)
		printf("  %-14s%s: after a request, run it again\n", "exit codes", codes);
}

/* The names of its commits beside its own; the rest is said for people. */
static json_t *profile_json(const struct profile *profile)
{
	json_t *commits = json_array();

	for (const char *const *name = profile->completion_markers; *name; name++)
		json_array_append_new(commits, json_string(*name));
	return json_pack("{s:s, s:s, s:{s:s, s:o}, s:s}", "name", profile->name, "title",
			 profile->title, "complete", "note", profile->completion_note, "commits",
			 commits, "resuming", profile->resume_note);
}

static int explain_profiles(bool json)
{
	auto_json json_t *all = json_array();

	for (size_t i = 0; i < profile_count; i++) {
		const struct profile *profile = &profile_rows[i];

		json_array_append_new(all, profile_json(profile));
		if (!json)
			printf("%-12s %-46s %s\n", profile->name, profile->title,
			       profile->ask == PROFILE_ASK_NONE ? "periodic only"
			       : profile->enables[0]            ? "asked, if enabled"
								: "asked");
	}
	if (json)
		json_print(steal(&all), true);
	return 0;
}

static int explain_profile(const char *name, bool json)
{
	const struct profile *profile = profile_find(name);

	if (!profile) {
		auto_free char *names = profile_names();

		log_error("there is no profile '%s': it is one of %s", name, names);
		return EXIT_USAGE;
	}
	if (json)
		json_print(profile_json(profile), true);
	else
		print_profile(profile);
	return 0;
}

/* --- exit codes --- */

static int code_under(const struct exit_policy *policy, int code)
{
	struct outcome outcome = {.kind = code == EXIT_PREEMPTED     ? OUTCOME_PREEMPTED
					  : code == EXIT_NOT_DURABLE ? OUTCOME_NOT_DURABLE
								     : OUTCOME_FAILED,
				  .exit_code = code};

	return exit_policy_code(policy, &outcome);
}

static json_t *policy_json(const struct exit_policy *policy)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:s, s:s}", "name", policy->name, "title",
			 policy->title, "preempted", code_under(policy, EXIT_PREEMPTED),
			 "not_durable", code_under(policy, EXIT_NOT_DURABLE), "why", policy->why,
			 "setup", policy->setup);
}

/* The rows of the table in RESTARTS.md, "Exit codes", whose codes are numbers or words. */
static void print_ends(const struct exit_policy *policy)
{
	const char *at = strstr(embedded_restarts_begin, "## Exit codes");
	const char *end = strstr(at + 1, "\n## ");
	char code[8], how[400], next[200];

	printf("Code, how the run ended, and what another start of the same command does:\n\n");
	at = strstr(at, "| --- |");
	while ((at = strstr(at + 1, "\n| ")) && at < end)
		if (sscanf(at, " | %7s | %399[^|]| %199[^|]|", code, how, next) == 3) {
			if (atoi(code))
				snprintf(code, sizeof(code), "%d", code_under(policy, atoi(code)));
			how[strlen(how) - 1] = '\0';
			printf("  %-4s  %s\n        -> %.*s\n", code, how, (int)strlen(next) - 1,
			       next);
		}
}

static int explain_policies(bool json)
{
	if (json) {
		json_t *all = json_array();

		for (size_t i = 0; i < exit_policy_count; i++)
			json_array_append_new(all, policy_json(&exit_policy_table[i]));
		json_print(all, true);
		return 0;
	}
	print_ends(NULL);
	embedded_file_print("explain", "exit");
	printf("\nHow a scheduler is told what to do with them: `reprieve explain exit --for "
	       "NAME`\n\n");
	for (size_t i = 0; i < exit_policy_count; i++)
		printf("  %-10s %s\n", exit_policy_table[i].name, exit_policy_table[i].title);
	return 0;
}

static int explain_exit(const char *name, bool json)
{
	const struct exit_policy *policy = name ? exit_policy_find(name) : NULL;

	if (!name)
		return explain_policies(json);
	if (!policy) {
		auto_free char *names = exit_policy_names();

		log_error("nothing is known of exit codes for '%s': it is one of %s", name, names);
		return EXIT_USAGE;
	}
	if (json) {
		json_print(policy_json(policy), true);
		return 0;
	}
	printf("%s\n\n%s\n\n", policy->title, policy->why);
	print_ends(policy);
	if (policy->preempted)
		printf("\nThat takes --exit-policy %s, or REPRIEVE_EXIT_POLICY=%s.\n", name, name);
	printf("\n%s", policy->setup);
	return 0;
}

static int refuse(const char *what, const char *word)
{
	log_error("explain: %s '%s': see `reprieve explain --help`", what, word);
	return EXIT_USAGE;
}

int cmd_explain(int argc, char **argv)
{
	struct explain_options options = {0};
	char **words;
	int code = option_table_parse(&verb_explain, argc, argv, &options, &words);

	if (code >= 0)
		return code;
	if (!words[0]) {
		log_error("explain: missing argument: `profile`, `exit`, `c` or `python`; see "
			  "`reprieve explain --help`");
		return EXIT_USAGE;
	}
	if (words[1] && !text_equal(words[0], "profile"))
		return refuse("unexpected argument:", words[1]);
	if (options.scheduler && !text_equal(words[0], "exit"))
		return refuse("--for is for exit, not for", words[0]);
	if (text_equal(words[0], "exit"))
		return explain_exit(options.scheduler, options.json);
	if (text_equal(words[0], "profile"))
		return words[1] ? explain_profile(words[1], options.json)
				: explain_profiles(options.json);
	if (options.json)
		return refuse("--json is not for", words[0]);
	return embedded_file_print("explain", words[0])
		       ? 0
		       : refuse("there is nothing to explain of", words[0]);
}
