/* reprieve watch: notices alone, for scripts and for jobs that another supervisor runs. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "notice_runner.h"
#include "options/options.h"
#include "process/process.h"
#include "scheduler/scheduler.h"
#include "verbs.h"

#include <stdio.h>
#include <stdlib.h>

struct watch_line {
	struct notice_runner_options options;
	const char *shell; /* of --exec */
};

// clang-format off
static const struct option_row notice_rows[] = {
	{"notice", 0, "LIST", "REPRIEVE_NOTICE",
		"who announces a preemption: auto (default), or some, with commas between, of "
		"aws, gcp, azure, alibaba, tencent, slurm, file:PATH, command:COMMAND",
		OPTION_TEXT(struct watch_line, options.sources),
		.choices = "auto aws gcp azure alibaba tencent slurm"},
	{"deadline", 0, "TIME", "REPRIEVE_DEADLINE",
		"when the machine will be gone, if that is known",
		OPTION_TEXT(struct watch_line, options.deadline)},
	{"deadline-notice", 0, "DURATION", "REPRIEVE_DEADLINE_NOTICE",
		"how long before a known end it is told (default: 120s)",
		OPTION_DURATION(struct watch_line, options.deadline_notice_ms)},
	{0},
};

static const struct option_row own_rows[] = {
	{"exec", 0, "COMMAND", NULL, "a shell command to run on each notice, instead of -- COMMAND",
		OPTION_TEXT(struct watch_line, shell)},
	{"once", 0, NULL, NULL, "end after the first stop, and after its command",
		OPTION_FLAG(struct watch_line, options.once)},
	{"timeout", 0, "DURATION", NULL, "end with 1 when no stop came within that time",
		OPTION_DURATION(struct watch_line, options.timeout_ms), .least = 1},
	{0},
};

static const struct option_row other_rows[] = {
	{"json", 0, NULL, NULL, "lines of JSON, also about the sources",
		OPTION_FLAG(struct watch_line, options.json)},
	{0},
};

static const struct help_row exits[] = {
	{"0", "at SIGTERM or Ctrl-C, and with --once after a stop"},
	{"1", "--timeout is over"},
	{"64", "wrong usage"},
	{"69", "there is no source to watch"},
	{"70", "a failure of ours"},
	{"any other", "with --once the command's own, if it failed"},
	{0},
};

const struct verb verb_watch = {
	.name = "watch",
	.summary = "print preemption notices, or run a command on each, without a job",
	.examples = "reprieve watch\n"
		"reprieve watch --once -- ./save_and_leave.sh\n"
		"reprieve watch --notice aws,file:/run/preempt --json | logger\n"
		"reprieve watch --once --timeout 10s             # is there one now?",
	.arguments = "[-- COMMAND [ARG...]]",
	.takes_command = true,
	.groups = (const struct option_group[]){
		OPTION_GROUP("Notice", notice_rows, 0),
		OPTION_GROUP("Watching", own_rows, 0),
		OPTION_GROUP("Other", other_rows, 0),
		{0},
	},
	.notes = "The command sees REPRIEVE_NOTICE_KIND (stop, advice, cancelled), _SOURCE, "
		"_IDENTITY, _REASON, _DEADLINE and _SECONDS_LEFT. One runs at a time.",
	.exits = exits,
};
// clang-format on

int cmd_watch(int argc, char **argv)
{
	struct signals_inherited inherited;
	struct watch_line line = {.options.inherited = &inherited};
	auto_free char *shell = NULL;
	char path[] = "/bin/sh", flag[] = "-c", *by_shell[] = {path, flag, NULL, NULL};
	char **command;
	struct err err = {0};
	int code;

	signals_block(&inherited);
	child_fill_standard_descriptors(); /* else the lines would go into what is opened next */
	code = option_table_parse(&verb_watch, argc, argv, &line, &command);
	if (code >= 0)
		return code;
	if (line.shell && command[0]) {
		log_error("watch: --exec and -- COMMAND: leave one of them out");
		return EXIT_USAGE;
	}
	if (line.shell)
		shell = text_copy(line.shell);
	by_shell[2] = shell;
	line.options.command = line.shell ? by_shell : command[0] ? command : NULL;
	code = notice_runner_run(&line.options, &err);
	if (code >= 0)
		return code;
	log_error("watch: %s", err.text);
	return err.kind == ERR_INVALID     ? EXIT_USAGE
	       : err.kind == ERR_NOT_FOUND ? EXIT_UNAVAILABLE
					   : EXIT_OWN_FAILURE;
}
