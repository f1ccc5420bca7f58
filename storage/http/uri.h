/* PURE. Percent-encoding by RFC 3986, queries and endpoints. The caller frees every returned char
 * *. */
#ifndef URI_H
#define URI_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Encodes all but A-Z a-z 0-9 - . _ ~ (and '/', if it is kept) as %XX in upper case, which is the
 * form that every signature uses. */
char *uri_encode(const char *text, bool keep_slash);
/* Decodes %XX. A '+' stays, and so does a '%' without two hex digits. */
char *uri_decode(const char *text, size_t length);

/* Appends "name=value" to a query or form, both encoded, after an '&' if it is not the first. */
void uri_add(struct bytes *query, const char *name, const char *value);
/* The query as text; borrowed until the next change. */
const char *uri_text(struct bytes *query);

/* Whether it is SCHEME://HOST and more, with only characters that a URL may have. */
bool uri_is_absolute(const char *url);

/* Whether a secret may be sent to that URL: https, or http to this machine itself. */
bool uri_is_confidential(const char *url);

/*
 * The endpoint of a store without slashes at its end. It must be a URL of http or https without
 * query, fragment and user name (which would be logged). NULL for any other text.
 */
char *uri_endpoint(const char *url);

/*
 * "NAME//A/B/" -> "NAME" and "A/B/": the first part of a path, and what is in front of every key
 * below the rest: "", or without a slash at its beginning and with one at its end.
 */
void uri_split_prefix(const char *path, char **name, char **prefix);

#endif
