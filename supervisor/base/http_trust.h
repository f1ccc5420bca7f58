/* PRIVATE to http.c: which certificates a request trusts, and the error for all others. */
#ifndef BASE_HTTP_TRUST_H
#define BASE_HTTP_TRUST_H

#include "base/http.h"

#include <curl/curl.h>

/* Trusts request->ca_file, else the files that the environment names. */
void http_trust_set(CURL *easy, const struct http_request *request);
/* `easy` has failed with `result`: returns -1 and ERR_DENIED, with curl's `words` and, if a file
 * would help, the variables that name one. */
int http_trust_fail(CURL *easy, const struct http_request *request, CURLcode result,
		    const char *words, struct err *err);

#endif
