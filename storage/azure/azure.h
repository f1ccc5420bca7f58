/*
 * storage/azure/: Azure Blob Storage (az://ACCOUNT/CONTAINER/PREFIX), and the tokens of Microsoft
 * Entra. What each operation promises is said in object_store.h. For the rest of storage/:
 * azure_store_ops.
 */
#ifndef STORAGE_AZURE_H
#define STORAGE_AZURE_H

#include "storage/backend/backend.h"

extern const struct store_ops azure_store_ops;

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

/*
 * ERR_EXISTS only for ASKED_PUT_IF_ABSENT. CAME_UNMARKED is a reply without the request id that all
 * of the service's have: with a good status it is somebody else's (a login page's), and ERR_RETRY.
 */
extern const struct reply_table azure_blob_replies;

/*
 * Adds the page's names, without `prefix` in front, to `listing`; what ends in '/' only where the
 * service folded it. Directories of an account with a hierarchical namespace are left out. *next is
 * the marker of the next page, NULL after the last; the caller frees. ERR_CORRUPT for anything that
 * is no such page.
 */
int azure_listing_read(const void *body, size_t size, const char *prefix,
		       struct store_listing *listing, char **next, struct err *err);

struct azure_shared_key_request {
	const char *method;
	const char *account;
	/* "/container/blob"; with "/account" in front where the endpoint has it */
	const char *path;
	/* "comp=list&prefix=a%2Fb", in the order of the names; "" for none */
	const char *query;
	/* "x-ms-name: value", in the order of the names, ended by NULL */
	const char *const *headers;
	/* with "If-None-Match: *" */
	bool if_absent;
	size_t content_length;
};

/* The caller frees. */
char *azure_shared_key_text(const struct azure_shared_key_request *request);

/* "SharedKey account:signature", with the key as bytes. The caller frees. */
char *azure_shared_key_sign(const struct azure_shared_key_request *request,
			    const struct bytes *key);

#endif
