/*
 * PURE. Removes secrets from a job's command line, which is recorded in the store, where everybody
 * who can read the bucket sees it. Only the names of options and variables decide: a secret under
 * any other name cannot be distinguished from a path.
 */
#ifndef REDACT_H
#define REDACT_H

#include <jansson.h>

/*
 * Returns `word` with "***" for the value of --api-key, --token=, HF_TOKEN=, DB_PASSWORD= and the
 * like, also inside a script of sh -c. `before` is the argument before it; NULL: it is the first.
 * The caller frees.
 */
char *redact_word(const char *before, const char *word);

/* The words of a command, redacted, as an array; `command` ends with NULL. The caller owns it. */
json_t *redact_command(char *const *command);

#endif
