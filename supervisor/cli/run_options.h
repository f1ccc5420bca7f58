/*
 * The command line and the environment of `reprieve run` -> struct job_config. Every option is one
 * row of a table in run_option_table.c: its name, its environment variable, what it may hold and
 * its line of help.
 */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "job/job.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * `argv[0]` is the verb. The strings are borrowed from argv and the environment. ERR_INVALID names
 * the option, what is wrong and what to write instead. With --help: prints it to stdout and sets
 * *help.
 */
int run_options_parse(int argc, char **argv, struct job_config *options, bool *help,
		      struct err *err);

/* After getopt_long() gave `found`, with ':' first in its letters: the option that has no value, or
 * only the "--" behind which the command stands; NULL when all is well. */
const char *run_options_missing_value(int found, char *const *argv);

/* file://${XDG_STATE_HOME:-~/.local/state}/reprieve; the caller frees.
 * ERR_NOT_FOUND without HOME. */
char *run_options_default_store(struct err *err);

#endif
