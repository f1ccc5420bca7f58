/* What several verbs have in common, beside transfer_options.h and retention_options.h:
 * rows of options, and the store where none is chosen. */
#ifndef SHARED_OPTIONS_H
#define SHARED_OPTIONS_H

#include "option_table.h"

/* --json: a bool. */
extern const struct option_row json_rows[];
/* --job, of those that run here: a const char *, NULL for any. */
extern const struct option_row running_job_rows[];

/* The store where none is chosen: file://${XDG_STATE_HOME:-~/.local/state}/reprieve. The caller
 * frees. NULL with ERR_NOT_FOUND if neither variable is set. */
char *default_store_url(struct err *err);

#endif
