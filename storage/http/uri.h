/* PURE. Percent-encoding by RFC 3986, and queries. What is returned as char * the caller frees. */
#ifndef URI_H
#define URI_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* All but A-Z a-z 0-9 - . _ ~ (and '/', if it is kept) becomes %XX in upper case: what is sent is
 * then what every signer signs. */
char *uri_encode(const char *text, bool keep_slash);
/* %XX -> byte, '+' stays; a '%' without two hex digits behind it stays too. */
char *uri_decode(const char *text, size_t length);

/* Appends "name=value" to a query (or a form), both encoded, with '&' in front
 * where it is not the first. */
void uri_add(struct bytes *query, const char *name, const char *value);
/* The query as text; borrowed until the next change. */
const char *uri_text(struct bytes *query);

/* Whether it is SCHEME://HOST and whatever follows, all in characters that a URL may hold. */
bool uri_is_absolute(const char *url);

/* Whether a secret may travel to that URL: https, or http to this machine itself. */
bool uri_is_confidential(const char *url);

/*
 * The endpoint of a store: a URL of http or https without a query, a fragment and a user's name
 * (which would go into logs), and without slashes at its end. NULL for any other text.
 */
char *uri_endpoint(const char *url);

/*
 * "NAME//A/B/" -> "NAME" and "A/B/": the first part of a path, and what is in front of every key
 * below the rest: "", or without a slash at its beginning and with one at its end.
 */
void uri_split_prefix(const char *path, char **name, char **prefix);

#endif
