/*
 * supervisor/cli/: the command line. A verb is one file cmd_<verb>.c and one row of the table in
 * command_table.c; its options are rows, from which parsing, --help and shell completions follow.
 *
 * For main.c, through this header alone:
 *
 *	command_table.c      every verb
 *	option_help.h        prints --help from the rows
 *
 * Of this folder only:
 *
 *	verbs.h              declares cmd_<verb>() and the verb's table of options
 *	option_table.h       what a row is, and the parser
 *	run_option_table.h   the options of `run`; they fill job/job_config.h
 *	profile_options.h    what the framework's profile adds to them
 *	store_command.h      what the verbs have in common that look into a store
 *	shared_options.h, transfer_options.h, retention_options.h   rows that several verbs have
 *	manual_snapshot.h    `save` and `import`: a snapshot by hand
 *	notice_runner.h      `watch`: runs a command at a notice
 *	path_filter.h        which paths of a snapshot are meant
 *	storage_price.h      what a store costs a month
 *	attempt_costs.h      what attempts ran, lost and cost, for `report`
 *	terminal_line.h      prints foreign text safely
 *	embedded_clients.h   reprieve.h and reprieve.py, inside the program
 */
#ifndef CLI_H
#define CLI_H

#include "option_help.h"

#include <stdbool.h>
#include <stddef.h>

struct command {
	const struct verb *verb;
	/* argv[0] is the verb; returns the exit code. */
	int (*run)(int argc, char **argv);
	/* Standard output is what it was called for: a write that fails is an error. */
	bool tells;
};

/* In the order of `reprieve --help`; the first is `run`. */
extern const struct command commands[];
extern const size_t command_count;

#endif
