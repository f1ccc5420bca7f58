/*
 * Tokens of Microsoft Entra for Azure Storage, where there is neither a key nor a shared access
 * signature: a client secret, a workload identity (federated token file), App Service's or the
 * virtual machine's managed identity, whichever the environment speaks of first. Kept and renewed
 * as bearer_token.h says.
 */
#ifndef AZURE_CREDENTIALS_H
#define AZURE_CREDENTIALS_H

#include "base/cancel.h"
#include "base/err.h"

struct azure_credentials;

/* Reads the environment; makes no request. ERR_INVALID for an authority that is no https URL. */
int azure_credentials_new(struct azure_credentials **credentials, struct err *err);
void azure_credentials_free(struct azure_credentials *credentials); /* NULL is fine */

/* Where the tokens come from, in words and without secrets. Borrowed. */
const char *azure_credentials_source(const struct azure_credentials *credentials);

/* A token; many threads may call. The caller frees. */
int azure_credentials_get(struct azure_credentials *credentials, char **token,
			  struct cancel *cancel, struct err *err);

/* The service answered 401 to this one: gets another, once. */
int azure_credentials_invalidate(struct azure_credentials *credentials, const char *token,
				 struct cancel *cancel, struct err *err);

#endif
