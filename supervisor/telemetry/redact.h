/*
 * PURE. Removes secrets from a job's command line, which is recorded in the store, where everybody
 * who can read the bucket sees it. A secret is told by the name of its option, variable, header,
 * member or parameter, or by its place before the host of a URL. One without either cannot be
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
