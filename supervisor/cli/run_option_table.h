/* PRIVATE to run_options.c and the files of such rows: the options of `reprieve run`, one row each. */
#ifndef RUN_OPTION_TABLE_H
#define RUN_OPTION_TABLE_H

#include "run_options.h"

#include <stddef.h>

/* `value` may be from the command line or from the environment; it is borrowed. ERR_INVALID says what to write instead. */
typedef int option_set_fn(struct job_config *options, const char *value, struct err *err);

struct option_row {
	const char *name;
	char letter;
	const char *value; /* what it takes, for the help; NULL: a flag */
	const char *variable;
	option_set_fn *set;
	const char *help; /* a second line after '\n' */
};

/* PURE, for `set`: "30", "90s", "15m" or "2h". */
int option_set_duration(const char *value, int64_t *milliseconds, struct err *err);

#define OPTION_ROWS_MOST 60
extern const struct option_row option_rows[];
extern const size_t option_rows_count;

#endif
