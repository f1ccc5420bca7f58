/*
 * PURE. Which account, container and endpoint, and which of the secrets that the environment holds
 * is for it.
 *
 *	az://ACCOUNT/CONTAINER[/PREFIX]
 */
#ifndef AZURE_ACCOUNT_H
#define AZURE_ACCOUNT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/text.h"

/* NULL or "" where not set. */
struct azure_environment {
	const char *connection; /* AZURE_STORAGE_CONNECTION_STRING */
	const char *account;    /* AZURE_STORAGE_ACCOUNT */
	const char *key;        /* AZURE_STORAGE_KEY */
	const char *sas;        /* AZURE_STORAGE_SAS_TOKEN */
	const char *endpoint;   /* AZURE_STORAGE_BLOB_ENDPOINT */
};

struct azure_account {
	char *name, *container;
	char *prefix;   /* "" or "a/b/": what all keys begin with */
	char *endpoint; /* without a slash at its end; it may have a path, as the emulator's has */
	struct bytes key;   /* SharedKey, where not empty */
	char *sas;          /* a query without '?', or NULL */
	const char *source; /* where key or sas come from, in words; NULL for neither */
};

/* ERR_INVALID says what is wrong with the URL or a variable; never a secret.
 * Release it in any case. */
int azure_account_read(const char *url, const struct azure_environment *environment,
		       struct azure_account *account, struct err *err);
void azure_account_release(struct azure_account *account);
AUTO(struct azure_account, azure_account_release);

#endif
