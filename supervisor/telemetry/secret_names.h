/* PURE. Which names of options, variables, headers and query parameters stand for a secret. */
#ifndef SECRET_NAMES_H
#define SECRET_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Of an option, with its dashes, or of a variable: --api-key, HF_TOKEN, db.password, AccountKey.
 * "key" alone may be the key of a dictionary, and PWD is a directory. */
bool secret_name(const char *name, size_t length);

/* Of a header: also Authorization and Cookie. */
bool secret_header(const char *name, size_t length);

/* Of a parameter of a URL: also "sig" and "key". */
bool secret_parameter(const char *name, size_t length);

#endif
