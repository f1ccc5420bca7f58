/*
 * The token of another issuer that an external account has Google's token service exchange: from a
 * file, a URL, a program, or AWS. Program: "Executable-sourced credentials" in AIP-4117.
 */
#ifndef GOOGLE_SUBJECT_TOKEN_H
#define GOOGLE_SUBJECT_TOKEN_H

#include "base/cancel.h"
#include "base/err.h"
#include "google_account.h"

#include <stdint.h>

/*
 * Fetched anew at every call: on Kubernetes the file is replaced every hour or so. `wall_ms`: the
 * time now, for what is signed. Blocks for seconds, for a program as long as the account lets it.
 * The caller frees. ERR_RETRY, ERR_DENIED, ERR_INVALID as token_endpoint.h says.
 */
int google_subject_token_get(const struct google_account *account, int64_t wall_ms, char **subject,
			     struct cancel *cancel, struct err *err);

/* --- PURE --- */

/*
 * What a program has printed: {"version": 1, "success": true, "token_type", "id_token" or
 * "saml_response", "expiration_time"}. ERR_DENIED with its own words where it says that it failed.
 * The caller frees.
 */
int google_subject_token_parse(const void *text, size_t size, int64_t wall_ms, char **subject,
			       struct err *err);

#endif
