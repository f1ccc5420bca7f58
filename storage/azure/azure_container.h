/*
 * A container as calls see it: account, credentials, connections. A call is signed, or given its
 * token, anew at each try.
 */
#ifndef AZURE_CONTAINER_H
#define AZURE_CONTAINER_H

#include "azure_account.h"
#include "azure_credentials.h"
#include "storage/backend/backend.h"
#include "storage/http/http.h"

struct azure_container {
	struct azure_account account;
	const char *path; /* of the endpoint, within it: "", or "/devstoreaccount1" */
	struct azure_credentials *credentials; /* NULL with a key or a shared access signature */
	struct retrying_client *client;
};

/* By the URL and the environment's variables, which azure_account.h and azure_credentials.h
 * tell. ERR_INVALID. */
int azure_container_init(struct azure_container *container, const char *url, struct err *err);
void azure_container_release(struct azure_container *container); /* when no call is under way */

/* Thread-safe. The kinds of errors are those of azure_blob_reply.h; the sentence begins with the
 * account and the path in it. */
int azure_container_perform(struct azure_container *container, const struct store_call *call,
			    struct http_response *response, struct cancel *cancel, struct err *err);

#endif
