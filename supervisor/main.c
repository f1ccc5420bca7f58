/* The verb table. Signals are blocked before anything else: one that comes earlier would be lost,
 * or would kill PID 1. */
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

// clang-format off
static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
	bool tells; /* what it prints is what it was called for */
} commands[] = {
	{"run",        cmd_run,        "run a job so that a preemption costs no work", false},
	{"list",       cmd_list,       "list the snapshots of a job", true},
	{"show",       cmd_show,       "show what a snapshot holds", true},
	{"restore",    cmd_restore,    "put a snapshot into a directory", false},
	{"verify",     cmd_verify,     "read every byte of the snapshots and check it", true},
	{"export",     cmd_export,     "write a snapshot as a standard tar.lz4", true},
	{"save",       cmd_save,       "take one snapshot of a directory, without a job", false},
	{"import",     cmd_import,
		"make a snapshot of a tar, a directory or plain objects", false},
	{"forget",     cmd_forget,     "remove the snapshots that a policy does not keep", false},
	{"pin",        cmd_pin,        "keep a snapshot, whatever the policy", false},
	{"unpin",      cmd_unpin,      "let a pinned snapshot be forgotten again", false},
	{"status",     cmd_status,
		"see what a running job is doing, and what is durable", true},
	{"checkpoint", cmd_checkpoint, "ask a running job for a checkpoint now", false},
	{"probe",      cmd_probe,
		"say by the exit status whether a running job is well", false},
	{"doctor",     cmd_doctor,
		"try a store: permissions, clock, speed, and what fits in a notice", true},
	{"report",     cmd_report,
		"say what the attempts of a job have done, lost and cost", true},
	{"explain",    cmd_explain,
		"say what is known of a framework's checkpoints, or what exit codes mean to a "
		"scheduler", true},
	{"watch",      cmd_watch,
		"print preemption notices, or run a command on each, without a job", false},
	{"drill",      cmd_drill,
		"preempt a job on this machine and see what it costs", false},
	{"mock",       cmd_mock,
		"be the metadata server of a cloud, and announce a preemption on demand", false},
};
// clang-format on

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int print_help(void)
{
	printf("Reprieve: one word before a training command, and a spot machine being taken away "
	       "stops costing work.\n\n"
	       "  reprieve run -- python train.py\n"
	       "  reprieve run --checkpoint-signal USR1 --store file:///mnt/share/runs -- python "
	       "train.py\n"
	       "  reprieve list\n"
	       "  reprieve drill --cloud aws -- run --checkpoint-signal USR1 -- python train.py\n\n"
	       "Usage: reprieve VERB [options]\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-11s %s\n", commands[i].name, commands[i].help);
	printf("  %-11s %s\n", "help", "say more of one of these: reprieve help VERB");
	printf("\n`reprieve VERB --help` says more; `reprieve -- COMMAND` is `reprieve run -- "
	       "COMMAND`.\n"
	       "Exit status of run: the job's own; 75 preempted and durable; 74 preempted, newest "
	       "work not durable;\n"
	       "64 usage; 70 our own failure before the start; 78 configuration; 93 no progress; "
	       "126, 127 as shells do.\n");
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
	return text_equal(word, "--help") || text_equal(word, "-h");
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
	bool tells = command->tells || (argc > 1 && is_help(argv[1]));

	if (tells)
		open_missing_stdout();
	return check_output_written(tells, command->run(argc, argv));
}

/* `reprieve help VERB` is `reprieve VERB --help`. */
static int run_help(const struct command *command)
{
	char name[16], help[] = "--help", *argv[] = {name, help, NULL};

	text_set(name, sizeof(name), command->name);
	return run_command(command, 2, argv);
}

static int dispatch_command(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "--help";
	bool help = text_equal(word, "help");

	if (is_help(word) ||
	    (help && (argc == 2 || is_help(argv[2]) || text_equal(argv[2], "help")))) {
		open_missing_stdout();
		return check_output_written(true, print_help());
	}
	if (help)
		word = argv[2];
	if (text_equal(word, "--version") || text_equal(word, "version")) {
		open_missing_stdout();
		printf("reprieve %s\n", REPRIEVE_VERSION);
		return check_output_written(true, 0);
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (text_equal(commands[i].name, word))
			return help ? run_help(&commands[i])
				    : run_command(&commands[i], argc - 1, argv + 1);
	log_error("unknown command '%s': see `reprieve --help`", word);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	stdout_was_closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
	/* Its exit code is the job's. All that it prints itself is its help, or
	 * what a dry run finds. */
	if (text_equal(word, "--"))
		return check_output_written(true, cmd_run(argc, argv));
	if (text_equal(word, "run"))
		return check_output_written(true, cmd_run(argc - 1, argv + 1));
	child_fill_standard_descriptors();
	return dispatch_command(argc, argv);
}
