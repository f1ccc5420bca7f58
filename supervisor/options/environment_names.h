/*
 * Which variables named REPRIEVE_* nobody reads: most often a name that is mistyped, whose setting
 * would be missing without a word. Known are, and nothing else:
 *
 *   - the variable of each option of each verb;
 *   - what has no option: of the stores, of the notice sources, of the preload library;
 *   - what Reprieve itself sets for its job, and `watch` for its command;
 *   - what its own build and its tests read;
 *   - what Kubernetes adds for a Service called reprieve or reprieve-something.
 *
 * An empty variable is one that is not set.
 */
#ifndef ENVIRONMENT_NAMES_H
#define ENVIRONMENT_NAMES_H

#include "option_table.h"

#include <stddef.h>

/* PURE. "REPRIEVE_STOER (is REPRIEVE_STORE meant?), REPRIEVE_X": those of `environment`, which is
 * NULL-terminated "NAME=VALUE"; NULL: there is none. The caller frees. */
char *environment_unknown_names(char *const *environment, const struct verb *const *verbs,
				size_t verb_count);

#endif
