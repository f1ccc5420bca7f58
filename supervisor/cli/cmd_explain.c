/* reprieve explain: what it knows and would do, for people: frameworks, exit codes. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "embedded_clients.h"
#include "frameworks/frameworks.h"
#include "options/options.h"
#include "profile_print.h"
#include "scheduler/scheduler.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>

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

static const struct help_row exits[] = {
	{"0", "explained"},
	{"64", "wrong usage, or nothing is known of that name"},
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
	.notes = "profile: how a job of a framework, by any of its usual names, is recognised, how it "
		"is asked to save, how a finished and a torn checkpoint look, how it resumes.\n"
		"exit: what the exit codes mean, and how a scheduler is told to act on them.\n"
		"c, python: the file to copy for a job that asks by itself whether a checkpoint "
		"is wanted.",
	.exits = exits,
};
// clang-format on

static int print_all(bool json)
{
	json_t *all = json_array();

	for (size_t i = 0; i < profile_count; i++) {
		const struct profile *profile = &profile_rows[i];

		if (json)
			json_array_append_new(all, profile_print_json(profile));
		else
			printf("%-12s %-46s %s\n", profile->name, profile->title,
			       profile->ask == PROFILE_ASK_NONE ? "periodic only"
			       : profile->enables[0]            ? "asked, if enabled"
								: "asked");
	}
	if (json)
		json_print(all, true);
	else
		json_decref(all);
	return 0;
}

static int print_one(const char *name, bool json)
{
	const struct profile *profile = profile_find(name);
	auto_free char *names = NULL;

	if (!profile) {
		names = profile_names();
		log_error("there is no profile '%s': it is one of %s", name, names);
		return EXIT_USAGE;
	}
	if (json)
		json_print(profile_print_json(profile), true);
	else
		profile_print_text(profile);
	return 0;
}

/* --- exit codes --- */

// clang-format off
/* The same rows as in RESTARTS.md, "Exit codes", which a test compares. */
static const struct {
	const char *code;
	const char *how, *next;
} ends[] = {
	{"own",
		"the job ended by itself, with any code: finished, failed, Ctrl-C, a SIGTERM to "
		"the job alone, a pipeline whose training was killed (128 + n: signal n ended "
		"it)",
		"continues from the newest checkpoint; a job that has finished finds that out, "
		"and ends"},
	{"own",
		"asked to stop by SIGTERM alone, no store was given, and nothing was saved: as "
		"under any init",
		"starts from the beginning"},
	{"own",
		"asked to save by its own signal, command or flag, and crashed before it had "
		"saved",
		"would crash again: mend the job"},
	{"75",
		"asked to stop, and what the job saved last is durable: also where the restore "
		"was still under way, and the snapshot is in the store",
		"continues from it"},
	{"74",
		"asked to stop, and what the job saved last is not durable: also where nothing "
		"was saved yet, or the store was not reached",
		"continues from the newest durable checkpoint, and on the same disk from a "
		"newer whole one"},
	{"75",
		"left with 0 soon after a save that was asked for (`reprieve checkpoint`, "
		"`--every`), and it is durable: it may not have finished",
		"continues from that save"},
	{"74",
		"left with 0 as before, and that save is not durable; or left with 0, and with "
		"`--strict` something of ours has failed",
		"as after a stop with 74"},
	{"none",
		"everything was killed, or the machine vanished",
		"as after a stop with 74"},
	{"70",
		"not started: a failure of ours, no space, a store that does not answer and nothing "
		"here to go on from, or another run uses the checkpoint directory, or is a live one "
		"of the same job",
		"may help, later or elsewhere"},
	{"78",
		"not started: the store or the checkpoint directory cannot be used; no snapshot "
		"is whole; with `--strict`, anything that was named is unavailable",
		"would end the same"},
	{"93",
		"not started: the last attempts made no progress (`--max-no-progress`)",
		"would end the same"},
	{"64",
		"not started: a mistake in the options, or a command that cannot be waited for "
		"(`tmux -d`)",
		"would end the same"},
	{"126",
		"not started: the command cannot be executed",
		"would end the same"},
	{"127",
		"not started: the command is not found",
		"would end the same"},
};
// clang-format on

static int code_under(const struct exit_policy *policy, int code)
{
	if (policy && code == EXIT_PREEMPTED && policy->preempted)
		return policy->preempted;
	if (policy && code == EXIT_NOT_DURABLE && policy->not_durable)
		return policy->not_durable;
	return code;
}

static json_t *policy_json(const struct exit_policy *policy)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:s, s:s}", "name", policy->name, "title",
			 policy->title, "preempted", code_under(policy, EXIT_PREEMPTED),
			 "not_durable", code_under(policy, EXIT_NOT_DURABLE), "why", policy->why,
			 "setup", policy->setup);
}

static void print_ends(const struct exit_policy *policy)
{
	printf("Code, how the run ended, and what another start of the same command does:\n\n");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		int code = code_under(policy, atoi(ends[i].code));

		if (code)
			printf("  %-4d", code);
		else
			printf("  %-4s", ends[i].code);
		printf("  %s\n        -> %s\n", ends[i].how, ends[i].next);
	}
}

/* After a save some trainers leave with 0, which the lines behind them take for the end. */
static void print_script_idiom(void)
{
	printf("\nIn a script, what follows the training must not run in an attempt that was "
	       "preempted. With\nReprieve around the training alone, its code says so:\n\n"
	       "  reprieve run --store URL -- python3 train.py || exit $?\n"
	       "  python3 evaluate.py   # only after the training has finished\n\n"
	       "In a batch script of Slurm's, write `srun reprieve run` and --signal=TERM@120: "
	       "with "
	       "B: the signal\nends the shell, and with it the job, before a line behind can "
	       "run.\n\nWith Reprieve around the whole script, a trainer that saves and leaves "
	       "with 0 at a "
	       "SIGTERM looks\nfinished to `&&` and to the next line. Look for the notice there:"
	       "\n\n"
	       "  python3 train.py || exit $?\n"
	       "  if [ -e \"$REPRIEVE_NOTICE_FILE\" ]; then exit 0; fi   # preempted: go on in "
	       "the next attempt\n"
	       "  python3 evaluate.py\n");
}

static int explain_policies(bool json)
{
	json_t *all = json_array();

	for (size_t i = 0; i < exit_policy_count; i++)
		json_array_append_new(all, policy_json(&exit_policy_table[i]));
	if (json) {
		json_print(all, true);
		return 0;
	}
	json_decref(all);
	print_ends(NULL);
	print_script_idiom();
	printf("\nHow a scheduler is told what to do with them: `reprieve explain exit --for "
	       "NAME`\n\n");
	for (size_t i = 0; i < exit_policy_count; i++)
		printf("  %-10s %s\n", exit_policy_table[i].name, exit_policy_table[i].title);
	return 0;
}

static int explain_exit(const char *name, bool json)
{
	const struct exit_policy *policy = name ? exit_policy_find(name) : NULL;
	auto_free char *names = NULL;

	if (!name)
		return explain_policies(json);
	if (!policy) {
		names = exit_policy_names();
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
		return words[1] ? print_one(words[1], options.json) : print_all(options.json);
	if (options.json)
		return refuse("--json is not for", words[0]);
	return embedded_clients_print(words[0])
		       ? 0
		       : refuse("there is nothing to explain of", words[0]);
}
