/*
 * PURE. Removes secrets from a job's command line, which is recorded in the store, where everybody
 * who can read the bucket sees it. Two things tell a secret: the name of its option, variable or
 * header (secret_names.h), and its own form (secret_text.h). One with neither cannot be
 * distinguished from a path.
 */
#ifndef REDACT_H
#define REDACT_H

#include <jansson.h>
#include <stddef.h>

/*
 * Returns command[index] with "***" for the value of --api-key, --token=, HF_TOKEN=,
 * "Authorization: ", the password of a URL and the like, also inside a script of sh -c. The words
 * before it say what it is. The caller frees.
 */
char *redact_argument(char *const *command, size_t index);

/* The same of the whole text of a shell command. The caller frees. */
char *redact_script(const char *script);

/* The words of a command, redacted, as an array, of which a very long one (128 KiB) is cut;
 * `command` ends with NULL. The caller owns it. */
json_t *redact_command(char *const *command);

#endif
