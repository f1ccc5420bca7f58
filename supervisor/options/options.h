/*
 * supervisor/options/: the options of all verbs, as rows of tables. One parser reads the command
 * line and the environment by them; --help and the shell completions are printed from them.
 *
 * For other folders, through this header alone; read option_table.h first:
 *
 *	option_table.h       what a row, a group and a verb are; the parser
 *	option_help.h        --help
 *	job_config.h         what the user chose for one run, as values
 *	run_option_table.h   the options of `run`, which fill it
 *	nearest_name.h       which name was meant by a mistyped one
 *	environment_names.h  which variables REPRIEVE_* nobody reads
 *	profile_options.h    what the framework's profile adds to them
 *	shared_options.h     rows that several verbs have, and the store where none is chosen
 *	transfer_options.h   rows of how content is moved
 *	retention_options.h  rows of which snapshots are kept
 *
 * Of this folder only:
 *
 *	run_option_values.h  how a value of `run` is read that is more than a number or a text
 *
 * A new option of `run` is a row in run_option_table.c. That of another verb is a row in its
 * cli/cmd_<verb>.c.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "environment_names.h"
#include "job_config.h"
#include "nearest_name.h"
#include "option_help.h"
#include "option_table.h"
#include "profile_options.h"
#include "retention_options.h"
#include "run_option_table.h"
#include "shared_options.h"
#include "transfer_options.h"

#endif
