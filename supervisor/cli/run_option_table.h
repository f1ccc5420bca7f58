/* PRIVATE to run_options.c and the files of such rows: the options of `reprieve
 * run`, one row each. */
#ifndef RUN_OPTION_TABLE_H
#define RUN_OPTION_TABLE_H

#include "run_options.h"

#include <stddef.h>

/* `value` may be from the command line or from the environment; it is borrowed. ERR_INVALID says
 * what to write instead. */
typedef int run_option_set_fn(struct job_config *options, const char *value, struct err *err);

struct run_option {
	const char *name;
	char letter;
	const char *value; /* what it takes, for the help; NULL: a flag */
	const char *variable;
	run_option_set_fn *set;
	const char *help; /* a second line after '\n' */
};

/* PURE, for `set`: "30", "90s", "15m" or "2h". */
int run_option_parse_duration(const char *value, int64_t *milliseconds, struct err *err);

#define RUN_OPTIONS_MOST 60
extern const struct run_option run_option_table[];
extern const size_t run_option_count;

#endif
