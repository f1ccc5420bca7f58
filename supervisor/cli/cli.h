/*
 * supervisor/cli/: the verbs. A verb is one file cmd_<verb>.c and one row of command_table.c.
 *
 * For main.c, through this header alone:
 *
 *	command_table.c      every verb, and what it does; what the environment says in vain;
 *			     `reprieve --version`
 *
 * Of this folder only:
 *
 *	verbs.h              declares cmd_<verb>() and each verb's table of options
 *	store_command.h      what the verbs have in common that look into a store
 *	costs.h              what attempts ran, lost and cost; what a store costs a month
 *	embedded_files.c     files inside the program: reprieve.py, the completions
 */
#ifndef CLI_H
#define CLI_H

#include "options/options.h"

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
const struct command *command_find(const char *name); /* NULL: there is none */

/* `word` stands where a verb should, `behind` it what follows (NULL: nothing). Says which verb is
 * meant, or how an option or a program is written. Returns EXIT_USAGE. */
int command_refuse_unknown(const char *word, char **behind);

/* Warns of variables REPRIEVE_* that nobody reads. 0, or the exit code to
 * leave with: such a variable is refused with `strict`, and with REPRIEVE_STRICT. */
int command_check_environment(bool strict);

/* Prints three lines: the version; the formats that this program writes; the commit. */
void version_print(void);

/* --- embedded_files.c: files inside the program --- */

/* Prints what `reprieve VERB WORD` prints; false for another word. */
bool embedded_file_print(const char *verb, const char *word);

extern const char embedded_restarts_begin[]; /* RESTARTS.md */
extern const char embedded_style_begin[];    /* page.css */
extern const char embedded_script_begin[];   /* examples/bash/trap_and_sync.sh */

#endif
