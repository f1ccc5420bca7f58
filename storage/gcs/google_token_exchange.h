/* One request for a token for each kind of Google account. All block; errors as token_endpoint.h
 * says, without secrets. */
#ifndef GOOGLE_TOKEN_EXCHANGE_H
#define GOOGLE_TOKEN_EXCHANGE_H

#include "base/cancel.h"
#include "base/err.h"
#include "base/instance_metadata.h"
#include "google_account.h"
#include "storage/http/http.h"

/* `wall_ms`: Google's clock as far as known, for what is signed. */
int google_token_exchange_account(const struct google_account *account, int64_t wall_ms,
				  struct bearer_token *token, struct cancel *cancel,
				  struct err *err);

/* The account of the machine, pod or function. */
int google_token_exchange_machine(const struct metadata_endpoint *endpoint,
				  struct bearer_token *token, struct cancel *cancel,
				  struct err *err);

#endif
