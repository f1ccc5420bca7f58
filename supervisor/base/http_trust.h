/* PRIVATE to http.c: whose certificates a request trusts, and the words for those
 * that it does not. */
#ifndef BASE_HTTP_TRUST_H
#define BASE_HTTP_TRUST_H

#include "base/http.h"

#include <curl/curl.h>

/* request->ca_file, else what the environment names. */
void http_trust_set(CURL *easy, const struct http_request *request);
/* -1, ERR_DENIED: `words` (curl's) and, where a file would help, the variables that name one.
 * `easy` has just failed with `result`. */
int http_trust_fail(CURL *easy, const struct http_request *request, CURLcode result,
		    const char *words, struct err *err);

#endif
