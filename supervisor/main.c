/* The entry: which verb, and its help. Signals are blocked before anything else: one that comes
 * earlier would be lost, or would kill PID 1. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "process/process.h"
#include "scheduler/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERB_COLUMN 14

static int print_help(void)
{
	printf("Reprieve runs a training job so that losing the spot machine costs seconds of\n"
	       "work instead of hours.\n\n"
	       "Examples:\n"
	       "  reprieve run -- python train.py\n"
	       "  reprieve run --store s3://bucket/runs -- python train.py\n"
	       "  reprieve list\n"
	       "  reprieve drill --cloud aws -- run -- python train.py\n\n"
	       "Usage: reprieve VERB [options]\n"
	       "       reprieve -- COMMAND [ARG...]     as `reprieve run -- COMMAND [ARG...]`\n\n"
	       "Verbs:\n");
	for (size_t i = 0; i < command_count; i++)
		option_help_row(commands[i].verb->name, commands[i].verb->summary, VERB_COLUMN);
	option_help_row("help", "say more of one of these: reprieve help VERB", VERB_COLUMN);
	printf("\nExit status of run:\n");
	for (const struct help_row *exit = commands[0].verb->exits; exit->left; exit++)
		option_help_row(exit->left, exit->text, VERB_COLUMN);
	return 0;
}

/* Who reads no further (`| head -1`) has what he wants. Not by errno, which an
 * earlier write may have had. */
static bool output_has_no_reader(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};

	return poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP));
}

/* What was said to a full disk is lost, and whoever reads it later must not take the rest for all.
 * Where something was done, done it is. */
static int check_output_written(bool tells, int code)
{
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || output_has_no_reader())
		return code;
	log_error("standard output cannot be written%s%s: what stands there is not whole, write it "
		  "to another place",
		  errno ? ": " : "", errno ? strerror(errno) : "");
	return tells && !code ? EXIT_FAILURE : code;
}

static bool is_help(const char *word)
{
	return text_equal(word, "--help") || text_equal(word, "-h") ||
	       text_equal(word, "--help-all");
}

static bool stdout_was_closed; /* standard output was closed when we were started */

/* What was asked for shall not be swallowed: such an output becomes one that cannot be written. */
static void open_missing_stdout(void)
{
	if (!stdout_was_closed)
		return;
	auto_close int nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)!dup3(nowhere, STDOUT_FILENO, O_CLOEXEC);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	bool help = argc > 1 && is_help(argv[1]);
	bool tells = command->tells || help;
	int refused = help ? 0 : command_check_environment(false);

	if (refused)
		return refused;
	if (tells)
		open_missing_stdout();
	return check_output_written(tells, command->run(argc, argv));
}

/* `reprieve help VERB` is `reprieve VERB --help`. */
static int run_help(const struct command *command)
{
	char name[16], help[] = "--help", *argv[] = {name, help, NULL};

	text_set(name, sizeof(name), command->verb->name);
	return run_command(command, 2, argv);
}

static int dispatch_command(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "--help";
	bool help = text_equal(word, "help");
	const struct command *command;

	if (is_help(word) ||
	    (help && (argc == 2 || is_help(argv[2]) || text_equal(argv[2], "help")))) {
		open_missing_stdout();
		return check_output_written(true, print_help());
	}
	if (help)
		word = argv[2];
	if (text_equal(word, "--version") || text_equal(word, "version")) {
		open_missing_stdout();
		version_print();
		return check_output_written(true, 0);
	}
	command = command_find(word);
	if (command)
		return help ? run_help(command) : run_command(command, argc - 1, argv + 1);
	return command_refuse_unknown(word, argc > 2 && !help ? argv + 2 : NULL);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	stdout_was_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
	/* Its exit code is the job's. All that it prints itself is its help, or
	 * what a dry run finds. */
	if (text_equal(word, "--"))
		return check_output_written(true, commands[0].run(argc, argv));
	if (text_equal(word, "run"))
		return check_output_written(true, commands[0].run(argc - 1, argv + 1));
	child_fill_standard_descriptors();
	return dispatch_command(argc, argv);
}
