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
 * An empty variable is one that is not set. A name that is near to a known one is most likely
 * mistyped, and an error with --strict. Any other is somebody's own (REPRIEVE_VERSION of an image),
 * and only said.
 */
#ifndef ENVIRONMENT_NAMES_H
#define ENVIRONMENT_NAMES_H

#include "option_table.h"

#include "base/cleanup.h"

#include <stddef.h>

/* Each is one line, owned, or NULL if there is none. */
struct unknown_names {
	char *mistyped; /* "REPRIEVE_STOER (is REPRIEVE_STORE meant?), ..." */
	char *others;   /* "REPRIEVE_VERSION, REPRIEVE_HOME" */
};

/* PURE. Those of `environment`, which is NULL-terminated "NAME=VALUE". */
struct unknown_names environment_unknown_names(char *const *environment,
					       const struct verb *const *verbs, size_t verb_count);
void unknown_names_release(struct unknown_names *names);
AUTO(struct unknown_names, unknown_names_release);

#endif
