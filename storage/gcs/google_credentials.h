/*
 * Google's Application Default Credentials: the file that GOOGLE_APPLICATION_CREDENTIALS names,
 * else what gcloud left, else the metadata server. Yields bearer tokens, kept and renewed as
 * bearer_token.h says.
 */
#ifndef GOOGLE_CREDENTIALS_H
#define GOOGLE_CREDENTIALS_H

#include "base/cancel.h"
#include "base/err.h"

#include <stdint.h>

struct google_credentials;

/* Reads the environment and the file; makes no request. ERR_INVALID or ERR_DENIED name the file. */
int google_credentials_new(struct google_credentials **credentials, struct err *err);
void google_credentials_free(struct google_credentials *credentials); /* NULL is fine */

/* Where the tokens come from, in words and without secrets. Borrowed. */
const char *google_credentials_source(const struct google_credentials *credentials);

/* "Bearer ..." ; many threads may call. The caller frees. */
int google_credentials_get(struct google_credentials *credentials, char **authorization,
			   struct cancel *cancel, struct err *err);

/* The service's clock minus ours: what is signed from now on carries its time. */
void google_credentials_set_skew(struct google_credentials *credentials, int64_t skew_ms);

/* The service answered 401 to this one: gets another, once. */
int google_credentials_invalidate(struct google_credentials *credentials, const char *authorization,
				  struct cancel *cancel, struct err *err);

#endif
