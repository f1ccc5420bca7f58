/* The command line of `reprieve run`: its options, one row each, and how they become struct
 * job_config. */
#ifndef RUN_OPTION_TABLE_H
#define RUN_OPTION_TABLE_H

#include "job_config.h"
#include "option_table.h"

extern const struct verb verb_run;

/* `argv[0]` is not looked at. The strings are borrowed from argv and the environment. The caller
 * releases `options`, also after a failure.
 * OPTION_FAILED with ERR_INVALID names the option, what is wrong and what to write instead.
 * OPTION_HELPED: --help was asked for, and is printed. */
enum option_result run_options_parse(int argc, char **argv, struct job_config *options,
				     struct err *err);

#endif
